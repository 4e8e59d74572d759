package host

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host/compat"
	"github.com/causeway-ahp/causeway/internal/metric"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
)

// Conn is one connection of a client. Its exported methods may be called
// concurrently.
type Conn struct {
	h         *Host
	id        uint64
	t         transport.Conn
	rpc       *jsonrpc.Conn
	out       *outbox
	principal Principal

	ctx       context.Context // ends with cancel
	cancelCtx context.CancelCauseFunc
	unwatch   func() bool // of the context that Serve was given
	closing   atomic.Bool // closeCarrier runs, or did
	// deaf makes the reader drop what it reads: the connection is to end.
	deaf atomic.Bool
	// flushed ends the connection when its outbox has drained.
	flushed atomic.Pointer[closedError]

	// The sequencer's lock guards these; the reader, which alone writes
	// lineage, also reads it without.
	lineage *lineage
	subs    map[ahp.URI]*subscription
	invalid bool // a newer connection of the lineage took over

	handshake *time.Timer            // ends a connection that does not complete it
	live      atomic.Bool            // the handshake is complete
	speaks    atomic.Uint32          // the client\'s compat.Dialect
	quotedID  atomic.Pointer[[]byte] // the client's id as JSON, once somebody asked

	// The writer's: what it needs for every batch stands together.
	echoes    []int64 // when the dispatches came whose echoes are being written
	wroteKind int     // the kind of the last message that was written
	sentRun   metric.Run
	frames    frameBuffer
	loops     loops // of the goroutines but the reader; anybody's

	// The reader's.
	reading    []byte // the message it is handling
	spent      bool   // nothing of that message is kept
	joined     int64  // bytes in all reassembly buffers
	received   metric.Run
	readKind   int    // where readMethod stands among the kinds
	readMethod string // the method of the last message that had a known one
	handlers   map[string]NotificationHandler
}

// ID identifies the connection in logs; it is never used again.
func (c *Conn) ID() uint64 { return c.id }

// ClientID is the id the client chose, "" before the handshake.
func (c *Conn) ClientID() string {
	if !c.live.Load() {
		return ""
	}
	return c.lineage.clientID
}

// Principal is who the connection belongs to.
func (c *Conn) Principal() Principal { return c.principal }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Call sends a request to the client and waits for the answer.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	return c.rpc.Call(ctx, method, params, result)
}

// Notify sends a notification to this client alone, in order with everything
// else it is sent.
func (c *Conn) Notify(method string, params any) error {
	d := c.dialect()
	if d == compat.Canonical {
		return c.rpc.Notify(method, params)
	}
	raw, err := ahp.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode params of %s: %w", method, err)
	}
	return c.rpc.Notify(method, d.Notification(method, raw))
}

func (c *Conn) actor() Actor { return Actor{Principal: c.principal, ClientID: c.lineage.clientID} }

func (c *Conn) origin(clientSeq uint64) journal.Origin {
	return journal.Origin{ClientID: c.lineage.clientID, ClientSeq: clientSeq, Lineage: c.lineage.id}
}

func (c *Conn) subscribedLocked(ch *channel) bool {
	s := c.subs[ch.uri]
	return s != nil && s.ch == ch
}

// pushLocked queues an item; a connection over its bound is closed.
func (c *Conn) pushLocked(it item) {
	if !c.out.push(it) {
		c.overrun()
	}
}

// pushToLocked queues an item about a channel for this connection alone: into the
// window of a windowed subscription, where it is data like any other (AHP core,
// 12.2), and in the one order otherwise.
func (c *Conn) pushToLocked(ch *channel, it item) {
	s := c.subs[ch.uri]
	if s == nil || s.win == nil {
		c.pushLocked(it)
		return
	}
	if !c.out.pushWindowed(s.win, it) {
		c.overrun()
	}
}

// send queues a message of jsonrpc behind everything so far.
func (c *Conn) send(msg []byte) error {
	if !c.out.push(item{msg: msg, seq: 0}) {
		c.overrun()
		return context.Cause(c.ctx)
	}
	return nil
}

func (c *Conn) sendUrgent(msg []byte) error {
	if !c.out.pushUrgent(msg) {
		c.overrun()
		return context.Cause(c.ctx)
	}
	return nil
}

// fail ends the connection. Only the first cause counts.
func (c *Conn) fail(cause CloseCause, err error) {
	c.cancel(&closedError{cause: cause, err: err})
}

// failAfterFlush ends the connection when what it was sent so far has left, at
// the latest after Limits.ShutdownFlush. From now on nothing is read from it.
func (c *Conn) failAfterFlush(cause CloseCause, err error) {
	c.deaf.Store(true)
	if !c.flushed.CompareAndSwap(nil, &closedError{cause: cause, err: err}) {
		return
	}
	limit := time.AfterFunc(c.h.limits.ShutdownFlush, func() {
		c.h.LimitReached(limitFlush)
		c.fail(cause, err)
	})
	context.AfterFunc(c.ctx, func() { limit.Stop() })
	c.out.signal()
}

// leave ends every subscription and tells the features.
func (c *Conn) leave() {
	h := c.h
	h.seq.mu.Lock()
	var gone []ahp.URI
	if c.lineage != nil && c.lineage.conn == c {
		c.lineage.windows = windowsOf(c.subs)
	}
	for uri, s := range c.subs {
		s.ch.removeSubscriberLocked(s)
		gone = append(gone, uri)
	}
	clear(c.subs)
	slices.Sort(gone)
	h.lineages.lostLocked(c, time.Now())
	h.seq.mu.Unlock()
	c.endStreams()
	if !c.live.Load() {
		return
	}
	for _, uri := range gone {
		h.tellUnsubscribed(c, uri)
	}
	h.tell("", func(hooks *Hooks) {
		if hooks.Lost != nil {
			hooks.Lost(c)
		}
	})
}
