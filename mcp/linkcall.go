package mcp

import (
	"context"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/notify"
)

// linkCall is a call with a configuration on a link.
type linkCall struct {
	*toolCall
	ticket *ticket       // nil while it is being admitted
	over   chan struct{} // closed when its end is stored and told

	// The link's lock guards these.
	ended     bool
	cancelled bool // before it was admitted
}

// begin starts the admission of a call on a goroutine of its own: it asks the
// server for its tools, whose answer comes by the same way as everything else.
func (l *link) begin(m jsonrpc.Message, message []byte) error {
	c := &linkCall{toolCall: parseToolCall(m, message), over: make(chan struct{})}
	if !l.register(c) {
		return l.toClient(jsonrpc.AppendError(nil, m.ID, errIDInUse))
	}
	select {
	case l.slots <- struct{}{}:
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
	}
	l.work.Go(func() { l.run(c) })
	return nil
}

var errIDInUse = jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "a request with this id is in flight")

func (l *link) register(c *linkCall) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[c.id] != nil {
		return false
	}
	l.late.take(c.id) // a client may use the id of a call that is over for it
	l.calls[c.id] = c
	return true
}

// run is the life of a call.
func (l *link) run(c *linkCall) {
	started := l.admit(c)
	<-l.slots
	if !started {
		return
	}
	select {
	case <-c.over:
	case <-c.ticket.call.Expired():
		l.expire(c)
		<-c.over // it may be somebody else who ended it
	case <-l.ctx.Done():
		if l.end(c) {
			_ = l.toClient(c.ticket.interrupted(l.ctx))
			return
		}
		<-c.over // somebody else is ending it
	}
}

// admit reports whether the call was handed to the server. Errors of toClient are
// the reader's business: a call goes on without its client.
func (l *link) admit(c *linkCall) bool {
	t, refusal, err := l.gate.admit(l.ctx, c.toolCall, l.ask, l.caller(c.toolCall))
	if refusal != nil || err != nil {
		l.end(c)
		_ = l.toClient(refusal)
		return false
	}
	if !l.arm(c, t) {
		t.cancelled(l.ctx)
		return false
	}
	if l.clientLeft() && l.leave(c) {
		return true
	}
	_ = l.toClient(t.acknowledgement())
	if err := l.toServer(c.message); err != nil {
		l.lose(c)
	}
	return true
}

// caller is who calls: the process at the other end of the pipes, which nobody else
// can read.
func (l *link) caller(c *toolCall) notify.Caller {
	l.mu.Lock()
	defer l.mu.Unlock()
	return notify.Caller{
		Principal: l.gate.Principal, Client: l.said.client, Private: true, Capability: l.said.capable || c.declares(),
	}
}

// arm makes progress and responses find the call. It is false when the client has
// cancelled it meanwhile.
func (l *link) arm(c *linkCall, t *ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.ticket = t
	if c.cancelled {
		c.ended = true
		delete(l.calls, c.id)
		return false
	}
	if c.token != "" {
		l.tokens[c.token] = c
	}
	return true
}

// end takes a call out of the tables. It is true once: who gets true decides what
// became of the call, and closes over when that is done.
func (l *link) end(c *linkCall) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.ended {
		return false
	}
	c.ended = true
	if l.calls[c.id] == c {
		delete(l.calls, c.id)
	}
	delete(l.tokens, c.token)
	return true
}

// cancelled ends the call a client cancels. The notification goes to the server
// as well.
func (l *link) cancelled(m jsonrpc.Message) {
	id, err := jsonrpc.ParseID(memberAt(m.Params, "requestId"))
	if err != nil {
		return
	}
	l.mu.Lock()
	c := l.calls[id]
	admitting := c != nil && c.ticket == nil
	if admitting {
		c.cancelled = true
	}
	l.mu.Unlock()
	if c == nil || admitting {
		return
	}
	l.abandon(c, c.ticket.cancelled)
}

// abandon ends a call whose response, if one still comes, is for nobody. It reports
// whether it was this that ended the call.
func (l *link) abandon(c *linkCall, tell func(context.Context)) bool {
	if !l.end(c) {
		return false
	}
	defer close(c.over)
	l.mu.Lock()
	l.late.add(c)
	l.mu.Unlock()
	tell(l.ctx)
	return true
}

// expire answers a call that the engine has ended at its deadline, and takes it back
// (tool-call notifications, 5.2).
func (l *link) expire(c *linkCall) {
	if l.abandon(c, func(context.Context) {}) {
		_ = l.toServer(cancelNotification(c.id, "the call took longer than its time limit"))
		_ = l.toClient(c.ticket.timedOut())
	}
}

// lose ends a call whose server has gone.
func (l *link) lose(c *linkCall) {
	if l.end(c) {
		defer close(c.over)
		_ = l.toClient(c.ticket.lost(l.ctx))
	}
}

// cancelNotification is what tells the server that nobody waits for a request.
func cancelNotification(id jsonrpc.ID, reason string) []byte {
	params := withMember(raw(`{"requestId":`+id.String()+`}`), "reason", quote(reason))
	return jsonrpc.AppendNotification(nil, methodCancelled, params)
}

// serverGone ends all calls: the server will answer none of them.
func (l *link) serverGone() {
	for _, c := range l.running() {
		l.lose(c)
	}
	l.asks.fail()
}

// clientGone tells the link that nobody reads any more. Calls whose configuration
// says so are cancelled; the others go on.
func (l *link) clientGone() {
	l.mu.Lock()
	l.left = true
	l.mu.Unlock()
	for _, c := range l.running() {
		l.leave(c)
	}
}

// leave does what a call wants when its client has gone. It reports whether that was
// its end.
func (l *link) leave(c *linkCall) bool {
	if c.ticket.detaches() {
		c.ticket.call.Detach()
		return false
	}
	return l.takeBack(c, "the client has left")
}

// takeBack cancels a call without its client having said so to the server.
func (l *link) takeBack(c *linkCall, reason string) bool {
	if !l.abandon(c, c.ticket.cancelled) {
		return false
	}
	_ = l.toServer(cancelNotification(c.id, reason))
	return true
}

// running are the calls that were admitted and have not ended.
func (l *link) running() (list []*linkCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if c.ticket != nil {
			list = append(list, c)
		}
	}
	return list
}

// wait returns when no call is left, or when ctx ends.
func (l *link) wait(ctx context.Context) {
	idle := make(chan struct{})
	go func() { // ends with the calls, whose ends close waits for
		l.work.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// close ends the link: what still runs is recorded as interrupted. It waits.
func (l *link) close(cause error) {
	l.cancel(cause)
	l.asks.fail()
	l.work.Wait()
}

// lateCalls are calls that are over for their client while the server has not
// answered. It is bounded: the oldest is forgotten, and its answer, if one still
// comes, passes as that of a stranger.
type lateCalls struct {
	byID  map[jsonrpc.ID]*linkCall
	order []jsonrpc.ID
}

const maxLateCalls = 1000

func (l *lateCalls) add(c *linkCall) {
	if len(l.order) >= maxLateCalls {
		delete(l.byID, l.order[0])
		l.order = l.order[1:]
	}
	l.byID[c.id] = c
	l.order = append(l.order, c.id)
}

func (l *lateCalls) take(id jsonrpc.ID) *linkCall {
	c := l.byID[id]
	if c != nil {
		delete(l.byID, id)
	}
	return c
}
