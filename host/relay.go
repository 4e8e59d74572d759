package host

import (
	"errors"
	"slices"
	"sync"
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

// relay queues an item of another client behind everything so far. It calls done
// when it refuses it.
func (o *outbox) relay(it item) error {
	if err := o.admit(&it); err != nil {
		it.finish()
		return err
	}
	if !o.add(int64(len(it.msg)), 1) {
		o.relayed.overrun()
	}
	return nil
}

func (o *outbox) admit(it *item) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return jsonrpc.ErrClosed
	}
	if !o.relayed.admitLocked(o, int64(len(it.msg))) {
		return ErrRelayFull
	}
	it.place, it.relayed = o.published.Load(), true
	o.direct = append(o.direct, *it)
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

// Message is a message to be relayed, in memory that is used again and again: a
// relay that runs at full speed leaves nothing to the garbage collector.
type Message struct {
	B       []byte // the complete message, to be appended to
	recycle func() // puts the Message back; made once
}

var messages sync.Pool

// maxRecycledBytes keeps a few large messages from holding memory for the many
// small ones.
const maxRecycledBytes = 64 << 10

// NewMessage returns an empty message with room for about size bytes.
func NewMessage(size int) *Message {
	m, _ := messages.Get().(*Message)
	if m == nil {
		m = new(Message)
		m.recycle = func() {
			if cap(m.B) <= maxRecycledBytes {
				messages.Put(m)
			}
		}
	}
	m.B = slices.Grow(m.B[:0], size)
	return m
}

// Relay queues a message of another client for this one, behind everything else
// it is sent. It never waits: the error is ErrRelayFull when too much of the kind
// waits already, or jsonrpc.ErrClosed. The message is the connection's in every
// case. A connection whose queue stays full for Limits.RelayPatience ends.
func (c *Conn) Relay(m *Message) error {
	return c.out.relay(item{msg: m.B, done: m.recycle})
}

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
		Send: func(msg []byte) error { return c.out.relay(item{msg: msg, ticket: &r.ticket}) },
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
