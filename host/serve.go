package host

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
)

// Serve runs a connection until it ends and returns why. It owns t and closes
// it. Who the peer is was established by the carrier.
func (h *Host) Serve(ctx context.Context, t transport.Conn, p Principal) error {
	c, err := h.open(ctx, t, p)
	if err != nil {
		_ = t.Close(CloseShutdown.code(), string(CloseShutdown))
		return err
	}
	c.begin()
	c.readLoop()
	return c.finish()
}

// begin starts what runs beside the reader.
func (c *Conn) begin() {
	c.handshake = time.AfterFunc(c.h.limits.HandshakeTimeout, func() {
		if !c.live.Load() {
			c.h.LimitReached(limitHandshake)
			c.fail(CloseHandshake, nil)
		}
	})
	c.out.start = c.startWriter
	c.startWriter()
}

// handshakeOver ends the wait for the handshake. It runs on the reader.
func (c *Conn) handshakeOver() {
	if c.handshake != nil {
		c.handshake.Stop()
		c.handshake = nil
	}
}

// finish waits for it and takes the connection out of the host.
func (c *Conn) finish() error {
	defer c.h.forgetConn(c)
	c.loops.wait()
	c.unwatch()
	c.handshakeOver()
	return c.ended()
}

// open registers a new connection.
func (h *Host) open(ctx context.Context, t transport.Conn, p Principal) (*Conn, error) {
	c := &Conn{h: h, t: t, principal: p, subs: make(map[ahp.URI]*subscription)}
	c.ctx, c.cancelCtx = context.WithCancelCause(context.WithoutCancel(ctx))
	c.out = newOutbox(h, c.relayOverrun)
	c.rpc = jsonrpc.NewConn(c.ctx, jsonrpc.Options{
		Send: c.send, Urgent: c.sendUrgent, Cancel: c.cancelCtx, Handler: (*handler)(c),
		MaxInFlight: h.limits.RequestsInFlight, OnWait: c.waits, MapError: c.mapError, OnPanic: c.panicked,
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		c.rpc.Close(CloseShutdown) // which ends the context
		return nil, CloseShutdown
	}
	c.loops.enter() // closeCarrier will
	c.unwatch = context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })
	h.lastConn++
	c.id = h.lastConn
	h.conns[c] = struct{}{}
	return c, nil
}

func (h *Host) forgetConn(c *Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
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
	c.endCounts()
	c.leave()
	c.out.close()
	c.h.cuts.leave(c)
	var closed *closedError
	if errors.As(cause, &closed) {
		c.h.metrics.closes.WithLabelValues(string(closed.cause)).Inc()
	}
	c.logEnd(cause)
	return cause
}

func (c *Conn) readLoop() {
	r := transport.Reader(c.t)
	for {
		data, err := r.ReadOver(c.takeSpent())
		if !c.take(data, err) {
			return
		}
	}
}

// take handles what was read; it is false when the connection is over.
func (c *Conn) take(data []byte, err error) bool {
	if err != nil {
		c.fail(causeOf(err), err)
		return false
	}
	if c.ctx.Err() != nil {
		return false
	}
	c.reading = data
	size := len(data)
	if c.deaf.Load() {
		c.received.Add(c.h.traffic.in, c.h.traffic.inOther, 1, size)
		c.h.metrics.dropped.WithLabelValues("ending").Inc()
		return true
	}
	if err := c.rpc.Receive(data); err != nil {
		c.failAfterFlush(c.h.refused(err), err) // the answer says what was wrong
	}
	c.countReceived(size)
	return true
}

// takeSpent returns the message that was read last if nothing of it is kept.
func (c *Conn) takeSpent() (spent []byte) {
	if c.spent {
		spent = c.reading
	}
	c.reading, c.spent = nil, false
	return spent
}

// cancel ends the context of the connection, and then the carrier. Only the first cause
// counts. It waits for nothing, and may be called with any lock.
func (c *Conn) cancel(cause error) {
	c.cancelCtx(cause)
	if c.closing.CompareAndSwap(false, true) {
		go c.closeCarrier()
	}
}

// closeCarrier closes the carrier when the connection is over, which wakes the
// reader and the writer.
func (c *Conn) closeCarrier() {
	defer c.loops.leave()
	cause := CloseShutdown
	var closed *closedError
	if errors.As(context.Cause(c.ctx), &closed) {
		cause = closed.cause
	}
	_ = c.t.Close(cause.code(), string(cause))
}

// startWriter starts a writer. It ends when there is nothing to write, so that a
// quiet connection has none; whoever has something then starts another.
func (c *Conn) startWriter() {
	if !c.loops.enter() {
		return // the connection is over
	}
	go func() {
		defer c.loops.leave()
		runtime.Gosched() // what can add to the batch does so first
		s := writerScratch.Get().(*scratch)
		c.writeLoop(s)
		s.clear()
		writerScratch.Put(s)
	}()
}

// scratch is what a writer needs while it writes.
type scratch struct {
	out   []outgoing
	batch [][]byte
}

var writerScratch = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) clear() {
	clear(s.out)
	clear(s.batch)
	s.out, s.batch = s.out[:0], s.batch[:0]
}

// writeLoop writes whatever is due, and ends when nothing is.
func (c *Conn) writeLoop(s *scratch) {
	for c.ctx.Err() == nil {
		s.clear()
		var waitFor, waitTurns uint64
		s.out, waitFor = c.out.take(s.out, c.h.limits.BatchBytes)
		s.batch = c.materialize(s.batch, s.out)
		s.batch, waitTurns = c.takeTurns(s.batch, c.h.limits.BatchBytes-size(s.batch))
		if len(s.out) == 0 && len(s.batch) == 0 {
			c.frames.release()
			if !c.waitForWork(sooner(waitFor, waitTurns)) {
				return
			}
			continue
		}
		err := c.write(s.batch)
		c.frames.release()
		for i := range s.out {
			if s.out[i].done != nil {
				s.out[i].done()
			}
		}
		if err != nil {
			c.fail(causeOf(err), err)
			return
		}
	}
}

func (c *Conn) write(batch [][]byte) error {
	if len(batch) == 0 {
		return nil
	}
	if err := c.t.Write(batch); err != nil {
		return err
	}
	c.countSent(batch)
	c.observeEchoes()
	return nil
}

// size is how many bytes the batch has.
func size(batch [][]byte) (bytes int) {
	for _, msg := range batch {
		bytes += len(msg)
	}
	return bytes
}

// waitForWork waits for the journal when the next message needs the number
// waitFor. It is false when there is nothing to wait for, when the connection is
// over, or was to end now that everything has left.
func (c *Conn) waitForWork(waitFor uint64) bool {
	if end := c.flushed.Load(); end != nil && waitFor == 0 && c.out.empty() {
		c.cancel(end)
		return false
	}
	if waitFor == 0 {
		return !c.out.rest()
	}
	select {
	case <-c.out.wake:
		return true
	case <-c.h.commits.moving(waitFor):
		return true
	case <-c.ctx.Done():
		return false
	}
}

// materialize encodes what was taken from the outbox. What the principal may not
// know of is left out here, since a log is shared by all its readers.
func (c *Conn) materialize(batch [][]byte, out []outgoing) [][]byte {
	for i := range out {
		if msg := c.encode(&out[i]); msg != nil {
			batch = append(batch, msg)
		}
	}
	return batch
}

// encode returns the message, nil when there is none for this principal.
func (c *Conn) encode(out *outgoing) []byte {
	c.noteEcho(out)
	switch {
	case out.entry != nil:
		if about := out.entry.about; about == "" || c.h.policy.Allow(c.principal, OpSee, about) {
			return c.wireFor(out.entry)
		}
		return nil
	case out.render != nil:
		return out.render()
	}
	return out.msg
}
