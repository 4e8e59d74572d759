package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// driver runs the agent of one chat: one prompt at a time, in the order in which
// turns were started. Its goroutine exists only while there is a turn to run.
type driver struct {
	f        *Feature
	provider agent.Provider
	spec     agent.Spec
	session  ahp.URI
	chat     ahp.URI

	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	// emitting keeps the events of an agent in order while they become actions,
	// also when it emits from several goroutines. The sequencer's lock is taken
	// inside it (docs/LOCKS.md).
	emitting sync.Mutex

	// mu guards what follows. It is held for no call of another package.
	mu      sync.Mutex
	agent   agent.Session // nil until opened and after it died
	current *turn         // being prompted, or draining after its end
	next    *turn         // started while current drains
	looping bool
	closed  bool
	waiters map[string]*waiter // questions by turn and id
	stale   uint64             // events of turns that are over
}

// turn is one turn on its way through the agent.
type turn struct {
	id        string
	message   *ahp.Message
	resume    bool
	started   time.Time
	cancelled bool          // the chat's turn has ended; the agent may not know
	done      chan struct{} // closed when the agent has let go of it
	parts     partWriter
}

func newDriver(f *Feature, p agent.Provider, spec agent.Spec) *driver {
	d := &driver{f: f, provider: p, spec: spec, session: spec.Session, chat: spec.Chat, waiters: make(map[string]*waiter)}
	d.ctx, d.cancel = context.WithCancelCause(f.ctx)
	return d
}

// open starts the agent.
func (d *driver) open() error {
	s, err := d.provider.Open(d.ctx, d.spec, (*callbacks)(d))
	if err != nil {
		return fmt.Errorf("open agent: %w", err)
	}
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.agent = s
	}
	d.mu.Unlock()
	if closed {
		return errors.Join(errStopping, s.Close())
	}
	return nil
}

func (d *driver) busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.current != nil || d.next != nil
}

// begin starts a turn of the host's own; it does nothing while one is active.
func (d *driver) begin(id string, m *ahp.Message) {
	started := d.f.h.Decide(d.chat, func(state any) []ahp.Action {
		if state.(*ahp.ChatState).ActiveTurn != nil {
			return nil
		}
		return []ahp.Action{&ahp.ChatTurnStarted{TurnID: id, StartedAt: host.Now(), Message: m}}
	})
	if started {
		d.run(&turn{id: id, message: m})
	}
}

// run hands a turn that stands in the chat's state to the agent, now or when the
// turn before has let go of it.
func (d *driver) run(t *turn) {
	t.started = time.Now()
	t.done = make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		close(t.done)
		return
	}
	d.next = t
	if !d.looping {
		d.looping = true
		d.startLocked(d.loop)
	}
}

// startLocked runs work that close waits for; nothing starts once it is closed.
func (d *driver) startLocked(work func()) {
	if !d.closed {
		d.wg.Go(work)
	}
}

// loop runs turns until none is waiting.
func (d *driver) loop() {
	for {
		t := d.take()
		if t == nil {
			return
		}
		d.play(t)
	}
}

func (d *driver) take() *turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current, d.next = d.next, nil
	d.looping = d.current != nil
	return d.current
}

// play runs one turn and ends it in the chat.
func (d *driver) play(t *turn) {
	defer close(t.done)
	if !d.stillActive(t) {
		return // it was cancelled before its turn came
	}
	outcome := d.prompt(t)
	d.withdraw(t.id)
	d.finish(t, outcome)
}

// stillActive reports whether the chat's state still has the turn. It is asked
// after the turn became current: whoever cancels it from here on finds it there.
func (d *driver) stillActive(t *turn) bool {
	s, ok := d.f.h.State(d.chat).(*ahp.ChatState)
	return ok && s.ActiveTurn != nil && s.ActiveTurn.ID == t.id
}

// prompt runs the agent's turn, opening the agent if it is gone.
func (d *driver) prompt(t *turn) (o agent.Outcome) {
	s, err := d.ready()
	if err != nil {
		return agent.Outcome{Result: agent.Failed, Err: startInfo(err)}
	}
	defer func() {
		if v := recover(); v != nil {
			d.f.log.Error("agent panicked", "chat", d.chat, "panic", fmt.Sprint(v))
			d.discard(s)
			o = agent.Outcome{Result: agent.Failed, Err: &ahp.ErrorInfo{ErrorType: "agentFailed", Message: "the agent failed"}}
		}
	}()
	o = s.Prompt(d.ctx, agent.Prompt{TurnID: t.id, Message: t.message, Resume: t.resume})
	select {
	case <-s.Done():
		d.discard(s)
	default:
	}
	return o
}

// ready returns the agent, opened anew if it has died.
func (d *driver) ready() (agent.Session, error) {
	d.mu.Lock()
	s := d.agent
	d.mu.Unlock()
	if s != nil {
		return s, nil
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.agent, nil
}

// discard ends an agent that is of no use any more; the next turn opens another.
func (d *driver) discard(s agent.Session) {
	d.mu.Lock()
	if d.agent == s {
		d.spec.ResumeToken = s.ResumeToken()
		d.agent = nil
	}
	d.mu.Unlock()
	if err := s.Close(); err != nil {
		d.f.log.Warn("close agent", "chat", d.chat, "err", err)
	}
}

// finish ends the turn in the chat, which does nothing if it has ended there
// already, and goes on with what waits.
func (d *driver) finish(t *turn, o agent.Outcome) {
	duration := float64(time.Since(t.started).Milliseconds())
	if o.Usage != nil {
		d.f.h.Apply(d.chat, &ahp.ChatUsage{TurnID: t.id, Usage: o.Usage})
	}
	d.say("")
	switch o.Result {
	case agent.Completed, agent.Truncated:
		if o.Result == agent.Truncated {
			d.f.h.Apply(d.chat, notice(t.id, ahp.Plain(o.Notice)))
		}
		if d.complete(t.id, duration) {
			d.advance()
		}
	case agent.Cancelled:
		d.f.h.Apply(d.chat, &ahp.ChatTurnCancelled{TurnID: t.id, Duration: duration})
	default:
		d.f.h.Apply(d.chat, d.errorAction(t.id, duration, o))
	}
}

// complete ends the turn as complete; it is false when it had ended otherwise.
func (d *driver) complete(turnID string, duration float64) bool {
	return d.f.h.Apply(d.chat, &ahp.ChatTurnComplete{TurnID: turnID, Duration: duration})
}

func (d *driver) errorAction(turnID string, duration float64, o agent.Outcome) ahp.Action {
	info := o.Err
	if info == nil {
		info = &ahp.ErrorInfo{ErrorType: "agentFailed", Message: "the agent failed"}
	}
	part := &ahp.ErrorPart{Error: *info}
	if o.Resumable && d.provider.Describe().ResumesTurns {
		part.Resumable = new(bool)
		*part.Resumable = true
	}
	return &ahp.ChatError{TurnID: turnID, Duration: duration, Part: ahp.ResponsePart{Part: part}}
}

// close ends the agent and waits for everything the driver started. The chat's
// turn, if one is active, is cancelled first.
func (d *driver) close() {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		d.wg.Wait()
		return
	}
	d.closed = true
	s, t := d.agent, d.current
	d.agent = nil
	d.mu.Unlock()
	d.cancelActive()
	if t != nil {
		d.withdraw(t.id)
	}
	d.cancel(errStopping)
	if s != nil {
		if err := s.Close(); err != nil {
			d.f.log.Warn("close agent", "chat", d.chat, "err", err)
		}
	}
	d.wg.Wait()
}

// cancelActive ends the active turn of the chat as cancelled.
func (d *driver) cancelActive() {
	d.f.h.Decide(d.chat, func(state any) []ahp.Action {
		s := state.(*ahp.ChatState)
		if s.ActiveTurn == nil {
			return nil
		}
		return []ahp.Action{&ahp.ChatTurnCancelled{TurnID: s.ActiveTurn.ID, Duration: since(s.ActiveTurn.StartedAt)}}
	})
}

// since is the time from a protocol timestamp until now, in milliseconds.
func since(startedAt string) float64 {
	t, err := time.Parse(time.RFC3339, startedAt)
	if err != nil {
		return 0
	}
	return max(0, float64(time.Since(t).Milliseconds()))
}
