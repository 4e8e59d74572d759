package simnet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Conn is one end of a stream. It is a net.Conn with the half-close and the
// abortive close of TCP. All methods may be called from several goroutines.
type Conn struct {
	net           *Network
	local, remote Addr
	peer          *Conn
	in, out       *pipe

	// Guarded by net.mu.
	readable, writable           *sync.Cond
	readDeadline, writeDeadline  deadline
	closed, writeClosed, writing bool
	broken                       bool // reset by the peer or by a cut
	abort                        bool // Close resets
}

var _ net.Conn = (*Conn)(nil)

// newPairLocked makes a connection: the dialling end and the accepting end.
func (k *Link) newPairLocked() (near, far *Conn) {
	k.ordinal++
	local := Addr(k.net.ephemeralLocked(k.key.from))
	near = newConn(k.net, local, Addr(k.key.addr))
	far = newConn(k.net, near.remote, near.local)
	near.peer, far.peer = far, near
	up := &pipe{link: k, dir: Up, src: near, dst: far, rng: k.net.rng(k.key, k.ordinal, Up)}
	down := &pipe{link: k, dir: Down, src: far, dst: near, rng: k.net.rng(k.key, k.ordinal, Down)}
	near.out, near.in = up, down
	far.out, far.in = down, up
	k.open = append(k.open, near)
	return near, far
}

func newConn(n *Network, local, remote Addr) *Conn {
	c := &Conn{net: n, local: local, remote: remote}
	c.readable, c.writable = sync.NewCond(&n.mu), sync.NewCond(&n.mu)
	c.readDeadline.cond, c.writeDeadline.cond = c.readable, c.writable
	return c
}

// lock takes the network's mutex and lets arrive what is due, so that a call
// never races with a timer of the same instant.
func (c *Conn) lock() *sync.Mutex {
	c.net.mu.Lock()
	c.in.deliverLocked()
	c.out.deliverLocked()
	return &c.net.mu
}

// Read returns bytes that have arrived, waiting for the first. It ends with
// io.EOF when the peer closed in order and with syscall.ECONNRESET when the
// connection broke; either comes after all bytes that arrived.
func (c *Conn) Read(b []byte) (int, error) {
	defer c.lock().Unlock()
	for {
		switch {
		case c.closed:
			return 0, c.opError("read", net.ErrClosed)
		case c.readDeadline.passed():
			return 0, c.opError("read", os.ErrDeadlineExceeded)
		case len(b) == 0:
			return 0, nil
		case len(c.in.inbox) > 0:
			return c.in.takeLocked(b), nil
		case c.in.eof:
			return 0, io.EOF
		case c.broken:
			return 0, c.opError("read", os.NewSyscallError("read", syscall.ECONNRESET))
		}
		c.readable.Wait()
	}
}

// Write sends b, waiting while the buffer is full. Two calls never mix their
// bytes. The count is what was accepted, which is not what arrived.
func (c *Conn) Write(b []byte) (int, error) {
	defer c.lock().Unlock()
	for c.writing {
		if err := c.writeErrorLocked(); err != nil {
			return 0, err
		}
		c.writable.Wait()
	}
	c.writing = true
	defer c.doneWritingLocked()
	return c.writeAllLocked(b)
}

func (c *Conn) doneWritingLocked() {
	c.writing = false
	c.writable.Broadcast()
}

func (c *Conn) writeAllLocked(b []byte) (sent int, err error) {
	for {
		if err := c.writeErrorLocked(); err != nil {
			return sent, err
		}
		n := c.out.acceptLocked(b[sent:])
		if sent += n; sent == len(b) {
			return sent, nil
		}
		if n == 0 {
			c.out.stats().FullBuffer++
			c.writable.Wait()
		}
	}
}

func (c *Conn) writeErrorLocked() error {
	switch {
	case c.closed:
		return c.opError("write", net.ErrClosed)
	case c.writeDeadline.passed():
		return c.opError("write", os.ErrDeadlineExceeded)
	case c.writeClosed, c.broken && c.in.eof:
		return c.opError("write", os.NewSyscallError("write", syscall.EPIPE))
	case c.broken:
		return c.opError("write", os.NewSyscallError("write", syscall.ECONNRESET))
	}
	return nil
}

// CloseWrite tells the peer that no more comes. Reading goes on.
func (c *Conn) CloseWrite() error {
	defer c.lock().Unlock()
	if c.closed {
		return c.opError("close", net.ErrClosed)
	}
	c.finishLocked(segmentFin)
	return nil
}

// finishLocked ends the outgoing direction once, behind what was written.
func (c *Conn) finishLocked(end segmentKind) {
	if c.broken || c.writeClosed && end == segmentFin {
		return
	}
	c.writeClosed = true
	c.out.sendLocked(segment{kind: end})
	c.writable.Broadcast()
}

// SetLinger changes Close as it does on a net.TCPConn: with 0 the peer gets a
// reset behind the data instead of end of file. Other values restore the usual.
func (c *Conn) SetLinger(seconds int) error {
	defer c.lock().Unlock()
	if c.closed {
		return c.opError("set", net.ErrClosed)
	}
	c.abort = seconds == 0
	return nil
}

// Close ends both directions and releases pending calls with net.ErrClosed. It
// does not wait. Data already written still arrives, and end of file after it;
// a reset instead when data has arrived that nobody read.
func (c *Conn) Close() error {
	defer c.lock().Unlock()
	if c.closed {
		return c.opError("close", net.ErrClosed)
	}
	c.closeLocked()
	return nil
}

func (c *Conn) closeLocked() {
	end := segmentFin
	if c.abort || len(c.in.inbox) > 0 {
		end = segmentRst
	}
	c.closed = true
	c.readDeadline.stop()
	c.writeDeadline.stop()
	c.finishLocked(end)
	c.in.dropInboxLocked()
	c.wakeLocked()
	if c.peer.closed { // nobody is left to whom anything could arrive
		c.in.dropWireLocked()
		c.out.dropWireLocked()
		c.forgetLocked()
	}
}

// breakLocked is what a reset or a cut does to this end: nothing arrives and
// nothing leaves any more.
func (c *Conn) breakLocked() {
	c.broken = true
	c.in.dropWireLocked()
	c.out.dropWireLocked()
	c.wakeLocked()
	c.forgetLocked()
}

func (c *Conn) wakeLocked() {
	c.readable.Broadcast()
	c.writable.Broadcast()
}

// forgetLocked takes the connection off its link.
func (c *Conn) forgetLocked() {
	k := c.out.link
	k.open = without(without(k.open, c), c.peer)
}

// LocalAddr returns this end's [Addr].
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the other end's [Addr].
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

func (c *Conn) opError(op string, err error) error { return opError(op, c.remote, err) }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	return c.setDeadlines(t, &c.readDeadline, &c.writeDeadline)
}

// SetReadDeadline makes pending and later reads fail with
// os.ErrDeadlineExceeded from t on; the zero time lifts it.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, &c.readDeadline) }

// SetWriteDeadline is SetReadDeadline for writes. A Write it ends has sent the
// bytes it counts.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, &c.writeDeadline) }

func (c *Conn) setDeadlines(t time.Time, ds ...*deadline) error {
	defer c.lock().Unlock()
	if c.closed {
		return c.opError("set", net.ErrClosed)
	}
	for _, d := range ds {
		d.setLocked(t)
	}
	return nil
}
