package host

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
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

// relay queues a message of another client behind everything so far.
func (o *outbox) relay(msg []byte, t *ticket) error {
	size := int64(len(msg))
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return jsonrpc.ErrClosed
	}
	if !o.relayed.admitLocked(o, size) {
		o.mu.Unlock()
		return ErrRelayFull
	}
	o.direct = append(o.direct, item{place: o.published.Load(), msg: msg, relayed: true, ticket: t})
	o.mu.Unlock()
	if !o.add(size, 1) {
		o.relayed.overrun()
	}
	return nil
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

// Relay queues a message of another client for this one, behind everything else
// it is sent. It never waits: the error is ErrRelayFull when too much of the kind
// waits already, or jsonrpc.ErrClosed. The message belongs to the connection from
// then on. A connection whose queue stays full for Limits.RelayPatience ends.
func (c *Conn) Relay(msg []byte) error { return c.out.relay(msg, nil) }

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
		Send: func(msg []byte) error { return c.out.relay(msg, &r.ticket) },
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

// AppendClientID appends the client's id as JSON. It is encoded once.
func (c *Conn) AppendClientID(dst []byte) []byte {
	quoted := c.quotedID.Load()
	if quoted == nil {
		fresh := appendString(nil, c.ClientID())
		if quoted = &fresh; c.live.Load() {
			c.quotedID.Store(quoted)
		}
	}
	return append(dst, *quoted...)
}

// Close ends the connection for a reason a feature has. It does not wait.
func (c *Conn) Close(cause CloseCause) { c.fail(cause, nil) }
