package memory

import (
	"bytes"
	"cmp"
	"fmt"
	"sync/atomic"
	"unicode/utf8"

	"github.com/causeway-ahp/causeway/transport"
)

// Defaults, used where an option is zero.
const (
	// DefaultMaxMessageBytes bounds a message (AHP core, 18 "Message limits").
	DefaultMaxMessageBytes = 16 << 20
	// DefaultQueueMessages bounds one direction in messages.
	DefaultQueueMessages = 256
	// DefaultQueueBytes bounds one direction in bytes.
	DefaultQueueBytes = 1 << 20
)

// Options are the limits of a pair. The zero value gives the defaults.
type Options struct {
	// MaxMessageBytes bounds a message. A longer one ends the connection: the
	// reader refuses it with 1009 and transport.ErrTooLarge.
	MaxMessageBytes int
	// QueueMessages is how many messages wait in one direction before Write
	// does.
	QueueMessages int
	// QueueBytes is the same in bytes. A message above it waits until the
	// queue is empty and then passes alone.
	QueueBytes int
}

// Conn is one end of a pair. It implements transport.Conn.
type Conn struct {
	name    string
	opts    Options
	in, out *queue
	peer    *Conn

	cause atomic.Pointer[error] // the first cause of the end
	ended chan struct{}         // closed once cause is set
}

var _ transport.Conn = (*Conn)(nil)

// Pair returns the two ends of a connection. What one writes the other reads.
func Pair(o Options) (a, b *Conn) {
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, DefaultMaxMessageBytes)
	o.QueueMessages = cmp.Or(o.QueueMessages, DefaultQueueMessages)
	o.QueueBytes = cmp.Or(o.QueueBytes, DefaultQueueBytes)
	ab, ba := newQueue(o), newQueue(o)
	a = &Conn{name: "a", opts: o, in: ba, out: ab, ended: make(chan struct{})}
	b = &Conn{name: "b", opts: o, in: ab, out: ba, ended: make(chan struct{})}
	a.peer, b.peer = b, a
	return a, b
}

// Kind returns transport.KindMemory.
func (c *Conn) Kind() transport.Kind { return transport.KindMemory }

// RemoteAddr names the other end.
func (c *Conn) RemoteAddr() string { return "memory-" + c.peer.name }

// Read implements transport.Conn.
func (c *Conn) Read() ([]byte, error) {
	for {
		if err := c.failed(); err != nil {
			return nil, err
		}
		m, ok, end := c.in.pop()
		if ok {
			return m, nil
		}
		if end != nil {
			c.end(end)
			return nil, c.failed()
		}
		select {
		case <-c.in.ready:
		case <-c.ended:
		}
	}
}

// Write implements transport.Conn. It waits while the other end has too much
// to read already.
func (c *Conn) Write(batch [][]byte) error {
	for _, m := range batch {
		if err := c.refused(m); err != nil {
			return err
		}
		if err := c.push(bytes.Clone(m)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) push(m []byte) error {
	for {
		if err := c.failed(); err != nil {
			return err
		}
		pushed, err := c.out.push(m)
		if pushed || err != nil {
			return err
		}
		select {
		case <-c.out.room:
		case <-c.ended:
		}
	}
}

// refused ends both ends if m is something the reading one does not take.
func (c *Conn) refused(m []byte) error {
	var code transport.Code
	var err error
	switch {
	case len(m) > c.opts.MaxMessageBytes:
		code = transport.CodeTooBig
		err = fmt.Errorf("%w: the limit is %d bytes", transport.ErrTooLarge, c.opts.MaxMessageBytes)
	case !utf8.Valid(m):
		code, err = transport.CodeInvalidUTF8, transport.ErrInvalidUTF8
	default:
		return nil
	}
	if c.end(&transport.CloseError{Code: code, Reason: err.Error(), Remote: true}) {
		refusal := &transport.CloseError{Code: code, Reason: err.Error(), Err: err}
		c.out.finish(refusal)
		c.in.abandon(refusal)
	}
	return c.failed()
}

// Close implements transport.Conn. What the other end wrote and this one has
// not read is dropped.
func (c *Conn) Close(code transport.Code, reason string) error {
	if c.end(&transport.CloseError{Code: code, Reason: reason}) {
		remote := &transport.CloseError{Code: code, Reason: reason, Remote: true}
		c.out.finish(remote)
		c.in.abandon(remote)
	}
	return nil
}

// end records why the connection is over, unless that is known already.
func (c *Conn) end(cause error) bool {
	if !c.cause.CompareAndSwap(nil, &cause) {
		return false
	}
	close(c.ended)
	return true
}

// failed returns the first cause, nil while this end is alive.
func (c *Conn) failed() error {
	if p := c.cause.Load(); p != nil {
		return *p
	}
	return nil
}
