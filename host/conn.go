package host

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/go-json-experiment/json/jsontext"
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

	ctx    context.Context
	cancel context.CancelCauseFunc
	// flushed closes the connection when its outbox has drained.
	flushed atomic.Pointer[closedError]

	// Only the reader touches these.
	refused bool // a reconnect was refused: initialize may follow

	// The sequencer's lock guards these; the reader, which alone writes
	// lineage, also reads it without.
	lineage *lineage
	subs    map[ahp.URI]*subscription
	invalid bool // a newer connection of the lineage took over

	live atomic.Bool // the handshake is complete
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
func (c *Conn) Notify(method string, params any) error { return c.rpc.Notify(method, params) }

func (c *Conn) actor() Actor { return Actor{Principal: c.principal, ClientID: c.lineage.clientID} }

func (c *Conn) origin(clientSeq uint64) journal.Origin {
	return journal.Origin{ClientID: c.lineage.clientID, ClientSeq: clientSeq, Lineage: c.lineage.id}
}

func (c *Conn) invalidLocked() bool { return c.invalid }

func (c *Conn) subscribedLocked(ch *channel) bool {
	s := c.subs[ch.uri]
	return s != nil && s.ch == ch
}

// pushLocked queues an item; a connection over its bound is closed.
func (c *Conn) pushLocked(it item) {
	if !c.out.push(it) {
		c.fail(CloseOverflow, nil)
	}
}

// send queues a message of jsonrpc behind everything so far.
func (c *Conn) send(msg []byte) error {
	if !c.out.push(item{msg: msg, seq: 0}) {
		c.fail(CloseOverflow, nil)
		return context.Cause(c.ctx)
	}
	return nil
}

func (c *Conn) sendUrgent(msg []byte) error {
	if !c.out.pushUrgent(msg) {
		c.fail(CloseOverflow, nil)
		return context.Cause(c.ctx)
	}
	return nil
}

// fail ends the connection. Only the first cause counts.
func (c *Conn) fail(cause CloseCause, err error) {
	c.cancel(&closedError{cause: cause, err: err})
}

// failAfterFlush ends the connection when what it was sent has left.
func (c *Conn) failAfterFlush(cause CloseCause) {
	c.flushed.CompareAndSwap(nil, &closedError{cause: cause})
	c.out.signal()
}

// Serve runs a connection until it ends and returns why. It owns t and closes
// it. Who the peer is was established by the carrier.
func (h *Host) Serve(ctx context.Context, t transport.Conn, p Principal) error {
	c, err := h.open(ctx, t, p)
	if err != nil {
		_ = t.Close(CloseShutdown.code(), string(CloseShutdown))
		return err
	}
	defer h.forgetConn(c)
	handshake := time.AfterFunc(h.limits.HandshakeTimeout, func() {
		if !c.live.Load() {
			c.fail(CloseHandshake, nil)
		}
	})
	defer handshake.Stop()

	var loops sync.WaitGroup
	loops.Go(c.writeLoop)
	loops.Go(c.closeLoop)
	c.readLoop()
	loops.Wait()
	return c.ended()
}

// open registers a new connection.
func (h *Host) open(ctx context.Context, t transport.Conn, p Principal) (*Conn, error) {
	c := &Conn{h: h, t: t, principal: p, subs: make(map[ahp.URI]*subscription)}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.out = newOutbox(h)
	c.rpc = jsonrpc.NewConn(c.ctx, jsonrpc.Options{
		Send: c.send, Urgent: c.sendUrgent, Handler: (*handler)(c),
		MaxInFlight: h.limits.RequestsInFlight, MapError: h.mapError, OnPanic: h.panicked,
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		c.fail(CloseShutdown, nil)
		return nil, CloseShutdown
	}
	h.lastConn++
	c.id = h.lastConn
	h.conns[c] = struct{}{}
	h.metrics.connections.Set(float64(len(h.conns)))
	return c, nil
}

func (h *Host) forgetConn(c *Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
	h.metrics.connections.Set(float64(len(h.conns)))
	if len(h.conns) == 0 {
		h.idleSince = time.Now()
		if h.drained != nil {
			close(h.drained)
			h.drained = nil
		}
	}
}

// ended takes the connection out of everything and reports why it is over.
func (c *Conn) ended() error {
	cause := context.Cause(c.ctx)
	c.rpc.Close(cause)
	c.leave()
	c.out.close()
	var closed *closedError
	if errors.As(cause, &closed) {
		c.h.metrics.closes.WithLabelValues(string(closed.cause)).Inc()
	}
	c.h.log.Debug("connection ended", "conn", c.id, "client", c.ClientID(), "cause", cause)
	return cause
}

func (c *Conn) readLoop() {
	for {
		data, err := c.t.Read()
		if err != nil {
			c.fail(causeOf(err), err)
			return
		}
		c.h.metrics.received(len(data))
		if err := c.rpc.Receive(data); err != nil {
			c.fail(CloseMalformed, err)
			return
		}
	}
}

// closeLoop closes the carrier when the connection is over, which wakes the
// reader and the writer.
func (c *Conn) closeLoop() {
	<-c.ctx.Done()
	cause := CloseShutdown
	var closed *closedError
	if errors.As(context.Cause(c.ctx), &closed) {
		cause = closed.cause
	}
	_ = c.t.Close(cause.code(), string(cause))
}

func (c *Conn) writeLoop() {
	var out []outgoing
	var batch [][]byte
	for c.ctx.Err() == nil {
		out = c.out.take(out[:0], c.h.limits.BatchBytes)
		if len(out) == 0 {
			if !c.waitForWork() {
				return
			}
			continue
		}
		batch = materialize(batch[:0], out)
		err := c.t.Write(batch)
		c.h.metrics.sent(batch)
		for i := range out {
			if out[i].done != nil {
				out[i].done()
			}
		}
		clear(out)
		clear(batch)
		if err != nil {
			c.fail(causeOf(err), err)
			return
		}
	}
}

// waitForWork waits for something to send; it is false when the connection is
// over or was to end now that everything has left.
func (c *Conn) waitForWork() bool {
	if end := c.flushed.Load(); end != nil && c.out.empty() {
		c.cancel(end)
		return false
	}
	select {
	case <-c.out.wake:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// materialize encodes what was taken from the outbox.
func materialize(batch [][]byte, out []outgoing) [][]byte {
	for i := range out {
		msg := out[i].msg
		switch {
		case out[i].entry != nil:
			msg = out[i].entry.wire()
		case out[i].render != nil:
			msg = out[i].render()
		}
		if msg != nil {
			batch = append(batch, msg)
		}
	}
	return batch
}

// leave ends every subscription and tells the features.
func (c *Conn) leave() {
	h := c.h
	h.seq.mu.Lock()
	var gone []ahp.URI
	for uri, s := range c.subs {
		s.ch.removeSubscriberLocked(s)
		gone = append(gone, uri)
	}
	clear(c.subs)
	if c.lineage != nil {
		c.lineage.lostLocked(c, time.Now())
	}
	h.seq.mu.Unlock()
	if !c.live.Load() {
		return
	}
	for _, hooks := range h.registry.hooks {
		if hooks.Unsubscribed != nil {
			for _, uri := range gone {
				hooks.Unsubscribed(c, uri)
			}
		}
		if hooks.Lost != nil {
			hooks.Lost(c)
		}
	}
}

// handler gives Conn the methods jsonrpc calls, without exporting them.
type handler Conn

// HandleNotification implements jsonrpc.Handler.
func (x *handler) HandleNotification(_ context.Context, m jsonrpc.Message) {
	c := (*Conn)(x)
	if !c.live.Load() {
		c.h.metrics.dropped.WithLabelValues("before_handshake").Inc()
		return
	}
	switch m.Method {
	case ahp.MethodDispatchAction:
		c.h.dispatch(c, m.Params)
	case ahp.MethodUnsubscribe:
		c.unsubscribe(m.Params)
	default: // an unknown notification is ignored
		c.h.metrics.dropped.WithLabelValues("unknown_notification").Inc()
	}
}

// HandleRequest implements jsonrpc.Handler.
func (x *handler) HandleRequest(ctx context.Context, m jsonrpc.Message) jsonrpc.Reply {
	c := (*Conn)(x)
	switch m.Method {
	case ahp.MethodPing:
		return jsonrpc.Reply{}
	case ahp.MethodInitialize:
		return c.initialize(m)
	case ahp.MethodReconnect:
		return c.reconnect(m)
	}
	if !c.live.Load() {
		return jsonrpc.Reply{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s before initialize", m.Method)}
	}
	if m.Method == ahp.MethodSubscribe {
		return c.subscribe(m)
	}
	handle := c.h.registry.requests[m.Method]
	if handle == nil {
		return jsonrpc.Reply{Err: jsonrpc.ErrMethodNotFound}
	}
	channel, err := channelOf(m.Params)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	return handle(ctx, &Request{Conn: c, Method: m.Method, Channel: channel, Params: m.Params})
}

// channelOf reads params.channel, which every request carries.
func channelOf(params jsontext.Value) (ahp.URI, error) {
	raw, _ := jsonrpc.Member(params, "channel")
	channel, ok := jsonrpc.StringValue(raw)
	if !ok {
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params.channel must be a string")
	}
	return normalRoot(channel), nil
}

// normalRoot undoes a spelling of the root channel that one client library
// makes of it (AHP core, 3).
func normalRoot(u ahp.URI) ahp.URI {
	if u == "ahp-root:" {
		return ahp.RootURI
	}
	return u
}
