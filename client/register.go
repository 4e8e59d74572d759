package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// Sender is who sent a notification or a call, as the host established it. A
// sender cannot choose it.
type Sender struct {
	ClientID string
}

// Handler is what a service does. See [Methods] for one made of functions.
type Handler interface {
	// HandleCall answers a call. Calls run on goroutines of their own, at most
	// ServiceOptions.Calls at once, each begun after every notification that
	// arrived before it was handled. Ctx ends when the caller cancels, times out
	// or leaves, when the connection is lost and when the service is closed.
	//
	// Params are JSON, null if there were none; they and the result belong to the
	// handler. The result may be anything that marshals; a jsontext.Value is sent
	// as it is. An *ahp.Error goes to the caller with its code and data; of any
	// other error the caller learns only that there was one.
	HandleCall(ctx context.Context, from Sender, method string, params jsontext.Value) (any, error)
	// HandleNotification takes a notification. It is called for one at a time, in
	// the order of their arrival; ctx ends when the service is closed. Params belong
	// to the handler, unless it is a [TransientHandler].
	HandleNotification(ctx context.Context, from Sender, method string, params jsontext.Value)
}

// TransientHandler is a Handler that keeps nothing of a notification's params once
// HandleNotification has returned: what it wants to keep it copies or decodes. Their
// memory is then used again, which matters where notifications come by the hundred
// thousand. [Methods] is one.
type TransientHandler interface {
	Handler
	// KeepsNoParams is not called.
	KeepsNoParams()
}

// ServiceOptions bound what waits for a service of this client.
type ServiceOptions struct {
	// Queue and QueueBytes bound the notifications that wait for each handler.
	// Those above it are dropped, the newest first, and counted. Zero: 8192, and
	// 16 MiB.
	Queue, QueueBytes int
	// Calls bounds the calls that each handler runs at once. Those above it are
	// refused with ErrServiceLimit's code. Zero: 256.
	Calls int
}

// maxServiceCalls bounds the calls to all services of a connection.
const maxServiceCalls = 4096

func (o ServiceOptions) withDefaults() ServiceOptions {
	if o.Queue <= 0 {
		o.Queue = 8192
	}
	if o.QueueBytes <= 0 {
		o.QueueBytes = 16 << 20
	}
	if o.Calls <= 0 {
		o.Calls = 256
	}
	return o
}

// Registration is a service of this client. Hosts tie a service to the
// connection it was registered on, so the client registers it again after every
// reconnect, and it has a new id then: see [Registration.Updates].
type Registration struct {
	c        *Client
	params   jsontext.Value // of the registration
	handler  Handler
	options  ServiceOptions
	ctx      context.Context // the life of the service; its cause is ErrClosed
	cancel   context.CancelCauseFunc
	deliver  sync.WaitGroup // the goroutine that hands notifications over
	calls    sync.WaitGroup
	running  atomic.Int64
	refused  atomic.Uint64
	panicked atomic.Uint64
	inbox    inbox

	// The client's lock guards these.
	closed  bool
	id      string // empty while it is not registered
	link    *link  // where it is
	times   uint64
	err     error // why it is not registered, if the host refused
	changed broadcast
}

// Register offers a service to the other clients of the host: it appears in
// their catalogue with its metadata, an object that says what it is, such as
// {"protocol":"git-object-reader","version":1}. Metadata may be anything that
// marshals to one. Register returns when the host has registered the service.
// Close it when done.
//
// The error is the host's (ahp.ErrPermissionDenied,
// ahp.ErrClientServiceLimitExceeded), ErrNoServices, ErrTooLarge, a *LostError or
// the cause of ctx.
func (c *Client) Register(ctx context.Context, metadata any, h Handler) (*Registration, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l, limits, err := c.serviceLink(ahp.MethodRegisterService)
	if err != nil {
		return nil, err
	}
	params, err := registerParams(limits, metadata)
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	r := newRegistration(c, params, h)
	if err := r.start(l); err != nil {
		return nil, err
	}
	if err := r.await(ctx); err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("register: %w", err)
	}
	return r, nil
}

func registerParams(limits *ahp.ClientServiceLimits, metadata any) (jsontext.Value, error) {
	raw, err := ahp.Marshal(metadata)
	if err != nil {
		return nil, fmt.Errorf("%w: encode metadata: %w", ErrInvalidMessage, err)
	}
	if raw.Kind() != '{' {
		return nil, fmt.Errorf("%w: the metadata is not an object", ErrInvalidMessage)
	}
	if n := limits.MetadataBytes; n > 0 && int64(len(raw)) > n {
		return nil, fmt.Errorf("%w: metadata of %d bytes, the host takes %d", ErrTooLarge, len(raw), n)
	}
	return ahp.Marshal(ahp.RegisterServiceParams{Channel: ahp.ClientServicesURI, Metadata: raw})
}

func newRegistration(c *Client, params jsontext.Value, h Handler) *Registration {
	r := &Registration{c: c, params: params, handler: h, options: c.opts.Services.withDefaults()}
	r.ctx, r.cancel = context.WithCancelCause(c.ctx)
	r.inbox.wake = make(chan struct{}, 1)
	_, r.inbox.lends = h.(TransientHandler)
	return r
}

// start makes the service one that is registered on every connection, beginning
// with l.
func (r *Registration) start(l *link) error {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.c.closed {
		return ErrClosed
	}
	r.c.registrations[r] = struct{}{}
	r.deliver.Add(1)
	r.c.wg.Go(func() { defer r.deliver.Done(); r.deliverLoop() })
	r.c.wg.Go(func() { r.register(l) })
	return nil
}

// await waits for the first registration.
func (r *Registration) await(ctx context.Context) error {
	for {
		r.c.mu.Lock()
		times, err, changed := r.times, r.err, r.changed.wait()
		r.c.mu.Unlock()
		if times > 0 || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// registerPause is how long after a refused registration the next attempt
// begins: the host's policy may have changed by then.
const registerPause = 5 * time.Second

// register registers the service on a connection. The first registration of all
// is tried once: its caller waits for the outcome.
func (r *Registration) register(l *link) {
	for {
		again, err := r.attempt(l)
		if err == nil || !again {
			return
		}
		r.c.opts.Log.Warn("a service could not be registered again", "retry_in", registerPause, "err", err)
		if !pause(r.ctx, registerPause) || l.ctx.Err() != nil {
			return
		}
	}
}

// attempt registers the service once. Again says that it makes sense to go on.
func (r *Registration) attempt(l *link) (again bool, err error) {
	// What is sent to the new service can stand right behind the answer, so the
	// answer takes effect on the reader.
	settled := make(chan error, 1)
	_, err = l.rpc.Start(jsonrpc.Request{
		Method: ahp.MethodRegisterService, Params: r.params,
		Settled: func(result jsontext.Value, err error) {
			if err == nil {
				r.registered(l, result)
			}
			settled <- err
		},
	})
	if err == nil {
		err = <-settled // at the latest with the connection
	}
	if err == nil && r.isOn(l) {
		return false, nil
	}
	if err == nil {
		err = fmt.Errorf("%w: no service id", ErrServiceBadResponse)
	}
	return r.failed(l, l.callError(ahp.MethodRegisterService, err, true)), err
}

// registered notes the id that the host has given. It runs on the reader.
func (r *Registration) registered(l *link, result jsontext.Value) {
	var answer ahp.RegisterServiceResult
	if ahp.Unmarshal(result, &answer) != nil || answer.ServiceID == "" {
		return // attempt finds the service unregistered
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.closed {
		r.link = l
		r.c.goLocked(func() { l.unregister(answer.ServiceID) }) // sending takes the lock
		return
	}
	l.served.addLocked(answer.ServiceID, r)
	r.id, r.link, r.err = answer.ServiceID, l, nil
	r.times++
	r.changed.signal()
}

func (r *Registration) isOn(l *link) bool {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	return r.link == l
}

// failed notes why an attempt failed and tells whether another one makes sense.
func (r *Registration) failed(l *link, err error) bool {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.closed || r.link == l || r.times > 0 && errors.Is(err, ErrConnectionLost) {
		return false
	}
	r.err = err
	r.changed.signal()
	return r.times > 0
}

// unregister tells the host. When it cannot, the end of the connection does.
func (l *link) unregister(id string) {
	params, err := ahp.Marshal(ahp.UnregisterServiceParams{Channel: ahp.ClientServicesURI, ServiceID: id})
	if err != nil { // an id always encodes
		return
	}
	_, _ = l.rpc.Start(jsonrpc.Request{
		Method: ahp.MethodUnregisterService, Params: params, Settled: func(jsontext.Value, error) {},
	})
}

// registerLocked registers every service on a new connection, and wakes who waits
// for a current catalogue.
func (c *Client) registerLocked(l *link) {
	if ch := c.channels[ahp.ClientServicesURI]; ch != nil {
		ch.changedLocked()
	}
	for r := range c.registrations {
		c.goLocked(func() { r.register(l) })
	}
}

// unregisteredLocked notes that the connection is gone, and with it the
// registrations.
func (c *Client) unregisteredLocked() {
	for r := range c.registrations {
		r.id, r.link = "", nil
		r.changed.signal()
	}
}

// ID is the service's id now, empty while it is not registered.
func (r *Registration) ID() string {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	return r.id
}

// RegistrationStatus is what a registration's updates tell.
type RegistrationStatus struct {
	// ID is the id now, empty while the connection is lost or the host refuses.
	ID string
	// Times is how often the service has been registered.
	Times uint64
	// Err is why the host refused the last time. The client tries again.
	Err error
}

// Updates yields the status now and after every change, until ctx ends or the
// service is closed. A reader that is slow misses what was in between, never the
// newest.
func (r *Registration) Updates(ctx context.Context) iter.Seq[RegistrationStatus] {
	return func(yield func(RegistrationStatus) bool) {
		for {
			r.c.mu.Lock()
			s, over, changed := RegistrationStatus{r.id, r.times, r.err}, r.closed, r.changed.wait()
			r.c.mu.Unlock()
			if over || !yield(s) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			case <-r.ctx.Done():
				return
			}
		}
	}
}

// RegistrationStats counts what a service received.
type RegistrationStats struct {
	Notifications uint64 // handled
	Dropped       uint64 // notifications dropped because too many waited
	Refused       uint64 // calls refused because too many were running
	Panics        uint64 // in HandleNotification
	Waiting       int    // notifications that wait now
	Calls         int    // running now
}

// Stats returns the counters.
func (r *Registration) Stats() RegistrationStats {
	return RegistrationStats{
		Notifications: r.inbox.handled.Load(), Dropped: r.inbox.dropped.Load(), Refused: r.refused.Load(),
		Panics: r.panicked.Load(), Waiting: r.inbox.waiting(), Calls: int(r.running.Load()),
	}
}

// end takes the service out of the tables and tells where it was registered.
func (r *Registration) end() (l *link, id string) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	l, id = r.link, r.id
	if id != "" {
		l.served.removeLocked(id)
	}
	r.closed, r.id, r.link = true, "", nil
	delete(r.c.registrations, r)
	r.changed.signal()
	return l, id
}

// Close takes the service away from the host, ends the contexts of its handlers
// and waits for them; a handler must not call it. Notifications that still wait
// are dropped. It returns nil always.
func (r *Registration) Close() error {
	if l, id := r.end(); id != "" {
		l.unregister(id) // before the calls that end now are answered: the host fails them
	}
	r.cancel(ErrClosed)
	r.deliver.Wait()
	r.calls.Wait()
	return nil
}
