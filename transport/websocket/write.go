package websocket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/gobwas/ws"
)

const (
	// gatherBytes is the size from which an unmasked message is handed to the
	// system as it is, next to the buffer, instead of being copied into it.
	gatherBytes = 32 << 10
	// pieceBytes is the most that one system write, and so one write timeout,
	// is given.
	pieceBytes = 1 << 20
)

// Write implements transport.Conn. A batch of up to 64 KiB leaves in one
// system write. Concurrent calls take turns, batch by batch.
func (c *Conn) Write(batch [][]byte) error {
	if err := c.lockWrite(); err != nil {
		return err
	}
	defer c.unlockWrite()
	return c.writeBatch(batch)
}

func (c *Conn) tryLockWrite() bool {
	select {
	case c.wtok <- struct{}{}:
		return true
	default:
		return false
	}
}

func (c *Conn) lockWrite() error {
	if !c.tryLockWrite() {
		select {
		case c.wtok <- struct{}{}:
		case <-c.ended.done():
			return c.failed()
		}
	}
	if err := c.failed(); err != nil {
		<-c.wtok
		return err
	}
	return nil
}

// unlockWrite gives the token back. A pong left meanwhile by a reader that
// found the token taken is written first, also when it is left in the moment
// between the last look and the giving back.
func (c *Conn) unlockWrite() {
	for {
		if c.pong.Load() != nil && c.failed() == nil {
			_ = c.writeBatch(nil)
		}
		<-c.wtok
		if c.pong.Load() == nil || c.failed() != nil || !c.tryLockWrite() {
			return
		}
	}
}

// writeBatch writes the batch, and a waiting pong as soon as it may stand. The
// caller holds the token.
func (c *Conn) writeBatch(batch [][]byte) error {
	if c.sealed {
		return c.failed()
	}
	o := output{c: c, buf: takeBuffer(batchBytes(batch))[:0]}
	err := o.batch(batch)
	giveBuffer(o.buf)
	if err != nil {
		return c.writeFailed(err)
	}
	return nil
}

// batchBytes bounds what the batch and a pong take on the wire.
func batchBytes(batch [][]byte) int {
	n := ws.MaxHeaderSize + ws.MaxControlFramePayloadSize
	for _, m := range batch {
		n += ws.MaxHeaderSize + len(m)
	}
	return n
}

// writeFailed ends the connection after err and returns the first cause.
func (c *Conn) writeFailed(err error) error {
	c.sealed = true
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: %w", transport.ErrWriteTimeout, err)
	} else {
		c.awaitVerdict()
	}
	if c.end(fmt.Errorf("websocket: write: %w", err)) {
		c.drop()
	}
	return c.failed()
}

// awaitVerdict gives the reader a moment to find the close frame that explains
// why the peer stopped reading: "broken pipe" would hide it.
func (c *Conn) awaitVerdict() {
	t := time.NewTimer(closeTimeout)
	defer t.Stop()
	select {
	case <-c.ended.done():
	case <-t.C:
	}
}

// output gathers frames in a pooled buffer. It lives as long as one batch.
type output struct {
	c   *Conn
	buf []byte
}

func (o *output) batch(batch [][]byte) error {
	if err := o.pong(); err != nil {
		return err
	}
	for _, m := range batch {
		if err := o.message(m); err != nil {
			return err
		}
		if err := o.pong(); err != nil {
			return err
		}
	}
	return o.flush()
}

// pong adds the waiting pong, if any.
func (o *output) pong() error {
	if o.c.pong.Load() == nil {
		return nil
	}
	p := o.c.pong.Swap(nil) // only the holder of the token empties the mailbox
	return o.frame(ws.OpPong, p.data[:p.n])
}

func (o *output) message(m []byte) error {
	if o.c.client || len(m) < gatherBytes {
		return o.frame(ws.OpText, m)
	}
	if err := o.room(ws.MaxHeaderSize); err != nil {
		return err
	}
	o.buf = appendHeader(o.buf, ws.OpText, len(m), nil)
	return o.gather(m)
}

// frame copies a frame into the buffer, masked on a client, and writes the
// buffer whenever it is full.
func (o *output) frame(op ws.OpCode, p []byte) error {
	if err := o.room(ws.MaxHeaderSize); err != nil {
		return err
	}
	if !o.c.client {
		o.buf = appendHeader(o.buf, op, len(p), nil)
		return o.copy(p, nil)
	}
	mask := newMask()
	o.buf = appendHeader(o.buf, op, len(p), &mask)
	return o.copy(p, &mask)
}

func (o *output) copy(p []byte, mask *[4]byte) error {
	for off := 0; off < len(p); {
		if err := o.room(1); err != nil {
			return err
		}
		at := len(o.buf)
		n := min(len(p)-off, cap(o.buf)-at)
		o.buf = append(o.buf, p[off:off+n]...)
		switch {
		case mask == nil:
		case off == 0:
			cipher(o.buf[at:], *mask) // what it does behind the end is written over
		default:
			ws.Cipher(o.buf[at:], *mask, off)
		}
		off += n
	}
	return nil
}

// room makes sure that n more bytes fit the buffer.
func (o *output) room(n int) error {
	if cap(o.buf)-len(o.buf) >= n {
		return nil
	}
	return o.flush()
}

// flush writes what is buffered.
func (o *output) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	o.c.armWrite()
	_, err := o.c.nc.Write(o.buf)
	o.buf = o.buf[:0]
	return err
}

// gather writes the buffer and then p in pieces, the first piece together with
// the buffer (one writev on TCP and Unix sockets).
func (o *output) gather(p []byte) error {
	first := p[:min(len(p), pieceBytes)]
	bufs := net.Buffers{o.buf, first}
	o.c.armWrite()
	_, err := bufs.WriteTo(o.c.nc)
	o.buf = o.buf[:0]
	for p = p[len(first):]; len(p) > 0 && err == nil; {
		piece := p[:min(len(p), pieceBytes)]
		p = p[len(piece):]
		o.c.armWrite()
		_, err = o.c.nc.Write(piece)
	}
	return err
}

// armWrite starts the write timeout anew.
func (c *Conn) armWrite() {
	if d := c.opts.WriteTimeout; d > 0 {
		_ = c.nc.SetWriteDeadline(time.Now().Add(d)) // fails only on a closed socket
	}
}
