package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// call is a call without an answer.
type call struct {
	f       *Feature
	caller  *host.Conn
	service *service
	held    *jsonrpc.Held
	nth     uint64 // of all calls, so that those given up together go in order

	// mu guards what follows. A cause to give up may come before the request is
	// on its way.
	mu      sync.Mutex
	sent    *host.RelayedCall
	early   error
	timer   *time.Timer
	settled bool
}

// call answers clientService/request (R12 to R17). The request is queued for the
// owner here, on the caller's reader, so that it keeps its place.
func (f *Feature) call(_ context.Context, r *host.Request) jsonrpc.Reply {
	m, timeout, err := f.admit(r)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	s := f.services.get(m.serviceID)
	if s == nil || !f.maySee(r.Conn.Principal(), s) {
		return jsonrpc.Reply{Err: relayed(ahp.ErrNotFound, "unknown-service", false)}
	}
	if !f.policy.MayCall(r.Conn.Principal(), s.owner.Principal(), s.metadata) {
		return jsonrpc.Reply{Err: relayed(ahp.ErrPermissionDenied, "denied", false)}
	}
	c := &call{f: f, caller: r.Conn, service: s}
	if err := f.open(c); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	c.held = r.Hold(func(error) { c.cancel(errCancelled) })
	f.metrics.calls.Inc()
	if sent, err := s.owner.RelayCall(ahp.MethodClientServiceHandle, m.callParams(s, r.Conn), c.settle); err != nil {
		c.finish(nil, err, false)
	} else {
		c.forwarded(sent, timeout)
	}
	return jsonrpc.Reply{Taken: true}
}

// admit reads a call and holds it against the limits of form.
func (f *Feature) admit(r *host.Request) (m message, timeout time.Duration, err error) {
	if !f.withinRate(r.Conn) {
		return m, 0, relayed(limitError("the connection sends too fast"), "rate", false)
	}
	m, bad := f.scan(r.Params)
	if bad == nil {
		timeout, bad = f.readTimeout(m.timeout)
	}
	if bad != nil {
		return m, 0, relayed(bad, "invalid", false)
	}
	return m, timeout, nil
}

// open enters a call into the tables, unless one of them is full.
func (f *Feature) open(c *call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.partyLocked(c.caller)
	switch {
	case c.service.gone:
		return relayed(ahp.ErrNotFound, "unknown-service", false)
	case f.stopped:
		return relayed(ahp.ErrClientServiceUnavailable, "shutdown", false)
	case len(p.calls) >= f.limits.CallsPerConn:
		f.reached(limitCalls)
		return relayed(limitError("the connection has as many calls in flight as it may"), "calls-per-connection", false)
	case len(c.service.calls) >= f.limits.CallsPerService:
		f.reached(limitCallsOf)
		return relayed(limitError("the service has as many calls in flight as it may"), "calls-per-service", false)
	}
	p.calls[c] = struct{}{}
	c.service.calls[c] = struct{}{}
	f.inFlight++
	f.lastCall++
	c.nth = f.lastCall
	return nil
}

// close removes it.
func (f *Feature) close(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.parties[c.caller]; p != nil {
		delete(p.calls, c)
	}
	delete(c.service.calls, c)
	f.inFlight--
}

// forwarded starts the clock of a call that is on its way.
func (c *call) forwarded(sent *host.RelayedCall, timeout time.Duration) {
	c.mu.Lock()
	c.sent = sent
	early := c.early
	if !c.settled && early == nil {
		c.timer = time.AfterFunc(timeout, func() { c.cancel(errTimedOut) })
	}
	c.mu.Unlock()
	if early != nil {
		sent.Cancel(early)
	}
}

// cancel gives the call up. Whatever settled it before wins (R14).
func (c *call) cancel(cause error) {
	c.mu.Lock()
	sent := c.sent
	if sent == nil && c.early == nil {
		c.early = cause
	}
	c.mu.Unlock()
	if sent != nil {
		sent.Cancel(cause)
	}
}

func cancelAll(list []*call, cause error) {
	slices.SortFunc(list, func(a, b *call) int { return cmp.Compare(a.nth, b.nth) })
	for _, c := range list {
		c.cancel(cause)
	}
}

// settle is told once what became of the request: the table of the owner's
// connection sees to it.
func (c *call) settle(result jsontext.Value, err error) {
	c.mu.Lock()
	executed := c.sent == nil || !c.sent.Withdrawn()
	c.mu.Unlock()
	c.finish(result, err, executed)
}

// finish answers the caller. Executed says that the service may have acted.
func (c *call) finish(result jsontext.Value, err error, executed bool) {
	c.mu.Lock()
	c.settled = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.f.close(c)
	switch {
	case errors.Is(err, errCallerGone):
		return
	case err == nil:
		err = c.f.checkResult(result)
	default:
		err = c.f.failure(err, executed)
	}
	c.held.Answer(result, err)
}
