package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/slab"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
)

// link is one connection of a client, from the handshake to its end.
type link struct {
	c      *Client
	t      transport.Conn
	rpc    *jsonrpc.Conn
	ctx    context.Context // its cause is why the connection ended
	cancel context.CancelCauseFunc

	// Only the reader touches these.
	handshake *handshake // nil once it is done
	early     []jsonrpc.Message
	liveAt    time.Time
	reading   []byte // the message that is being handled
	spent     bool   // nothing refers to it any more
	heard     heard

	// Set before the connection is live.
	services  *ahp.ClientServiceLimits // nil: the host offers no client services
	callSlots chan struct{}            // holds a token for each call in flight

	// The client's lock guards these.
	queue      []outgoing
	queueBytes int
	dropped    bool                // the queue takes nothing any more
	unsent     map[string]struct{} // ids of requests that never left
	wake       chan struct{}       // holds a token when there may be something to write
	room       broadcast           // there is room in the queue again
	served     services
	echoTimer  *time.Timer // nil unless armed
	windowed

	slab slab.Slab // of those in queue that are lent
	lent int       // bytes of it that the writer has
}

// outgoing is a message that waits to be written. An action carries its
// dispatch, so that what was written can be told from what was not.
type outgoing struct {
	msg      []byte
	dispatch *Dispatch
	lent     bool // msg stands in the slab
}

func newLink(c *Client, t transport.Conn) *link {
	l := &link{
		c: c, t: t, wake: make(chan struct{}, 1),
		unsent: make(map[string]struct{}),
	}
	l.ctx, l.cancel = context.WithCancelCause(c.ctx)
	l.rpc = jsonrpc.NewConn(l.ctx, jsonrpc.Options{
		Send: l.send, Urgent: l.withdraw, Handler: (*handler)(l),
		MaxInFlight: jsonrpc.DefaultMaxInFlight + maxServiceCalls, // calls have bounds of their own
	})
	return l
}

// serve runs the connection to its end and returns why.
func (l *link) serve() error {
	var loops sync.WaitGroup
	loops.Go(l.writeLoop)
	loops.Go(l.closeLoop)
	timeout := time.AfterFunc(l.c.opts.HandshakeTimeout, func() {
		if !l.isLive() {
			l.cancel(errHandshakeTimeout)
		}
	})
	defer timeout.Stop()
	l.cancel(l.readLoop())
	loops.Wait()
	cause := context.Cause(l.ctx)
	l.rpc.Close(cause)
	if l.handshake != nil {
		l.c.unanswered(l.handshake, cause)
	}
	return cause
}

var errHandshakeTimeout = errors.New("the host did not answer the handshake in time")

func (l *link) isLive() bool {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.c.link == l
}

// readLoop reads until the connection ends. The handshake is settled here, on
// the reader, so that nothing that follows its answer overtakes it.
func (l *link) readLoop() error {
	if err := l.greet(); err != nil {
		return err
	}
	r := transport.Reader(l.t)
	for {
		data, err := r.ReadOver(l.takeSpent())
		if err != nil {
			return l.readError(err)
		}
		l.reading = data
		if err := l.rpc.Receive(data); err != nil {
			return err
		}
		if l.handshake != nil {
			if err := l.shake(); err != nil {
				return err
			}
		}
	}
}

// takeSpent returns the message that was read last if nothing refers to it any
// more.
func (l *link) takeSpent() (spent []byte) {
	if l.spent {
		spent = l.reading
	}
	l.reading, l.spent = nil, false
	return spent
}

// readError decides what a broken connection means. A handshake whose answer is
// above this side's limit, although it names no channel, would be so again.
func (l *link) readError(err error) error {
	var closed *transport.CloseError
	if h := l.handshake; h != nil && !h.names && errors.Is(err, transport.ErrTooLarge) && errors.As(err, &closed) && !closed.Remote {
		return Permanent(fmt.Errorf("the host's state is above the message limit of this client: %w", err))
	}
	return err
}

// closeLoop makes the end of the connection known and then closes the carrier,
// which wakes the reader and the writer.
func (l *link) closeLoop() {
	<-l.ctx.Done()
	l.c.mu.Lock()
	l.dropLocked()
	if l.c.link == l {
		l.c.link = nil
		l.c.live.Store(nil)
		l.c.unlinkLocked(context.Cause(l.ctx))
		if l.c.ctx.Err() == nil {
			l.c.lostLocked(context.Cause(l.ctx))
		}
	}
	subs := l.subs
	l.subs = nil
	l.c.mu.Unlock()
	loseTCP(subs, context.Cause(l.ctx))
	_ = l.t.Close(transport.CodeNormal, "")
}

// dropLocked forgets what waits to be written: from here on nothing leaves.
func (l *link) dropLocked() {
	if l.dropped {
		return
	}
	l.dropped = true
	for _, o := range l.queue {
		if id, ok := requestID(o.msg); ok {
			l.unsent[id] = struct{}{}
			l.c.stats.Unsent++
		}
	}
	l.queue, l.queueBytes = nil, 0
	l.slab.Drop()
	l.lent = 0
	l.held, l.cut, l.urgent = nil, nil, nil
	if l.echoTimer != nil {
		l.echoTimer.Stop()
	}
}

// requestID is the id of an encoded request, as text.
func requestID(msg []byte) (string, bool) {
	id, ok := jsonrpc.Member(msg, "id")
	if !ok {
		return "", false
	}
	_, request := jsonrpc.Member(msg, "method")
	return string(id), request
}

// writeLoop writes what is queued, many messages at a time.
func (l *link) writeLoop() {
	var batch [][]byte
	for {
		batch = l.take(batch[:0])
		if len(batch) == 0 {
			select {
			case <-l.wake:
				runtime.Gosched() // who can add to the batch does so first
				continue
			case <-l.ctx.Done():
				return
			}
		}
		err := l.t.Write(batch)
		clear(batch)
		l.written()
		if err != nil {
			l.cancel(err)
			return
		}
	}
}

// maxBatchBytes is about how much one write takes.
const maxBatchBytes = 256 << 10

// take moves messages from the queue to the batch. What is taken counts as
// written, whatever becomes of it (AHP core, 7).
func (l *link) take(batch [][]byte) [][]byte {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.ctx.Err() != nil {
		l.dropLocked()
		return batch
	}
	l.slab.Free(l.lent) // what was taken before has been written
	l.lent = 0
	batch = l.takeControlLocked(batch)
	n, size := 0, 0
	for n < len(l.queue) && size < maxBatchBytes {
		o := l.queue[n]
		n++
		l.queueBytes -= len(o.msg)
		if o.dispatch != nil {
			if l.holdsLocked(o) || !o.dispatch.writeLocked() {
				continue // it waits for its window, or was given up meanwhile
			}
			l.expectEchoLocked(echoPatience)
		}
		if o.lent {
			l.lent += len(o.msg)
		}
		size += len(o.msg)
		batch = append(batch, o.msg)
	}
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	l.room.signal()
	return l.takeTurnsLocked(batch)
}

func (l *link) pushLocked(o outgoing) {
	l.queue = append(l.queue, o)
	l.queueBytes += len(o.msg)
	l.wakeLocked()
}

func (l *link) wakeLocked() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// send queues a request, a notification or a response of jsonrpc.
func (l *link) send(msg []byte) error {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.sendLocked(msg)
}

func (l *link) sendLocked(msg []byte) error {
	if err := l.takesLocked(len(msg)); err != nil {
		return err
	}
	if l.isFullLocked(len(msg)) {
		l.c.stats.QueueOverflows++
		return fmt.Errorf("%w: %d messages wait to be written", ErrOverloaded, len(l.queue))
	}
	l.pushLocked(outgoing{msg: msg})
	return nil
}

// takesLocked is why a message of n bytes can never be sent, whatever room there is.
func (l *link) takesLocked(n int) error {
	switch {
	case n > l.c.opts.MaxMessageBytes:
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, n, l.c.opts.MaxMessageBytes)
	case l.dropped || l.ctx.Err() != nil:
		return &LostError{Method: "send", Cause: context.Cause(l.ctx)}
	}
	return nil
}

// isFullLocked reports whether the queue has no room for a message of n bytes.
func (l *link) isFullLocked(n int) bool {
	return len(l.queue) >= maxQueueMessages || l.queueBytes+n > maxQueueBytes
}

// withdraw takes a request that still waits out of the queue; if it has left, the
// host is told to cancel it.
func (l *link) withdraw(cancel []byte) error {
	params, _ := jsonrpc.Member(cancel, "params")
	id, _ := jsonrpc.Member(params, "id")
	l.c.mu.Lock()
	for i, o := range l.queue {
		if waiting, ok := requestID(o.msg); ok && o.dispatch == nil && waiting == string(id) {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			l.queueBytes -= len(o.msg)
			l.c.mu.Unlock()
			return nil
		}
	}
	l.c.mu.Unlock()
	return l.send(bytes.Clone(cancel))
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

// handler gives link the methods jsonrpc calls, without exporting them.
type handler link

// HandleNotification implements jsonrpc.Handler. It runs on the reader.
func (x *handler) HandleNotification(_ context.Context, m *jsonrpc.Message) {
	l := (*link)(x)
	if l.handshake != nil {
		// Nothing should come before the answer. What does is kept until then.
		if len(l.early) < maxEarlyMessages {
			l.early = append(l.early, *m)
		}
		return
	}
	if !l.hearWindowed(m) {
		l.notified(m)
		l.spent = m.Method == ahp.MethodClientServiceNotification
	}
}

// notified handles one notification of the host. It runs on the reader.
func (l *link) notified(m *jsonrpc.Message) {
	if m.Method == ahp.MethodClientServiceNotification {
		l.serviceNotified(m)
		return
	}
	l.c.notified(m)
}

// HandleRequest implements jsonrpc.Handler.
func (x *handler) HandleRequest(_ context.Context, m jsonrpc.Message) jsonrpc.Reply {
	if m.Method == ahp.MethodClientServiceHandle {
		return (*link)(x).serviceCalled(m.Params)
	}
	handle := x.c.opts.HandleRequest
	if handle == nil {
		return jsonrpc.Reply{Err: jsonrpc.ErrMethodNotFound}
	}
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) { return handle(ctx, m.Method, m.Params) }}
}

// notified handles one notification of the host.
func (c *Client) notified(m *jsonrpc.Message) {
	if m.Method == ahp.MethodAction {
		in, err := readEnvelope(m.Params)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil {
			c.stats.Malformed++
			return
		}
		c.receiveLocked(in, false)
		return
	}
	c.hear(m.Method, m.Params)
}

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
