package session

import (
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// presence removes active clients that left: at once when one unsubscribes from
// the session or reconnects without it, after a grace time when it is lost (AHP
// channels, 2.2 Host duties). An active client that is connected need not be
// subscribed.
type presence struct {
	f *Feature

	// mu guards what follows. The sequencer's lock and that of a driver are
	// taken inside it, so that a client that returns is either in time or finds
	// itself removed.
	mu      sync.Mutex
	conns   map[ahp.URI]map[string]map[*host.Conn]struct{} // subscribed, by session and client
	active  map[string]map[ahp.URI]struct{}                // sessions by active client
	timers  map[string]*time.Timer                         // of lost clients that are active
	stopped bool
}

func newPresence(f *Feature) *presence {
	return &presence{
		f: f, conns: make(map[ahp.URI]map[string]map[*host.Conn]struct{}),
		active: make(map[string]map[ahp.URI]struct{}), timers: make(map[string]*time.Timer),
	}
}

func (p *presence) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for _, t := range p.timers {
		t.Stop()
	}
	clear(p.timers)
}

// joined notes an active client of a session, as far as the session's state
// still has it.
func (p *presence) joined(session ahp.URI, clientID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.f.h.State(session).(*ahp.SessionState)
	if !ok || !isActiveClient(s, clientID) {
		return
	}
	if p.active[clientID] == nil {
		p.active[clientID] = make(map[ahp.URI]struct{})
	}
	p.active[clientID][session] = struct{}{}
}

// resigned acts on a client that took itself out.
func (p *presence) resigned(session ahp.URI, clientID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.f.h.State(session).(*ahp.SessionState); ok && !isActiveClient(s, clientID) {
		p.dismissLocked(session, clientID)
	}
}

// disposed forgets the active clients of a session that is gone. Of those that
// were subscribed the host has told already.
func (p *presence) disposed(session ahp.URI, last *ahp.SessionState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last == nil { // it could not be read
		for clientID := range p.active {
			p.forgetLocked(session, clientID)
		}
		return
	}
	for _, c := range last.ActiveClients {
		p.forgetLocked(session, c.ClientID)
	}
}

func (p *presence) forgetLocked(session ahp.URI, clientID string) {
	delete(p.active[clientID], session)
	if len(p.active[clientID]) == 0 {
		delete(p.active, clientID)
	}
}

// subscribed implements host.Hooks.
func (p *presence) subscribed(c *host.Conn, channel ahp.URI) {
	if ahp.KindOf(channel) != ahp.KindSession {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	clients := p.conns[channel]
	if clients == nil {
		clients = make(map[string]map[*host.Conn]struct{})
		p.conns[channel] = clients
	}
	if clients[c.ClientID()] == nil {
		clients[c.ClientID()] = make(map[*host.Conn]struct{})
	}
	clients[c.ClientID()][c] = struct{}{}
}

// unsubscribed implements host.Hooks. Of a lost connection the client may still
// return; then lost follows.
func (p *presence) unsubscribed(c *host.Conn, channel ahp.URI) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clientID := c.ClientID()
	conns := p.conns[channel][clientID]
	delete(conns, c)
	if len(conns) > 0 {
		return
	}
	delete(p.conns[channel], clientID)
	if len(p.conns[channel]) == 0 {
		delete(p.conns, channel)
	}
	if _, ok := p.active[clientID][channel]; ok && !p.stopped && !isOver(c) {
		p.dismissLocked(channel, clientID)
	}
}

// connsOf are the connections of a client that are subscribed to a session.
func (p *presence) connsOf(session ahp.URI, by host.Actor) (list []*host.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns[session][by.ClientID] {
		if c.Principal() == by.Principal {
			list = append(list, c)
		}
	}
	return list
}

func isOver(c *host.Conn) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// lost implements host.Hooks.
func (p *presence) lost(c *host.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.awaitLocked(c.ClientID())
}

// await gives a client that is not connected its time to return.
func (p *presence) await(clientID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.awaitLocked(clientID)
}

func (p *presence) awaitLocked(clientID string) {
	if p.stopped || p.timers[clientID] != nil {
		return
	}
	p.timers[clientID] = time.AfterFunc(p.f.opts.Limits.ClientGrace, func() { p.expired(clientID) })
}

// resumed implements host.Hooks. The subscriptions the client still wants were
// reported before.
func (p *presence) resumed(c *host.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clientID := c.ClientID()
	if t := p.timers[clientID]; t != nil {
		t.Stop()
		delete(p.timers, clientID)
		p.dismissAbsentLocked(clientID)
	}
}

// expired dismisses a client that did not return in time.
func (p *presence) expired(clientID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.timers[clientID] == nil {
		return
	}
	delete(p.timers, clientID)
	p.dismissAbsentLocked(clientID)
}

// dismissAbsentLocked dismisses a client from the sessions it is not subscribed
// to.
func (p *presence) dismissAbsentLocked(clientID string) {
	for session := range p.active[clientID] {
		if len(p.conns[session][clientID]) == 0 {
			p.f.h.LimitReached(limitClientGrace)
			p.dismissLocked(session, clientID)
		}
	}
}

// dismissLocked removes an active client and fails the tool calls it was
// running.
func (p *presence) dismissLocked(session ahp.URI, clientID string) {
	p.forgetLocked(session, clientID)
	p.f.h.Apply(session, &ahp.SessionActiveClientRemoved{ClientID: clientID})
	for _, d := range p.f.roster.of(session) {
		d.failTools(clientID)
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

// failTools ends the calls of tools that a client brought and nobody runs any
// more, also those that were not yet ready to run.
func (d *driver) failTools(clientID string) {
	var failed []ahp.ToolCallRef
	d.decide(func(s *ahp.ChatState) (list []ahp.Action) {
		failed = failed[:0]
		for _, t := range clientTools(s, clientID) {
			call := ref(s.ActiveTurn.ID, t.ToolCallID)
			failed = append(failed, call)
			if t.Status == ahp.ToolStreaming { // only a call that is ready can fail
				list = append(list, &ahp.ChatToolCallReady{
					ToolCallRef: call, InvocationMessage: ahp.Plain(t.DisplayName), Confirmed: new(ahp.ConfirmedNotNeeded),
				})
			}
			list = append(list, &ahp.ChatToolCallComplete{ToolCallRef: call, Result: clientLeft()})
		}
		return list
	})
	for _, call := range failed {
		d.withdrawTool(call)
	}
}

// clientTools are the calls of the active turn that a client has yet to carry
// out.
func clientTools(s *ahp.ChatState, clientID string) (list []*ahp.ToolCall) {
	if s.ActiveTurn == nil {
		return nil
	}
	for _, p := range s.ActiveTurn.ResponseParts.All() {
		t, ok := p.Part.(*ahp.ToolCallPart)
		if !ok || !ownTool(t.ToolCall, host.Actor{ClientID: clientID}) {
			continue
		}
		switch t.ToolCall.Status {
		case ahp.ToolStreaming, ahp.ToolPendingConfirmation, ahp.ToolRunning:
			list = append(list, t.ToolCall)
		}
	}
	return list
}

func clientLeft() ahp.ToolCallResult {
	return ahp.ToolCallResult{
		PastTenseMessage: ahp.Plain("The client that runs this tool has left"),
		Error:            &ahp.ToolError{Message: "the client that runs this tool has left"},
	}
}
