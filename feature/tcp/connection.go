package tcp

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/go-json-experiment/json/jsontext"
)

// Socket is a connection to a destination. A net.TCPConn is one.
type Socket interface {
	net.Conn
	CloseWrite() error
	SetLinger(seconds int) error
}

// end is why a connection is over. It is the name of a counter.
type end string

const (
	endClean        end = "clean"        // both directions ended
	endDestination  end = "destination"  // the destination failed or was reset
	endClient       end = "client"       // the client reset it, or left before the end
	endInvalid      end = "invalid"      // the client sent what it must not
	endLost         end = "lost"         // the client's connection ended
	endUnsubscribed end = "unsubscribed" // nobody subscribed in time
	endDrain        end = "drain"        // the destination took too long to read the rest
	endStopped      end = "stopped"      // the host ends
	endFailed       end = "failed"       // it was never open
	endDenied       end = "denied"       // its principal may not reach the destination any more
)

// connection joins a private channel and a socket. Each direction has a queue: the
// reader of the socket fills one for the writer of the client's connection, and
// the reader of that fills the other for writeLoop, which exists only while there
// is something to write.
type connection struct {
	f      *Feature
	uri    ahp.URI
	who    *seat
	to     target
	text   dataText // the writer of the client's connection uses it, and its reader
	stream *host.Stream
	room   chan struct{} // a token: readLoop may look for room again

	// mu guards what follows. No other lock is taken inside.
	mu         sync.Mutex
	sock       Socket // nil until it is open
	cancel     func() // ends the opening, nil when nothing is being opened
	over       bool   // the socket is closed, or will be once it is open
	why        end
	subscribed bool
	left       bool      // the client has unsubscribed or is gone
	draining   bool      // and only the rest is to be written
	taken      time.Time // then: when the destination took the last piece
	retired    bool
	timer      *time.Timer

	// Towards the client.
	out     []*chunk
	reading bool // readLoop fills the last chunk
	filling bool // Fill reads the first
	outEnd  bool // the destination sends no more
	outDone bool // and the client was told

	// Towards the destination.
	in      []*chunk
	writing bool  // writeLoop lives
	inEnd   bool  // the client sends no more
	endSize int64 // of the message that said so
	inDone  bool  // and the destination was told
}

var _ host.Endpoint = (*connection)(nil)

func newConnection(f *Feature, uri ahp.URI, who *seat, to target) *connection {
	return &connection{f: f, uri: uri, who: who, to: to, text: newDataText(uri), room: make(chan struct{}, 1)}
}

// opening notes how to give up the opening. It is false when that is wanted
// already.
func (c *connection) opening(cancel func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = cancel
	return !c.over
}

// opened gives the connection its socket. Until the client subscribes nothing is
// read from it, and for no longer than a limit. It is false when the channel has
// ended in the meantime.
func (c *connection) opened(sock Socket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.sock, c.cancel = sock, nil
	c.timer = time.AfterFunc(c.f.limits.Unsubscribed, func() { c.drop(endUnsubscribed) })
	return true
}

// allowed reports whether the principal may reach where the connection leads. One that
// leads nowhere yet is asked again when it does.
func (c *connection) allowed() bool {
	c.mu.Lock()
	sock := c.sock
	c.mu.Unlock()
	if sock == nil {
		return true
	}
	addr, err := netip.ParseAddrPort(sock.RemoteAddr().String())
	return err == nil && c.f.access.Destinations(c.who.principal).allow(c.to.name, addr.Addr(), addr.Port())
}

// Subscribe implements host.Endpoint. For the client the channel exists once its
// creation was answered.
func (c *connection) Subscribe() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.sock == nil {
		return ahp.ErrNotFound
	}
	c.subscribed = true
	c.timer.Stop()
	c.f.running.Go(c.readLoop)
	return nil
}

// Receive implements host.Endpoint.
func (c *connection) Receive(method string, params jsontext.Value, size int64) {
	switch method {
	case ahp.MethodTCPData:
		c.receiveData(params, size)
	case ahp.MethodTCPEOF:
		c.receiveEnd(size)
	case ahp.MethodTCPReset:
		c.abort(endClient, false)
	default: // counted, and of no meaning here
		c.stream.Release(size)
	}
}

// Violated implements host.Endpoint.
func (c *connection) Violated(err error) {
	c.f.log.Debug("a client broke a rule of windowed delivery", "channel", c.uri, "err", err)
	c.mu.Lock()
	early := !c.subscribed
	c.mu.Unlock()
	if early {
		c.drop(endInvalid)
		return
	}
	c.abort(endInvalid, true)
}

// Unsubscribed implements host.Endpoint. Data the client sent before it has been
// received before it, so its place is kept.
func (c *connection) Unsubscribed() {
	c.mu.Lock()
	c.left = true
	clean := c.outDone && c.inEnd && !c.over
	if clean && !c.inDone {
		_ = c.sock.SetWriteDeadline(time.Unix(1, 0)) // the writer goes on in pieces
		c.draining, c.taken = true, time.Now()
		last := c.taken.Add(maxDrains * c.f.limits.FinalDrain)
		c.timer = time.AfterFunc(c.f.limits.FinalDrain, func() { c.drainCheck(last) })
	}
	over := c.over
	c.mu.Unlock()
	switch {
	case over:
		c.retire()
	case clean:
		c.settle()
	default:
		c.abort(endClient, false)
	}
}

// maxDrains is how many times Limits.FinalDrain a destination has that goes on taking
// what is left.
const maxDrains = 30

// drainCheck ends the connection when the destination has taken nothing for the limit,
// or has not taken everything by the last moment. Otherwise it looks again later.
func (c *connection) drainCheck(last time.Time) {
	c.mu.Lock()
	wait := min(time.Until(c.taken.Add(c.f.limits.FinalDrain)), time.Until(last))
	if !c.over && wait > 0 {
		c.timer.Reset(wait)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	c.abort(endDrain, false)
}

// Lost implements host.Endpoint.
func (c *connection) Lost() { c.drop(endLost) }

// drop ends the connection and its channel, of which the client knows already or
// cannot be told.
func (c *connection) drop(why end) {
	c.mu.Lock()
	c.left = true
	over := c.over
	c.mu.Unlock()
	if over {
		c.retire()
		return
	}
	c.abort(why, false)
}

// abort ends both directions at once: what waits is dropped, the destination is
// reset, and the client too if it is to be told. Only the first end counts.
func (c *connection) abort(why end, tell bool) {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	sock := c.endLocked(why)
	c.discardLocked()
	left, cancel := c.left, c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	if sock != nil {
		_ = sock.SetLinger(0) // so that it cannot be taken for a clean end
		_ = sock.Close()
	}
	c.free()
	switch {
	case left:
		c.retire()
	case tell:
		c.stream.End(ahp.MethodTCPReset)
	}
}

// settle closes the socket once both directions have ended and everything was
// written.
func (c *connection) settle() {
	c.mu.Lock()
	if c.over || !c.inDone || !c.outDone {
		c.mu.Unlock()
		return
	}
	sock := c.endLocked(endClean)
	left := c.left
	c.mu.Unlock()
	_ = sock.Close() // both ways have ended already
	c.free()
	if left {
		c.retire()
	}
}

// endLocked notes the end and returns the socket to close.
func (c *connection) endLocked(why end) Socket {
	c.over, c.why = true, why
	if c.timer != nil {
		c.timer.Stop()
	}
	c.f.count.ended.WithLabelValues(string(why)).Inc()
	return c.sock
}

// discardLocked drops what waits. A chunk somebody still reads from or into is left
// to the garbage collector: in the pool it could become another connection's.
func (c *connection) discardLocked() {
	for i, ch := range c.out {
		if i == 0 && c.filling || i == len(c.out)-1 && c.reading {
			continue
		}
		giveChunk(ch)
	}
	for _, ch := range c.in {
		giveChunk(ch)
	}
	c.out, c.in = nil, nil
}

// free lets readLoop look again.
func (c *connection) free() {
	select {
	case c.room <- struct{}{}:
	default:
	}
}

// retire frees the URI and the place in the client's count: the socket is closed
// and the client has left.
func (c *connection) retire() {
	c.mu.Lock()
	again := c.retired
	c.retired = true
	c.mu.Unlock()
	if again {
		return
	}
	c.stream.Close()
	c.f.leave(c)
}

// failed ends a connection whose socket failed. What the system said stays here.
func (c *connection) failed(err error) {
	if errors.Is(err, net.ErrClosed) {
		return // by ourselves
	}
	c.f.log.Debug("tcp connection failed", slog.String("channel", c.uri), "err", err)
	c.abort(endDestination, true)
}
