package mcp

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/jsonrpc"
)

// httpCall is an accepted call over streamable HTTP. What it says is kept in its
// record, from which the client's stream is written: at once, or from where the
// client was when it comes back.
type httpCall struct {
	*toolCall
	h       *Handler
	ticket  *ticket
	record  *record
	session string // "" in the stateless era

	// request is the client's with the life of the handler: the server works under it.
	request *http.Request
	stop    context.CancelCauseFunc
	ended   atomic.Bool
	over    chan struct{} // closed when ended
	retired time.Time     // guarded by the handler's lock

	// The goroutine that reads the server's stream owns these.
	lastEventID string
	retry       time.Duration // what the server wants a client to wait before it comes back
}

// Why the server's work on a call is ended.
var (
	errDeadline  = errors.New("the call took longer than its limit")
	errCancelled = errors.New("the call was cancelled")
	errAnswered  = errors.New("the call was answered")
)

// call serves a tools/call with a configuration.
func (h *Handler) call(w http.ResponseWriter, r *http.Request, m jsonrpc.Message, body []byte) {
	c := parseToolCall(m, body)
	if !accepts(r, "text/event-stream") {
		writeMessage(w, refusalStatus(r), errorMessage(c.id, h.gate.noStream()))
		return
	}
	t, refusal, err := h.gate.admit(r.Context(), c, h.ask(r), h.caller(r, c))
	if err != nil {
		refuse(w, c, err)
		return
	}
	if refusal != nil {
		writeMessage(w, refusalStatus(r), refusal)
		return
	}
	hc := h.newCall(r, c, t)
	if !h.register(hc) {
		t.interrupted(h.ctx)
		writeMessage(w, http.StatusServiceUnavailable, errorMessage(c.id, errClosing))
		return
	}
	hc.serve(w, r, 0, func() {
		go func() { // register counted it
			defer h.work.Done()
			h.run(hc)
		}()
	})
	hc.clientGone(r)
}

var errClosing = jsonrpc.Errorf(jsonrpc.CodeInternal, "the gateway is shutting down")

// refuse answers when the server itself did not let the client in.
func refuse(w http.ResponseWriter, c *toolCall, err error) {
	var foreign *httpRefusal
	if errors.As(err, &foreign) {
		foreign.writeTo(w)
		return
	}
	writeMessage(w, http.StatusBadGateway, errorMessage(c.id, jsonrpc.Errorf(jsonrpc.CodeInternal, "the server does not answer")))
}

func (h *Handler) newCall(r *http.Request, c *toolCall, t *ticket) *httpCall {
	hc := &httpCall{toolCall: c, h: h, ticket: t, record: newRecord(), over: make(chan struct{}), session: r.Header.Get(headerSession)}
	// The client's context gives its values, not its end: who leaves does not take
	// back the call (tool-call notifications, 9.2).
	ctx, stop := context.WithCancelCause(context.WithoutCancel(r.Context()))
	hc.request, hc.stop = withBody(ctx, r, c.message), stop
	hc.request.Header.Del("Accept-Encoding")
	hc.record.add(t.acknowledgement())
	return hc
}

// run is the life of a registered call, whoever listens.
func (h *Handler) run(c *httpCall) {
	var server sync.WaitGroup
	server.Go(c.follow)
	select {
	case <-c.over:
	case <-c.ticket.call.Expired():
		c.expire()
	case <-h.ctx.Done():
		c.interrupt()
	}
	c.stop(errAnswered) // nothing that the server still says is of use
	server.Wait()
	h.retire(c)
}

// follow hands the call to the server and reads until there is a response. A
// stream that ends without one is taken up again where the protocol allows it.
func (c *httpCall) follow() {
	s := newSink(c.fromServer)
	err := c.h.forward(s, c.request)
	if !s.ok() && s.status != 0 && err == nil {
		c.refused(s)
		return
	}
	for s.ok() && c.pause() {
		s = newSink(c.fromServer)
		_ = c.h.forward(s, c.again()) // what it has said counts, and whether more can come
	}
	c.lost()
}

// fromServer takes a message of the server.
func (c *httpCall) fromServer(e event) {
	if e.id != "" {
		c.lastEventID = e.id
	}
	if d, err := time.ParseDuration(e.retry + "ms"); err == nil {
		c.retry = d
	}
	if !e.message() || c.ended.Load() {
		return
	}
	m, err := jsonrpc.Scan(e.data)
	switch {
	case err != nil:
		c.record.add(e.data)
	case m.Kind == jsonrpc.KindResponse && m.ID == c.id:
		c.answered(m, e.data)
	case m.Kind == jsonrpc.KindNotification && m.Method == methodProgress && string(memberAt(m.Params, "progressToken")) == c.token:
		c.ticket.streaming(c.h.ctx, m.Params)
		if !c.ownToken {
			c.record.add(e.data)
		}
	default:
		c.record.add(e.data)
	}
}

// end is true once: who gets true decides what became of the call.
func (c *httpCall) end() bool {
	if !c.ended.CompareAndSwap(false, true) {
		return false
	}
	close(c.over)
	return true
}

// finish gives the client its last message, if there is one.
func (c *httpCall) finish(message []byte) {
	if message != nil {
		c.record.add(message)
	}
	c.record.close()
}

func (c *httpCall) answered(m jsonrpc.Message, message []byte) {
	if c.end() {
		c.finish(c.ticket.answered(c.h.ctx, m, message))
	}
}

// expire answers a call that the engine has ended at its deadline, and takes it back
// (tool-call notifications, 5.2).
func (c *httpCall) expire() {
	if c.end() {
		c.finish(c.ticket.timedOut())
		c.takeBack(errDeadline)
	}
}

// cancel ends a call that its client cancels: nothing is sent for it any more.
func (c *httpCall) cancel() bool {
	if !c.end() {
		return false
	}
	c.ticket.cancelled(c.h.ctx)
	c.finish(nil)
	return true
}

func (c *httpCall) interrupt() {
	if c.end() {
		c.finish(c.ticket.interrupted(context.WithoutCancel(c.h.ctx)))
	}
}

// refused ends a call that the server did not take.
func (c *httpCall) refused(s *sink) {
	if c.end() {
		c.finish(c.ticket.refused(c.h.ctx, s.status, s.body.Bytes()))
	}
}

// lost ends a call whose server gave no response.
func (c *httpCall) lost() {
	if c.end() {
		c.finish(c.ticket.lost(c.h.ctx))
	}
}

// clientGone is called when the client's stream has ended.
func (c *httpCall) clientGone(r *http.Request) {
	switch {
	case r.Context().Err() == nil:
	case c.ticket.detaches():
		c.ticket.call.Detach()
	case c.cancel():
		c.takeBack(errCancelled)
	}
}

// takeBack tells the server that nobody waits for the call. In the stateless era
// the end of the stream says so; before, it is a notification.
func (c *httpCall) takeBack(why error) {
	if c.session != "" {
		s := newSink(func(event) {})
		ctx, cancel := context.WithTimeout(c.h.ctx, lookupTimeout)
		defer cancel()
		_ = c.h.forward(s, ownRequest(ctx, c.request, methodCancelled, cancelNotification(c.id, why.Error()))) // best effort: the outcome is decided
	}
	c.stop(why)
}
