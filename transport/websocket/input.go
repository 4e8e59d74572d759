package websocket

import (
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/gobwas/ws"
)

const (
	// parkedBytes is the buffer a connection keeps while it waits, unless it can
	// wait without one. It takes any small message whole; after a read that
	// filled it a pooled buffer takes over until the burst is through.
	parkedBytes = 512
	// directBytes is the piece from which payload is read straight into its
	// message instead of through the buffer.
	directBytes = 8 << 10
	// trustedBytes of an announced length are allocated at once; beyond, a
	// message grows as its bytes come in.
	trustedBytes = 64 << 10
)

// input is the buffered inbound side of a connection. Only the holder of the
// turn to read uses it, except for waiting.
type input struct {
	ready  *readiness // nil: it waits with parked
	parked []byte     // nil: it waits with ready
	buf    []byte     // parked, or a pooled buffer
	r, w   int        // buf[r:w] is received and not yet used
	burst  bool       // the last read filled the buffer
	spare  []byte     // a message that was given back, while bytes keep coming
	pooled bool       // larger ones are given back as well

	// waiting is when the running wait for bytes began, in nanoseconds since
	// the connection's epoch and never 0 then; 0 while nobody waits. The
	// keep-alive reads it.
	waiting atomic.Int64
	// heard counts receives, for the keep-alive.
	heard atomic.Uint64
}

// start makes early the first bytes received from nc.
func (in *input) start(nc net.Conn, early []byte) {
	if in.ready = newReadiness(nc); in.ready == nil {
		in.parked = make([]byte, parkedBytes)
	}
	in.buf = in.parked
	if len(early) > len(in.buf) {
		in.buf = takeBuffer(largeBytes)
	}
	in.w = copy(in.buf, early) // net/http buffers 4 KiB, so it fits
}

// release gives a pooled buffer back; the input is of no use afterwards.
func (in *input) release() {
	if len(in.buf) > len(in.parked) {
		giveBuffer(in.buf)
	}
	in.parked, in.buf, in.spare, in.r, in.w = nil, nil, nil, 0, 0
}

// header reads the next frame header.
func (c *Conn) header() (ws.Header, error) {
	if err := c.need(2); err != nil {
		return ws.Header{}, err
	}
	n := headerSize(c.in.buf[c.in.r+1])
	if err := c.need(n); err != nil {
		return ws.Header{}, err
	}
	b := c.in.buf[c.in.r : c.in.r+n]
	c.in.r += n
	return parseHeader(b)
}

// need buffers until n bytes stand together; n fits the parked buffer.
func (c *Conn) need(n int) error {
	for c.in.w-c.in.r < n {
		if err := c.fill(); err != nil {
			return err
		}
	}
	return nil
}

// fill receives at least one more byte into the buffer.
func (c *Conn) fill() error {
	in := &c.in
	in.makeRoom()
	read := func() (int, error) { return c.nc.Read(in.buf[in.w:]) }
	if len(in.buf) == 0 {
		read = in.await
	}
	n, err := c.receive(read)
	in.w += n
	in.burst = n > 0 && in.w == len(in.buf)
	return err
}

// await reads into a buffer that is taken when there is something to read.
func (in *input) await() (n int, err error) {
	in.buf, n, err = in.ready.read()
	return n, err
}

// makeRoom leaves free space in the buffer, and picks the buffer by what the
// last read brought.
func (in *input) makeRoom() {
	rest := in.buf[in.r:in.w]
	if !in.burst && len(rest) == 0 {
		in.spare = nil // the connection falls idle
	}
	before, pooled := in.buf, len(in.buf) > len(in.parked)
	switch {
	case in.burst && len(in.buf) < largeBytes:
		in.buf = takeBuffer(largeBytes)
	case pooled && !in.burst && len(rest) == 0:
		in.buf = in.parked
	}
	in.r, in.w = 0, copy(in.buf, rest)
	if pooled && len(before) != len(in.buf) {
		giveBuffer(before)
	}
}

// receive reads from the socket, at least one byte or an error.
func (c *Conn) receive(read func() (int, error)) (int, error) {
	// A plain end is an error on a WebSocket, which ends with a close frame.
	for range 100 {
		c.in.waiting.Store(c.now())
		n, err := read()
		c.in.waiting.Store(0)
		switch {
		case n > 0:
			c.in.heard.Add(1)
			return n, nil
		case err == io.EOF:
			return 0, io.ErrUnexpectedEOF
		case err != nil:
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}

// now returns the time since the connection began, never 0.
func (c *Conn) now() int64 { return int64(time.Since(c.epoch)) + 1 }

// buffered returns the next message if it stands in the buffer whole, in one frame
// that is no longer than the 16-bit length: under load nearly every one does. Nil
// leaves everything to the long way.
func (c *Conn) buffered() []byte {
	b := c.in.buf[c.in.r:c.in.w]
	if len(b) < 8 || b[0] != finBit|byte(ws.OpText) || b[1]&maskBit != 0 == c.client {
		return nil
	}
	n, at := int(b[1]&lengthMax), 2
	switch n {
	case 126:
		n, at = int(binary.BigEndian.Uint16(b[2:])), 4
	case 127:
		return nil
	}
	var mask [4]byte
	if !c.client {
		mask, at = [4]byte(b[at:]), at+4
	}
	if n == 0 || n > len(b)-at || n > c.opts.MaxMessageBytes {
		return nil
	}
	msg := append(c.in.memory(n), b[at:at+n]...)
	if !c.client {
		cipher(msg, mask)
	}
	c.in.r += at + n
	return msg
}

// memory returns an empty message with room for n bytes.
func (in *input) memory(n int) []byte {
	if spare := in.reuse(n); spare != nil {
		return spare
	}
	return make([]byte, 0, blocks(n))
}

// payload appends the payload of h to msg, unmasked.
func (c *Conn) payload(msg []byte, h ws.Header) ([]byte, error) {
	left, off := int(h.Length), 0
	if msg == nil && h.Fin {
		if msg = c.in.reuse(left); msg == nil {
			msg = c.in.takeLarge(h.Length)
		}
	}
	for left > 0 {
		msg = grow(msg, left, h.Fin)
		at := len(msg)
		n, err := c.take(msg[at:min(cap(msg), at+left)])
		if err != nil {
			return nil, err
		}
		msg = msg[:at+n]
		if h.Masked {
			ws.Cipher(msg[at:], h.Mask, off)
		}
		left, off = left-n, off+n
	}
	return msg, nil
}

// recycle takes back what a read returned, for a later one.
func (in *input) recycle(spent []byte) {
	switch {
	case cap(spent) == 0:
	case cap(spent) <= largeBytes:
		in.spare = spent[:0]
	case cap(spent) == messageBytes:
		messagePool.Put((*[messageBytes]byte)(spent[:messageBytes]))
	default:
		in.pooled = true // from now on
	}
}

// reuse returns the spare message if one of n bytes fits it, without being lost in
// it: whoever keeps the message keeps its memory.
func (in *input) reuse(n int) []byte {
	spare := in.spare
	if cap(spare) < n || cap(spare) > 2*n+parkedBytes {
		return nil
	}
	in.spare = nil
	return spare
}

// takeLarge returns shared memory for a message of n bytes, nil where messages of
// that size are not given back. It is held whole while the message comes in.
func (in *input) takeLarge(n int64) []byte {
	if !in.pooled || n <= largeBytes || n > messageBytes {
		return nil
	}
	return messagePool.Get().(*[messageBytes]byte)[:0]
}

// grow returns msg with room for at least one of the left bytes to come in a
// frame. Room is made for no more than was received so far or trustedBytes:
// exactly in the last frame, and at least as much as there is before it, lest
// a message in one-byte fragments be copied once for each.
func grow(msg []byte, left int, last bool) []byte {
	if len(msg) < cap(msg) {
		return msg
	}
	room := min(left, max(len(msg), trustedBytes))
	if !last {
		room = max(room, len(msg))
	}
	return append(make([]byte, 0, len(msg)+room), msg...)
}

// take moves up to len(b) bytes to b, at least one.
func (c *Conn) take(b []byte) (int, error) {
	in := &c.in
	if in.r == in.w {
		if len(b) >= directBytes {
			return c.receive(func() (int, error) { return c.nc.Read(b) })
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, in.buf[in.r:in.w])
	in.r += n
	return n, nil
}

// skip passes over n bytes of payload.
func (c *Conn) skip(n int64) error {
	for n > 0 {
		if c.in.r == c.in.w {
			if err := c.fill(); err != nil {
				return err
			}
		}
		k := min(n, int64(c.in.w-c.in.r))
		c.in.r += int(k)
		n -= k
	}
	return nil
}

// discard throws away whatever still comes until the peer stops or the
// deadline passes. Closing a socket that holds unread bytes resets it, and a
// reset can overtake the close frame that names the reason.
func (c *Conn) discard(deadline time.Time) {
	if half, ok := c.socket().(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // so that the peer need not wait for us
	}
	_ = c.nc.SetReadDeadline(deadline)
	buf := takeBuffer(smallBytes)
	defer giveBuffer(buf)
	for {
		if _, err := c.receive(func() (int, error) { return c.nc.Read(buf) }); err != nil {
			return
		}
	}
}
