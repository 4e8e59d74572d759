package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/causeway-ahp/causeway/jsonrpc"
)

// Call sends a request to the host and decodes the answer into result, unless
// that is nil. Params may be anything that marshals; the protocol wants a member
// channel in it. An error of the host is an *ahp.Error; without a connection, or
// when it is lost, the error is a *LostError; when ctx ends first it is the cause
// of ctx, and the host was told to cancel.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l, err := c.liveLink(method)
	if err != nil {
		return err
	}
	return l.call(ctx, method, params, result)
}

// Notify sends a notification to the host, in order with everything else.
func (c *Client) Notify(method string, params any) error {
	l, err := c.liveLink(method)
	if err != nil {
		return err
	}
	if err := l.rpc.Notify(method, params); err != nil {
		return l.callError(method, err, true)
	}
	return nil
}

func (c *Client) liveLink(method string) (*link, error) {
	if l := c.live.Load(); l != nil {
		return l, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.overLocked(); err != nil {
		return nil, err
	}
	if c.closed {
		return nil, ErrClosed
	}
	if c.link == nil {
		return nil, &LostError{Method: method, Cause: c.status.Err}
	}
	return c.link, nil
}

// call sends a request and waits for its answer.
func (l *link) call(ctx context.Context, method string, params, result any) error {
	p, err := l.rpc.Go(method, params)
	if err != nil {
		return l.callError(method, err, true)
	}
	return l.lostError(method, p.ID(), p.Wait(ctx, result))
}

// lostError turns the end of the connection, while a request waited for its
// answer, into a *LostError.
func (l *link) lostError(method string, id jsonrpc.ID, err error) error {
	if err == nil || !errors.Is(err, jsonrpc.ErrClosed) && !l.ended(err) {
		return err
	}
	l.c.mu.Lock()
	l.dropLocked()
	_, unsent := l.unsent[string(id.AppendTo(nil))]
	l.c.mu.Unlock()
	return &LostError{Method: method, Sent: !unsent, Cause: context.Cause(l.ctx)}
}

// ended reports whether err is the end of the link: a call that waits no longer
// than the link may hear of that first.
func (l *link) ended(err error) bool {
	return l.ctx.Err() != nil && errors.Is(err, context.Cause(l.ctx))
}

// callError turns the end of a connection into a *LostError.
func (l *link) callError(method string, err error, unsent bool) error {
	if errors.Is(err, jsonrpc.ErrClosed) || errors.Is(err, ErrConnectionLost) {
		return &LostError{Method: method, Sent: !unsent, Cause: context.Cause(l.ctx)}
	}
	return fmt.Errorf("call %s: %w", method, err)
}
