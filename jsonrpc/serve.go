package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// Handler acts on what the peer sends. Both methods run on the reader, one
// message at a time and in order, so they must not wait for anything slow. A
// panic in them is contained: it is counted, reported, and answered with
// ErrInternal.
type Handler interface {
	// HandleNotification acts on a notification. Unknown methods are ignored. What m
	// points to is the handler's until it returns; what the Message aliases is not
	// touched by this package afterwards.
	HandleNotification(ctx context.Context, m *Message)
	// HandleRequest answers a request, or says how it will be answered.
	HandleRequest(ctx context.Context, m Message) Reply
}

// Reply is the outcome of a request: Later if it is set, otherwise Err if it is
// set, otherwise Result. Exactly one response is made of it, unless it is Taken.
type Reply struct {
	// Taken says that the handler has queued the response itself, or will: the
	// Conn sends none. The request cannot be cancelled any more, unless the
	// handler holds it (Conn.Hold).
	Taken bool
	// Result is marshalled, or sent verbatim if it is a jsontext.Value. Nil
	// is sent as null.
	Result any
	// Err is sent as it is if there is an *Error in its chain, otherwise by
	// way of Options.MapError.
	Err error
	// Later computes result and error on a goroutine of its own, which the
	// Conn owns. Its context ends, with a cause, when the peer cancels the
	// request (ErrRequestCancelled) or the connection ends (ConnectionError).
	// If the peer has cancelled and Later fails, the peer gets
	// ErrRequestCancelled; a result is sent even then.
	Later func(ctx context.Context) (any, error)
}

// noHandler is the Handler of a side that only calls.
type noHandler struct{}

func (noHandler) HandleNotification(context.Context, *Message) {}

func (noHandler) HandleRequest(context.Context, Message) Reply {
	return Reply{Err: ErrMethodNotFound}
}

func (c *Conn) notification(m *Message) {
	if m.Method == MethodCancel {
		c.cancelRequest(m)
		return
	}
	defer func() {
		if v := recover(); v != nil {
			c.panicked(v) // a notification has no other answer
		}
	}()
	c.opts.Handler.HandleNotification(c.ctx, m)
}

// cancelRequest ends the context of the request that the peer takes back. An
// unknown or finished one is no fault: the answer may have crossed the cancel.
func (c *Conn) cancelRequest(m *Message) {
	raw, _ := Member(m.Params, "id")
	id, err := ParseID(raw)
	if err != nil {
		c.stats.cancelsIgnored.Add(1)
		return
	}
	c.mu.Lock()
	cancel := c.requests[id]
	c.mu.Unlock()
	if cancel == nil {
		c.stats.cancelsIgnored.Add(1)
		return
	}
	c.stats.cancelsReceived.Add(1)
	cancel(ErrRequestCancelled)
}

// request handles a request up to the point where the next message may be
// handled.
func (c *Conn) request(m Message) error {
	if c.isInFlight(m.ID) {
		// The first request keeps the id and its answer.
		c.stats.duplicates.Add(1)
		return c.respondOnReader(m, Reply{Err: invalid("a request with this id is in flight")})
	}
	var reply Reply
	if err := c.contain(func() { reply = c.opts.Handler.HandleRequest(c.ctx, m) }); err != nil {
		reply = Reply{Err: err}
	}
	if reply.Taken {
		return nil
	}
	if reply.Later == nil {
		return c.respondOnReader(m, reply)
	}
	if err := c.acquire(); err != nil {
		return err
	}
	return c.start(m.ID, reply.Later)
}

func (c *Conn) respondOnReader(m Message, r Reply) error {
	if err := c.respond(m.ID, r.Result, r.Err); err != nil {
		return fmt.Errorf("send response to %s: %w", m.Method, err)
	}
	return nil
}

func (c *Conn) isInFlight(id ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.requests[id]
	return ok
}

// acquire takes a slot for a request, waiting if there is none: the peer then
// feels it as a connection that is not read.
func (c *Conn) acquire() error {
	if c.slots == nil {
		c.slots = make(chan struct{}, c.opts.MaxInFlight)
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	default:
	}
	c.stats.waits.Add(1)
	if c.opts.OnWait != nil {
		c.opts.OnWait()
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-c.ctx.Done():
		c.shut(context.Cause(c.ctx))
		return c.closedErr()
	}
}

// start runs later on its own goroutine. The check and the start are one step,
// so Close either waits for the goroutine or prevents it.
func (c *Conn) start(id ID, later func(context.Context) (any, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		<-c.slots
		return c.closed
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.enterLocked(id, cancel)
	c.wg.Go(func() { c.finish(ctx, id, later) })
	return nil
}

// finish produces the one response to a request that is handled off the
// reader.
func (c *Conn) finish(ctx context.Context, id ID, later func(context.Context) (any, error)) {
	defer func() { <-c.slots }()
	var result any
	var err error
	if panicked := c.contain(func() { result, err = later(ctx) }); panicked != nil {
		err = panicked
	}
	cancelled := errors.Is(context.Cause(ctx), ErrRequestCancelled)
	c.leave(id)(nil)
	if c.closedErr() != nil {
		return
	}
	if err != nil && cancelled {
		err = ErrRequestCancelled
	}
	// Counted when it fails; Send's owner closes the connection.
	_ = c.respond(id, result, err)
}

// enterLocked puts a request into the table of those in flight.
func (c *Conn) enterLocked(id ID, cancel context.CancelCauseFunc) {
	if c.requests == nil {
		c.requests = make(map[ID]context.CancelCauseFunc)
	}
	c.requests[id] = cancel
}

// leave removes a request before its response is sent: the peer may use the id
// again as soon as it has the response.
func (c *Conn) leave(id ID) context.CancelCauseFunc {
	c.mu.Lock()
	defer c.mu.Unlock()
	cancel := c.requests[id]
	delete(c.requests, id)
	return cancel
}

// contain runs a handler's code and turns a panic into an internal error.
func (c *Conn) contain(run func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			c.panicked(v)
			err = internalError(fmt.Errorf("handler panicked: %v", v))
		}
	}()
	run()
	return nil
}

// panicked counts and reports a panic of a handler.
func (c *Conn) panicked(v any) {
	c.stats.panics.Add(1)
	if c.opts.OnPanic != nil {
		c.opts.OnPanic(v, debug.Stack())
	}
}
