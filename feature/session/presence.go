package session

import (
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// presence follows which clients are subscribed to which sessions, so that an
// active client that left is removed: at once when it unsubscribed, after a grace
// time when its connection was lost (AHP channels, 2.2 Host duties). The
// feature's lock guards it.
type presence struct {
	count  map[seat]int
	timers map[seat]*time.Timer
}

// seat is a client's place in a session.
type seat struct {
	session  ahp.URI
	clientID string
}

func (p *presence) init() {
	p.count = make(map[seat]int)
	p.timers = make(map[seat]*time.Timer)
}

func (p *presence) stop() {
	for _, t := range p.timers {
		t.Stop()
	}
	clear(p.timers)
}

func (f *Feature) subscribed(c *host.Conn, channel ahp.URI) {
	if ahp.KindOf(channel) != ahp.KindSession {
		return
	}
	s := seat{channel, c.ClientID()}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.presence.count[s]++
	if t := f.presence.timers[s]; t != nil {
		t.Stop()
		delete(f.presence.timers, s)
	}
}

func (f *Feature) unsubscribed(c *host.Conn, channel ahp.URI) {
	if ahp.KindOf(channel) != ahp.KindSession {
		return
	}
	lost := false
	select {
	case <-c.Done():
		lost = true
	default:
	}
	s := seat{channel, c.ClientID()}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.presence.count[s]--; f.presence.count[s] > 0 {
		return
	}
	delete(f.presence.count, s)
	if f.stopping {
		return
	}
	if !lost {
		f.wg.Go(func() { f.dismiss(s) })
		return
	}
	f.presence.timers[s] = time.AfterFunc(f.opts.ClientGrace, func() { f.expire(s) })
}

// expire dismisses a client whose grace time is over and that did not return.
func (f *Feature) expire(s seat) {
	f.mu.Lock()
	due := f.presence.timers[s] != nil && f.presence.count[s] == 0 && !f.stopping
	delete(f.presence.timers, s)
	if due {
		f.wg.Add(1)
	}
	f.mu.Unlock()
	if due {
		defer f.wg.Done()
		f.dismiss(s)
	}
}

// dismiss removes an active client and fails the tool calls it was running.
func (f *Feature) dismiss(s seat) {
	state, ok := f.h.State(s.session).(*ahp.SessionState)
	if !ok || !isActiveClient(state, s.clientID) {
		return
	}
	f.h.Apply(s.session, &ahp.SessionActiveClientRemoved{ClientID: s.clientID})
	for _, chat := range f.h.Children(s.session) {
		f.h.Decide(chat, func(state any) []ahp.Action {
			return failTools(state.(*ahp.ChatState), s.clientID)
		})
	}
}

func isActiveClient(s *ahp.SessionState, clientID string) bool {
	for i := range s.ActiveClients {
		if s.ActiveClients[i].ClientID == clientID {
			return true
		}
	}
	return false
}

// failTools ends the running calls of tools a client brought.
func failTools(s *ahp.ChatState, clientID string) (list []ahp.Action) {
	if s.ActiveTurn == nil {
		return nil
	}
	for _, p := range s.ActiveTurn.ResponseParts.All() {
		t, ok := p.Part.(*ahp.ToolCallPart)
		if !ok || !ownTool(t.ToolCall, host.Actor{ClientID: clientID}) || t.ToolCall.Ended() {
			continue
		}
		list = append(list, &ahp.ChatToolCallComplete{
			ToolCallRef: ref(s.ActiveTurn.ID, t.ToolCall.ToolCallID),
			Result: ahp.ToolCallResult{
				PastTenseMessage: ahp.Plain("The client that runs this tool has left"),
				Error:            &ahp.ToolError{Message: "the client that runs this tool has left"},
			},
		})
	}
	return list
}
