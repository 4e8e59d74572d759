package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// Service is somebody's service, by its id. It is a handle and costs nothing;
// that it exists does not mean that the service does. Its methods may be called
// concurrently.
type Service struct {
	c    *Client
	id   string
	head []byte // how every notification to it begins
	last atomic.Pointer[servicePrefix]
}

// servicePrefix is what stands before the params of a notification: programs tend to
// send many of one method.
type servicePrefix struct {
	method string
	text   []byte
}

func (s *Service) prefix(method string) []byte {
	if p := s.last.Load(); p != nil && p.method == method {
		return p.text
	}
	text, _ := jsontext.AppendQuote(slices.Clip(s.head), method) // what is not UTF-8 was refused
	p := &servicePrefix{method, append(text, `,"params":`...)}
	s.last.Store(p)
	return p.text
}

// Service returns a handle of the service with an id, as it stands in the
// catalogue (see [Client.Services]). A service that its owner registers again,
// after a reconnect for instance, has a new id; the old one never means anything
// again.
func (c *Client) Service(id string) *Service {
	return &Service{c: c, id: id, head: appendServiceHead(nil, ahp.MethodClientServiceNotify, id)}
}

// ID is the service's id.
func (s *Service) ID() string { return s.id }

// Notify sends a notification to the service. Nothing is ever answered: nil says
// that it is on its way to the host, not that anybody received it. One sender's
// notifications and calls to one service arrive in their order, or not at all.
//
// Params may be anything that marshals; a jsontext.Value is sent as it is, and
// nil as null. Notify waits while too much is waiting to be sent, until ctx ends.
// What the host would drop for its size fails here: ErrTooLarge,
// ErrInvalidMessage, ErrNoServices. Without a connection the error is a
// *LostError.
func (s *Service) Notify(ctx context.Context, method string, params any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l, limits, err := s.c.serviceLink(ahp.MethodClientServiceNotify)
	if err != nil {
		return err
	}
	raw, err := serviceParams(limits, method, params)
	if err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return l.sendWait(ctx, s.prefix(method), raw, closing)
}

// closing ends a notification to a service.
var closing = []byte("}}")

// Call calls a method of the service and decodes the answer into result, unless
// that is nil; a *jsontext.Value takes it as it is. Params are those of
// [Service.Notify].
//
// The time ctx leaves goes to the host as the call's timeout; without a deadline
// the host uses its own. The error is a *CallError, whatever went wrong: match it
// with errors.Is against ErrServiceNotFound, ErrServiceTimeout and so on, and see
// whether the service may have acted. Nothing is ever tried again by itself.
func (s *Service) Call(ctx context.Context, method string, params, result any) error {
	err := s.call(ctx, method, params, result)
	if err == nil {
		return nil
	}
	return newCallError(ctx, s.id, method, err)
}

func (s *Service) call(ctx context.Context, method string, params, result any) error {
	if ctx.Err() != nil {
		return notSent(context.Cause(ctx))
	}
	l, limits, err := s.c.serviceLink(ahp.MethodClientServiceRequest)
	if err != nil {
		return err
	}
	raw, err := serviceParams(limits, method, params)
	if err != nil {
		return notSent(err)
	}
	if err := l.takeCallSlot(ctx); err != nil {
		return err
	}
	defer l.giveCallSlot()
	body := appendServiceParams(make([]byte, 0, len(raw)+len(s.id)+len(method)+96), s.id)
	body = appendServiceTail(body, method, raw)
	if deadline, ok := ctx.Deadline(); ok {
		body = body[:len(body)-1] // open the object again
		body = appendTimeout(body, time.Until(deadline), limits.MaximumTimeoutMs)
		body = append(body, '}')
	}
	return l.call(ctx, ahp.MethodClientServiceRequest, jsontext.Value(body), result)
}

// CallService is [Service.Call] with a result of a type.
func CallService[Out any](ctx context.Context, s *Service, method string, params any) (Out, error) {
	var out Out
	err := s.Call(ctx, method, params, &out)
	return out, err
}

// serviceLink is the live connection with what its host says of services.
func (c *Client) serviceLink(method string) (*link, *ahp.ClientServiceLimits, error) {
	l, err := c.liveLink(method)
	if err != nil {
		return nil, nil, err
	}
	limits := l.services
	if limits == nil {
		return nil, nil, ErrNoServices
	}
	return l, limits, nil
}

// takeCallSlot waits until the host takes one more call of this connection: it
// refuses those above the bound it announced (AHP core, 15.6).
func (l *link) takeCallSlot(ctx context.Context) error {
	select {
	case l.callSlots <- struct{}{}:
		return nil
	default:
	}
	select {
	case l.callSlots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return notSent(context.Cause(ctx))
	case <-l.ctx.Done():
		return &LostError{Method: ahp.MethodClientServiceRequest, Cause: context.Cause(l.ctx)}
	}
}

func (l *link) giveCallSlot() { <-l.callSlots }

// sendWait queues the notification that the parts make, for whoever can wait until
// there is room. The parts are copied.
func (l *link) sendWait(ctx context.Context, parts ...[]byte) error {
	for {
		room, err := l.offer(parts...)
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-l.ctx.Done():
		}
	}
}

// offer queues a notification. When there is no room it returns a channel that is
// closed when there may be.
func (l *link) offer(parts ...[]byte) (room <-chan struct{}, err error) {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.isFullLocked(n) {
		return l.room.wait(), fmt.Errorf("%w: %d messages wait to be written", ErrOverloaded, len(l.queue))
	}
	if err = l.takesLocked(n); errors.Is(err, ErrConnectionLost) {
		err = &LostError{Method: ahp.MethodClientServiceNotify, Cause: context.Cause(l.ctx)}
	}
	if err == nil {
		l.pushLocked(outgoing{msg: l.slab.Join(parts...), lent: true})
	}
	return nil, err
}

// offered takes what the host of a connection says of client services.
func (l *link) offered(info *ahp.InitializeResult) {
	l.services = readServiceLimits(info)
	if l.services == nil {
		return
	}
	slots := maxServiceCalls
	if n := l.services.RequestsInFlight; n > 0 && n < maxServiceCalls {
		slots = int(n)
	}
	l.callSlots = make(chan struct{}, slots)
}

// readServiceLimits is nil when the host does not offer client services.
func readServiceLimits(info *ahp.InitializeResult) *ahp.ClientServiceLimits {
	if info == nil {
		return nil
	}
	raw, ok := jsonrpc.Member(info.Extra, ahp.MemberClientServices)
	if !ok {
		return nil
	}
	var services ahp.ClientServicesInfo
	if err := ahp.Unmarshal(raw, &services); err != nil {
		return nil // a member of another meaning
	}
	return &services.Limits
}
