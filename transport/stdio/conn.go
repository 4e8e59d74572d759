package stdio

import (
	"bufio"
	"cmp"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/transport"
)

// Defaults, used where an option is zero.
const (
	// DefaultMaxMessageBytes bounds a line (AHP core, 18 "Message limits").
	DefaultMaxMessageBytes = 16 << 20
	// DefaultWriteTimeout bounds one write of up to 64 KiB.
	DefaultWriteTimeout = 30 * time.Second
)

// closeTimeout is how long Close waits for a running Write.
const closeTimeout = time.Second

const bufferBytes = 64 << 10

// Options are the limits of one connection. The zero value gives the defaults.
type Options struct {
	// MaxMessageBytes bounds an incoming message, without its line end. A
	// longer one ends the connection with transport.ErrTooLarge.
	MaxMessageBytes int
	// WriteTimeout bounds each write to the stream, of at most 64 KiB. When it
	// passes the connection is over and the writer is closed. Negative: none.
	WriteTimeout time.Duration
	// Peer is what RemoteAddr returns. Empty: "stdio".
	Peer string
}

// Conn is one end of a connection over two streams. It implements
// transport.Conn.
type Conn struct {
	r    io.Reader
	w    io.Writer
	opts Options

	// Owned by the reader.
	in *bufio.Reader

	// wtok is the right to write: a send takes it, a receive gives it back.
	wtok chan struct{}
	// Owned by the holder of wtok.
	buf      []byte
	watchdog *time.Timer

	// Shared.
	cause   atomic.Pointer[error] // the first cause of the end
	ended   chan struct{}         // closed once cause is set
	dropped chan struct{}         // closed once the streams are closed
	running sync.WaitGroup        // watchdogs that may still fire
}

var _ transport.Conn = (*Conn)(nil)

// New returns a connection that reads lines from r and writes lines to w. If
// they are io.Closers the connection closes them at its end; to keep a stream
// open, pass it without its Close.
func New(r io.Reader, w io.Writer, o Options) *Conn {
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, DefaultMaxMessageBytes)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, DefaultWriteTimeout)
	o.Peer = cmp.Or(o.Peer, "stdio")
	return &Conn{
		r:       r,
		w:       w,
		opts:    o,
		in:      bufio.NewReaderSize(r, bufferBytes),
		wtok:    make(chan struct{}, 1),
		ended:   make(chan struct{}),
		dropped: make(chan struct{}),
	}
}

// Kind returns transport.KindStdio.
func (c *Conn) Kind() transport.Kind { return transport.KindStdio }

// RemoteAddr returns Options.Peer.
func (c *Conn) RemoteAddr() string { return c.opts.Peer }

// end records why the connection is over, unless that is known already. The
// caller that gets true must drop the connection.
func (c *Conn) end(cause error) bool {
	if !c.cause.CompareAndSwap(nil, &cause) {
		return false
	}
	close(c.ended)
	return true
}

// drop closes both streams, the outgoing one first: the peer may be waiting
// for our end before it ends.
func (c *Conn) drop() {
	for _, s := range []any{c.w, c.r} {
		if closer, ok := s.(io.Closer); ok {
			_ = closer.Close() // the cause is known; a second error adds nothing
		}
	}
	close(c.dropped)
}

// failed returns the first cause, nil while the connection is alive.
func (c *Conn) failed() error {
	if p := c.cause.Load(); p != nil {
		return *p
	}
	return nil
}

// fail ends the connection with err and returns the first cause.
func (c *Conn) fail(err error) error {
	if c.end(err) {
		c.drop()
	}
	return c.failed()
}

// Close implements transport.Conn. It lets a running Write finish for up to a
// second, so that no line is cut, and closes both streams.
func (c *Conn) Close(code transport.Code, reason string) error {
	first := c.end(&transport.CloseError{Code: code, Reason: reason})
	idle := c.awaitWriter()
	if first {
		c.drop()
	}
	<-c.dropped
	// With its stream closed a writer returns at once, if it can be woken at all.
	if idle || c.awaitWriter() {
		c.running.Wait()
	}
	return nil
}

// awaitWriter reports whether no Write is running, after a bounded wait. None
// can begin once the connection has ended.
func (c *Conn) awaitWriter() bool {
	t := time.NewTimer(closeTimeout)
	defer t.Stop()
	select {
	case c.wtok <- struct{}{}:
		<-c.wtok
		return true
	case <-t.C:
		return false
	}
}
