package client

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/slab"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// inbox holds the notifications that wait for a service's handler, and marks for
// the calls that arrived between them. The reader puts in, one goroutine takes
// out; each counts in memory of its own, so that neither waits for the other's.
type inbox struct {
	wake  chan struct{} // holds a token when there may be something to take
	lends bool          // params are the handler's only until it returns

	mu    sync.Mutex
	items []delivery
	slab  slab.Slab // params of items, if they are lent,
	fresh int       // bytes of them
	lent  int       // and bytes that the handler has

	// The reader's: what it has put in, and what it knew last of what is out. Marks
	// do not count.
	came, cameBytes atomic.Uint64
	seen, seenBytes uint64
	room            []byte // for params

	// The other goroutine's: what it is done with.
	gone, goneBytes atomic.Uint64

	handled, dropped atomic.Uint64
}

// delivery is a notification, or a mark: a channel to be closed when everything
// before it has been handled.
type delivery struct {
	from   Sender
	method string
	params jsontext.Value
	mark   chan struct{}
}

func (d *delivery) size() uint64 { return uint64(len(d.params) + len(d.method)) }

// put adds a notification, unless too much waits: then the newest is the one to
// drop, so that what is delivered stays in order without a gap in its middle. The
// params are copied: for the handler to keep, or for as long as it runs.
func (b *inbox) put(d delivery, o *ServiceOptions) {
	if !b.fits(d.size(), o) {
		if b.seen, b.seenBytes = b.gone.Load(), b.goneBytes.Load(); !b.fits(d.size(), o) {
			b.dropped.Add(1)
			return
		}
	}
	b.came.Store(b.came.Load() + 1) // nobody else does
	b.cameBytes.Store(b.cameBytes.Load() + d.size())
	if !b.lends {
		d.params = b.keep(d.params)
	}
	b.append(d)
}

// fits reports whether there is room for size bytes, as far as the reader knows.
func (b *inbox) fits(size uint64, o *ServiceOptions) bool {
	n, bytes := b.came.Load()-b.seen, b.cameBytes.Load()-b.seenBytes
	return n == 0 || n < uint64(o.Queue) && bytes+size <= uint64(o.QueueBytes)
}

// waiting is how many notifications have come and were not handled.
func (b *inbox) waiting() int {
	gone := b.gone.Load() // before those that came: the difference is never negative
	return int(b.came.Load() - gone)
}

// Small params share memory, which comes in pieces that grow while it is needed.
const (
	leastRoom = 1 << 10
	mostRoom  = 64 << 10
)

// keep copies params for the handler, to whom they belong.
func (b *inbox) keep(params jsontext.Value) jsontext.Value {
	n := len(params)
	if n > cap(b.room)-len(b.room) {
		if n > mostRoom/4 {
			return append(make(jsontext.Value, 0, n), params...)
		}
		b.room = make([]byte, 0, max(n, min(2*cap(b.room), mostRoom), leastRoom))
	}
	at := len(b.room)
	b.room = append(b.room, params...)
	return b.room[at:len(b.room):len(b.room)]
}

// mark returns a channel that is closed when everything that is in the inbox has
// been handled; nil when nothing is.
func (b *inbox) mark() <-chan struct{} {
	if b.waiting() == 0 {
		return nil
	}
	mark := make(chan struct{})
	b.append(delivery{mark: mark})
	return mark
}

func (b *inbox) append(d delivery) {
	b.mu.Lock()
	if b.lends && d.mark == nil {
		d.params = b.slab.Join(d.params)
		b.fresh += len(d.params)
	}
	b.items = append(b.items, d)
	first := len(b.items) == 1
	b.mu.Unlock()
	if first {
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

// take moves what waits into batch, whose items have been handled.
func (b *inbox) take(batch []delivery) []delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slab.Free(b.lent)
	b.lent, b.fresh = b.fresh, 0
	batch, b.items = b.items, batch[:0]
	return batch
}

// deliverLoop hands notifications to the handler until the service is closed.
func (r *Registration) deliverLoop() {
	var batch []delivery
	for {
		batch = r.inbox.take(batch)
		for i := range batch {
			r.hand(&batch[i])
		}
		clear(batch)
		if len(batch) > 0 {
			continue
		}
		select {
		case <-r.inbox.wake:
		case <-r.ctx.Done():
			return
		}
	}
}

// hand gives one notification to the handler. What waits when the service is
// closed is dropped.
func (r *Registration) hand(d *delivery) {
	if d.mark != nil {
		close(d.mark)
		return
	}
	if r.ctx.Err() == nil {
		r.notified(d)
	}
	r.inbox.goneBytes.Store(r.inbox.goneBytes.Load() + d.size()) // nobody else does
	r.inbox.gone.Store(r.inbox.gone.Load() + 1)
}

func (r *Registration) notified(d *delivery) {
	defer func() {
		if v := recover(); v != nil {
			r.panicked.Add(1)
			r.c.opts.Log.Error("a service's handler panicked", "method", d.method, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	r.handler.HandleNotification(r.ctx, d.from, d.method, d.params)
	r.inbox.handled.Add(1)
}

// serviceCalled handles a call to a service of this client, on the reader.
func (l *link) serviceCalled(params jsontext.Value) jsonrpc.Reply {
	in, ok := readRelayed(params)
	if !ok {
		return jsonrpc.Reply{Err: jsonrpc.ErrInvalidParams}
	}
	r := l.service(in.service)
	if r == nil {
		return jsonrpc.Reply{Err: ahp.ErrNotFound}
	}
	mark := r.inbox.mark()
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) { return r.call(ctx, in, mark, l.services) }}
}

func (l *link) service(id []byte) *Registration { return l.served.now()[string(id)] }

// call runs a call after what stood before it.
func (r *Registration) call(ctx context.Context, in relayed, mark <-chan struct{}, limits *ahp.ClientServiceLimits) (any, error) {
	if !r.begin() {
		return nil, ahp.ErrClientServiceLimitExceeded
	}
	defer r.done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(ErrClosed) })()
	if mark != nil {
		select {
		case <-mark:
		case <-ctx.Done():
			return nil, jsonrpc.ErrRequestCancelled
		}
	}
	result, err := r.handler.HandleCall(ctx, Sender{string(in.sender)}, string(in.method), in.params)
	if err == nil {
		result, err = boundedResult(result, limits)
	}
	var wire *ahp.Error
	if err != nil && ctx.Err() == nil && !errors.As(err, &wire) {
		r.c.opts.Log.Warn("a service failed", "err", err) // the caller does not learn why
	}
	return result, err
}

// begin takes a place among the running calls; it is false when there is none.
func (r *Registration) begin() bool {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.closed || r.running.Load() >= int64(r.options.Calls) {
		r.refused.Add(1)
		return false
	}
	r.running.Add(1)
	r.calls.Add(1)
	return true
}

func (r *Registration) done() {
	r.running.Add(-1)
	r.calls.Done()
}

// boundedResult encodes a result and refuses one that the host would not pass on.
func boundedResult(result any, limits *ahp.ClientServiceLimits) (any, error) {
	raw, isRaw := result.(jsontext.Value)
	if !isRaw {
		var err error
		if raw, err = ahp.Marshal(result); err != nil {
			return nil, fmt.Errorf("encode result: %w", err)
		}
	}
	if limits != nil && limits.ResultBytes > 0 && int64(len(raw)) > limits.ResultBytes {
		return nil, ahp.Errorf(ahp.CodeClientServiceBadResponse, "the result has %d bytes, the limit is %d", len(raw), limits.ResultBytes)
	}
	if isRaw && len(raw) > 0 {
		if err := jsonrpc.Check(raw, maxRelayDepth); err != nil {
			return nil, fmt.Errorf("result: %w: %s", ErrInvalidMessage, err)
		}
	}
	return raw, nil
}
