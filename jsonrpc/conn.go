package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DefaultMaxInFlight is the number of requests handled at once when Options do
// not say (AHP core, 17, 25).
const DefaultMaxInFlight = 256

// Options say what a [Conn] is connected to. Send is required.
type Options struct {
	// Send queues one complete message and owns it from then on. It must not
	// block; it is called by several goroutines, and the order of calls is the
	// order on the wire. An error means that the message will never leave: the
	// peer may then wait for a response for ever, so whoever refuses a message
	// also closes the connection.
	Send func(msg []byte) error
	// Urgent is Send for messages that may overtake others: cancellations of
	// own calls. Nil means Send.
	Urgent func(msg []byte) error
	// Cancel ends the context that NewConn is given, where that is of this connection
	// alone: it then needs none of its own. Nil means that it does.
	Cancel context.CancelCauseFunc
	// Handler receives the peer's requests and notifications. Nil ignores
	// notifications and refuses requests with ErrMethodNotFound.
	Handler Handler
	// MaxInFlight bounds the requests being finished off the reader. At the
	// bound Receive waits. Zero means DefaultMaxInFlight.
	MaxInFlight int
	// OnWait is called on the read loop before Receive waits for that reason. Nil for
	// nobody.
	OnWait func()
	// MapError turns a handler's error that is not an *Error into the one the
	// peer sees. Nil, or a nil result, means ErrInternal with its fixed text.
	// It is called by several goroutines.
	MapError func(error) *Error
	// OnPanic hears of a panic in a handler, with its stack.
	OnPanic func(value any, stack []byte)
}

// Conn is one side of one connection. It matches responses to own calls, hands
// requests and notifications to a [Handler] in order, and carries cancellation
// both ways. It owns neither the carrier nor the queue of outgoing messages.
//
// Methods may be called by many goroutines, except Receive, which belongs to
// the one read loop. The goroutines of a Conn are those that finish requests;
// Close waits for them.
type Conn struct {
	ctx   context.Context // the life of the connection; its cause is why it ended
	opts  Options
	slots chan struct{} // one element for each request being finished off the reader; made for the first
	wg    sync.WaitGroup
	stats counters

	// Only the read loop touches these.
	garbage  *malformedLimiter // nil while nothing was malformed
	received Message           // the last one; zero when Scan refused it
	familiar familiar

	over atomic.Bool // closed is set

	// mu guards what follows. It is held for table operations only.
	mu       sync.Mutex
	closed   error // nil while open
	lastID   uint64
	calls    map[uint64]*Pending // own calls without an answer
	requests map[ID]context.CancelCauseFunc
}

// NewConn returns a Conn whose handlers and calls end with ctx at the latest.
// The owner must call Close even so.
func NewConn(ctx context.Context, opts Options) *Conn {
	if opts.Urgent == nil {
		opts.Urgent = opts.Send
	}
	if opts.Handler == nil {
		opts.Handler = noHandler{}
	}
	if opts.MaxInFlight <= 0 {
		opts.MaxInFlight = DefaultMaxInFlight
	}
	if opts.Cancel == nil {
		ctx, opts.Cancel = context.WithCancelCause(ctx)
	}
	return &Conn{ctx: ctx, opts: opts}
}

// Close fails every pending call with a [ConnectionError] that wraps cause,
// ends the contexts of all handlers with the same error and waits for the
// handlers to return. Requests that are still being finished get no response.
// Later calls of Close wait as well; their cause is ignored. A Reply.Later must
// not call Close, since it would wait for itself.
func (c *Conn) Close(cause error) {
	c.shut(cause)
	c.wg.Wait()
}

// shut is Close without the waiting.
func (c *Conn) shut(cause error) {
	c.mu.Lock()
	if c.closed != nil {
		c.mu.Unlock()
		return
	}
	err := &ConnectionError{Cause: cause}
	calls := c.calls
	c.closed, c.calls = err, nil
	c.over.Store(true)
	c.mu.Unlock()

	c.opts.Cancel(err)
	for _, p := range calls {
		p.settle(nil, err)
	}
}

// closedErr returns the ConnectionError once the Conn has closed.
func (c *Conn) closedErr() error {
	if !c.over.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Receive handles one complete message. The read loop calls it for each one,
// in order. Params and results alias data, so the caller must not use data
// again.
//
// Receive returns nil for whatever the connection survives: a malformed message
// is answered once with an error. It waits while MaxInFlight requests are being
// finished. A handler that itself calls the peer must therefore limit that call
// in time: the answer may stand behind the request Receive waits with.
//
// An error means that the owner should close: [ErrTooManyMalformed],
// [ErrTooComplex], [ErrClosed], or the failure of Send to take a response.
func (c *Conn) Receive(data []byte) error {
	if err := c.closedErr(); err != nil {
		return err
	}
	m := &c.received
	if !c.familiar.recognise(data, m) {
		last := m.Method
		var err error
		if *m, err = Scan(data); err != nil {
			refused := *m
			*m = Message{}
			return c.malformed(refused, err)
		}
		if m.Method == last {
			c.familiar.learn(data, m)
		}
	}
	err := c.handle(m)
	m.Params, m.Result, m.Error = nil, nil, nil // data is not ours any more
	return err
}

func (c *Conn) handle(m *Message) error {
	switch m.Kind {
	case KindResponse:
		c.answered(*m)
		return nil
	case KindRequest:
		return c.request(*m)
	default:
		c.notification(m)
		return nil
	}
}

// Received says what the last message was that Receive was given, for whoever counts
// them: its kind, 0 for one that was malformed, and the method of a request or a
// notification. It belongs to the read loop.
func (c *Conn) Received() (kind Kind, method string) { return c.received.Kind, c.received.Method }

// Notify sends a notification. Params may be anything that marshals, or a
// jsontext.Value to be sent verbatim; nil leaves them out.
func (c *Conn) Notify(method string, params any) error {
	raw, err := marshal(params)
	if err != nil {
		return fmt.Errorf("encode params of %s: %w", method, err)
	}
	if err := c.closedErr(); err != nil {
		return err
	}
	if err := c.send(c.opts.Send, AppendNotification(nil, method, raw)); err != nil {
		return fmt.Errorf("send %s: %w", method, err)
	}
	return nil
}

func (c *Conn) send(queue func([]byte) error, msg []byte) error {
	err := queue(msg)
	if err != nil {
		c.stats.unsent.Add(1)
	}
	return err
}

// respond sends the one response to a request.
func (c *Conn) respond(id ID, result any, err error) error {
	if err == nil {
		var msg []byte
		if msg, err = encodeResult(id, result); err == nil {
			return c.send(c.opts.Send, msg)
		}
	}
	return c.send(c.opts.Send, AppendError(nil, id, c.wireError(err)))
}

// encodeResult marshals into the message itself: results can be large.
func encodeResult(id ID, result any) ([]byte, error) {
	if result == nil {
		return AppendResult(nil, id, nil), nil
	}
	if raw, ok := result.(jsontext.Value); ok {
		return AppendResult(make([]byte, 0, len(raw)+64), id, raw), nil
	}
	msg := bytes.NewBuffer(appendResultHead(nil, id))
	if err := json.MarshalWrite(msg, result, marshalOptions); err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	msg.WriteByte('}')
	return msg.Bytes(), nil
}

// wireError decides what the peer learns of an error.
func (c *Conn) wireError(err error) *Error {
	var wire *Error
	if errors.As(err, &wire) {
		if wire == nil {
			return ErrInternal // a nil *Error that became an error by accident
		}
		return wire
	}
	if c.opts.MapError != nil {
		if wire = c.opts.MapError(err); wire != nil {
			return wire
		}
	}
	return ErrInternal
}
