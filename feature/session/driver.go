package session

import (
	"context"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// driver runs the agent of one chat: one prompt at a time. What is to be
// prompted it reads from the chat's state, so it can neither miss a turn nor run
// one twice. Its goroutines exist only while there is work.
type driver struct {
	f        *Feature
	provider agent.Provider
	about    agent.Description
	session  ahp.URI
	chat     ahp.URI

	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	// emitting makes "the turn is not over" and the action that follows from it
	// one step, and keeps the events of an agent in order, also when it emits
	// from several goroutines. The sequencer's lock and mu are taken inside it.
	emitting sync.Mutex
	title    string // the last title the agent gave; emitting guards it

	// mu guards what follows. It is held for no call of another package.
	mu      sync.Mutex
	spec    agent.Spec // what the agent is opened with next
	opens   int        // agents that were opened
	agent   *instance  // nil before it is opened and after it was discarded
	current *turn      // being prompted, or draining after its end
	begun   beginning
	by      host.Actor // who asked for something last; its tokens open the agent
	closed  bool
	retired bool               // nothing more will be asked of it
	held    int                // effects that use it now
	noted   string             // the resume token that is written down
	waiters map[string]*waiter // questions by turn and id
	config  map[string]setting // values the agent must still be told

	commands []agent.Command // what the agent understands after a slash

	playing, steering, configuring errand
}

// turn is one turn on its way through the agent.
type turn struct {
	id      string
	message *ahp.Message
	resume  bool
	started time.Time
	done    chan struct{} // closed when the agent has let go of it
	parts   partWriter    // the driver's emitting guards it

	// The driver's mu guards these.
	cancelled bool   // the chat's turn has ended; the agent may not know
	over      bool   // the agent's prompt has returned
	offer     *offer // of a steering message, the latest, nil for none
}

// beginning is when the host learned of a turn: clients' clocks are not trusted
// with a duration (AHP channels, 4.9).
type beginning struct {
	turnID string
	at     time.Time
}

func newDriver(f *Feature, p agent.Provider, spec agent.Spec) *driver {
	d := &driver{
		f: f, provider: p, about: p.Describe(), session: spec.Session, chat: spec.Chat, spec: spec,
		waiters: make(map[string]*waiter), config: make(map[string]setting),
	}
	d.ctx, d.cancel = context.WithCancelCause(f.ctx)
	return d
}

// busy reports whether there is a turn, an agent that drains or one that is
// being opened.
func (d *driver) busy() bool {
	d.mu.Lock()
	busy := d.playing.running || d.agent != nil && d.agent.s == nil
	d.mu.Unlock()
	return busy || d.activeTurn() != nil
}

// state returns the chat's state, nil when the chat is gone.
func (d *driver) state() *ahp.ChatState {
	s, _ := d.f.h.State(d.chat).(*ahp.ChatState)
	return s
}

// decide applies what choose makes of the chat's state, in one step.
func (d *driver) decide(choose func(s *ahp.ChatState) []ahp.Action) bool {
	return d.f.h.Decide(d.chat, func(state any) []ahp.Action { return choose(state.(*ahp.ChatState)) })
}

// begin starts a turn of the host's own; it does nothing while one is active.
func (d *driver) begin(id string, m *ahp.Message) {
	started := d.decide(func(s *ahp.ChatState) []ahp.Action {
		if s.ActiveTurn != nil {
			return nil
		}
		return []ahp.Action{&ahp.ChatTurnStarted{TurnID: id, StartedAt: host.Now(), Message: m}}
	})
	if started {
		d.run(id)
	}
}

// asked notes who wants something of the chat.
func (d *driver) asked(by host.Actor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.by = by
}

// run has the turn prompted that stands in the chat's state, now or when the one
// before has let go of the agent.
func (d *driver) run(turnID string) {
	d.mu.Lock()
	d.begun = beginning{turnID, time.Now()}
	d.mu.Unlock()
	if !d.send(&d.playing, d.play) {
		d.cancelActive() // it was accepted while the driver was being closed
	}
}

// play prompts the active turn of the chat until none is left.
func (d *driver) play() {
	for {
		t := d.activeTurn()
		d.setCurrent(t)
		if t == nil {
			d.endStale()
			return
		}
		// Asked again after the turn became current: whoever cancels it from
		// here on finds it there.
		if now := d.activeTurn(); now != nil && now.id == t.id {
			d.playTurn(t)
		}
		close(t.done)
	}
}

// activeTurn returns the active turn of the chat, nil for none. As every turn
// that was played has ended in the chat, it has not been played.
func (d *driver) activeTurn() *turn {
	s := d.state()
	if s == nil || s.ActiveTurn == nil {
		return nil
	}
	a := s.ActiveTurn
	t := &turn{id: a.ID, message: a.Message, done: make(chan struct{})}
	if n := a.ResponseParts.Len(); n > 0 { // only a resumed turn begins with parts
		_, t.resume = a.ResponseParts.At(n - 1).Part.(*ahp.ErrorPart)
	}
	return t
}

func (d *driver) setCurrent(t *turn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current = t
	if t == nil {
		return
	}
	if t.started = time.Now(); d.begun.turnID == t.id {
		t.started = d.begun.at
	}
}

// playTurn runs one turn and ends it in the chat.
func (d *driver) playTurn(t *turn) {
	outcome := d.prompt(t)
	d.letGo(t)
	if d.finish(t, outcome) {
		d.startNext(nextPending)
	}
}

// letGo ends what the agent may do in the turn, now that its prompt returned:
// emit, ask and take steering messages.
func (d *driver) letGo(t *turn) {
	d.mu.Lock()
	t.over = true
	offer := t.offer
	d.mu.Unlock()
	d.withdraw(t.id)
	offer.settle()
}

// finish ends the turn in the chat, unless it has ended there already. It
// reports whether the turn completed.
func (d *driver) finish(t *turn, o agent.Outcome) (completed bool) {
	d.emitting.Lock() // an event on its way comes before the end, a later one not at all
	defer d.emitting.Unlock()
	duration := float64(time.Since(t.started).Milliseconds())
	d.say("")
	if o.Usage != nil {
		d.f.h.Apply(d.chat, &ahp.ChatUsage{TurnID: t.id, Usage: o.Usage})
	}
	switch o.Result {
	case agent.Completed:
		completed = d.f.h.Apply(d.chat, &ahp.ChatTurnComplete{TurnID: t.id, Duration: duration})
	case agent.Truncated:
		if o.Notice != "" {
			d.f.h.Apply(d.chat, notice(t.id, ahp.Plain(o.Notice)))
		}
		completed = d.f.h.Apply(d.chat, &ahp.ChatTurnComplete{TurnID: t.id, Duration: duration})
	case agent.Cancelled:
		d.f.h.Apply(d.chat, &ahp.ChatTurnCancelled{TurnID: t.id, Duration: duration})
	default:
		// An error the agent words so that it cannot be encoded must not leave
		// the turn open.
		for _, info := range []*ahp.ErrorInfo{o.Err, failure} {
			if info != nil && d.f.h.Apply(d.chat, d.errorAction(t.id, duration, info, o.Resumable)) {
				break
			}
		}
	}
	return completed
}

// failure is the error of a turn whose agent gave none.
var failure = &ahp.ErrorInfo{ErrorType: "agentFailed", Message: "the agent failed"}

func (d *driver) errorAction(turnID string, duration float64, info *ahp.ErrorInfo, resumable bool) ahp.Action {
	part := &ahp.ErrorPart{Error: *info}
	if resumable && d.about.ResumesTurns {
		part.Resumable = new(true)
	}
	return &ahp.ChatError{TurnID: turnID, Duration: duration, Part: ahp.ResponsePart{Part: part}}
}

// close ends the agent and waits for everything the driver started. The chat's
// turn, if one is active, is cancelled first.
func (d *driver) close() {
	d.mu.Lock()
	a, t, first := d.agent, d.current, !d.closed
	d.closed = true
	if t != nil {
		t.cancelled = true
	}
	d.mu.Unlock()
	if first {
		d.cancelActive()
		d.cancel(errStopping)
		if a != nil {
			d.discard(a, endClosed)
		}
	}
	d.wg.Wait()
}

// cancelActive ends the active turn of the chat as cancelled.
func (d *driver) cancelActive() {
	d.mu.Lock()
	begun := d.begun
	d.mu.Unlock()
	d.decide(func(s *ahp.ChatState) []ahp.Action {
		if s.ActiveTurn == nil {
			return nil
		}
		end := &ahp.ChatTurnCancelled{TurnID: s.ActiveTurn.ID}
		if begun.turnID == end.TurnID {
			end.Duration = float64(time.Since(begun.at).Milliseconds())
		}
		return []ahp.Action{end}
	})
}
