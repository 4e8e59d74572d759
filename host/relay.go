package host

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"
)

// ErrRelayFull is why a message of another client was not queued for this one:
// too many wait already.
var ErrRelayFull = errors.New("the relay queue is full")

// relayQueue accounts for the messages of other clients that wait in an outbox,
// among everything else and in order with it. They have a bound of their own,
// over which they are refused: a sender must not be able to end the connection of
// a recipient by sending. The outbox's lock guards it.
type relayQueue struct {
	maxBytes, maxCount int64
	patience           time.Duration
	overrun            func() // the queue has been full for that long
	hits               *relayHits

	bytes, count int64
	full         *time.Timer // runs since a message was refused; nil since one left
}

// admitLocked accounts for a message of so many bytes; it is false without room.
func (q *relayQueue) admitLocked(o *outbox, size int64) bool {
	if q.count < q.maxCount && q.bytes+size <= q.maxBytes {
		q.count++
		q.bytes += size
		return true
	}
	q.refusedLocked()
	if q.full == nil {
		var timer *time.Timer
		timer = time.AfterFunc(q.patience, func() {
			o.mu.Lock()
			still := q.full == timer
			o.mu.Unlock()
			if still {
				q.overrun()
			}
		})
		q.full = timer
	}
	return false
}

// relayHits count the refusals of all connections. They are looked up once: a message
// that is dropped must cost less than one that is carried.
type relayHits struct{ bytes, count prometheus.Counter }

func (q *relayQueue) refusedLocked() {
	if q.count >= q.maxCount {
		q.hits.count.Inc()
	} else {
		q.hits.bytes.Inc()
	}
}

// leftLocked accounts for a message that was taken out.
func (q *relayQueue) leftLocked(size int64) {
	q.count--
	q.bytes -= size
	q.stopLocked()
}

func (q *relayQueue) stopLocked() {
	if q.full != nil {
		q.full.Stop()
		q.full = nil
	}
}

// relay queues a message of another client behind everything so far, in the memory
// of the outbox.
func (o *outbox) relay(parts ...[]byte) error {
	size := int64(0)
	for _, part := range parts {
		size += int64(len(part))
	}
	o.mu.Lock()
	err := o.admitLocked(size)
	if err == nil {
		o.direct = append(o.direct, item{place: o.published.Load(), msg: o.slab.Join(parts...), relayed: true, lent: true})
	}
	o.mu.Unlock()
	return o.admitted(size, err)
}

// relayCall queues a request of another client, which can be taken back.
func (o *outbox) relayCall(msg []byte, t *ticket) error {
	size := int64(len(msg))
	o.mu.Lock()
	err := o.admitLocked(size)
	if err == nil {
		o.direct = append(o.direct, item{place: o.published.Load(), msg: msg, relayed: true, ticket: t})
	}
	o.mu.Unlock()
	return o.admitted(size, err)
}

func (o *outbox) admitLocked(size int64) error {
	switch {
	case o.closed:
		return jsonrpc.ErrClosed
	case !o.relayed.admitLocked(o, size):
		return ErrRelayFull
	}
	return nil
}

func (o *outbox) admitted(size int64, err error) error {
	if err == nil && !o.add(size, 1) {
		o.relayed.overrun()
	}
	return err
}

// ticket is what a relayed request holds while it waits: it leaves or is taken
// back, whichever comes first.
type ticket struct{ state atomic.Int32 }

const (
	ticketLeft = iota + 1
	ticketWithdrawn
)

func (t *ticket) leave() bool     { return t == nil || t.state.CompareAndSwap(0, ticketLeft) }
func (t *ticket) withdraw() bool  { return t.state.CompareAndSwap(0, ticketWithdrawn) }
func (t *ticket) withdrawn() bool { return t.state.Load() == ticketWithdrawn }

// Relay queues a message of another client for this one, behind everything else it
// is sent: the parts, one after the other, which are copied. It never waits: the
// error is ErrRelayFull when too much of the kind waits already, or
// jsonrpc.ErrClosed. A connection whose queue stays full for Limits.RelayPatience
// ends.
func (c *Conn) Relay(parts ...[]byte) error { return c.out.relay(parts...) }

// RelayedCall is a request of another client, forwarded to this one.
type RelayedCall struct {
	ticket  ticket
	pending *jsonrpc.Pending
}

// RelayCall forwards a request as Relay does a message. Settled is called once,
// as that of jsonrpc.Request is, unless there is an error: then nothing was sent.
func (c *Conn) RelayCall(method string, params jsontext.Value, settled func(result jsontext.Value, err error)) (*RelayedCall, error) {
	r := new(RelayedCall)
	var err error
	r.pending, err = c.rpc.Start(jsonrpc.Request{
		Method: method, Params: params, Settled: settled, Withdraw: r.ticket.withdraw,
		Send: func(msg []byte) error { return c.out.relayCall(msg, &r.ticket) },
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Cancel settles the call with cause, unless it is settled. The client is told
// when it may have the request; one that still waits is taken back.
func (r *RelayedCall) Cancel(cause error) { r.pending.Cancel(cause) }

// Withdrawn reports whether a cancelled call was taken back before it left.
func (r *RelayedCall) Withdrawn() bool { return r.ticket.withdrawn() }

// QuotedClientID is the client's id as JSON, which must not be written to. It is
// encoded once.
func (c *Conn) QuotedClientID() []byte {
	if quoted := c.quotedID.Load(); quoted != nil {
		return *quoted
	}
	quoted := appendString(nil, c.ClientID())
	if c.live.Load() {
		c.quotedID.Store(&quoted)
	}
	return quoted
}

// Close ends the connection for a reason a feature has. It does not wait.
func (c *Conn) Close(cause CloseCause) { c.fail(cause, nil) }
