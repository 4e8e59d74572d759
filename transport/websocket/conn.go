package websocket

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/transport"
)

// Conn is one end of a WebSocket connection, from Upgrade or Dial. It
// implements transport.Conn.
type Conn struct {
	nc     net.Conn
	opts   Options
	client bool // masks what it sends; the peer does not
	epoch  time.Time

	wtok    chan struct{} // a send takes the token, a receive gives it back
	reading turn

	// Owned by the holder of wtok.
	sealed bool // a close frame was sent or a frame was cut: nothing may follow

	// Owned by whose turn it is to read.
	in   input
	over bool // the inbound stream is at its end

	// Shared.
	cause    atomic.Pointer[error] // the first cause of the end
	ended    latch                 // closed once cause is set
	dropped  sync.WaitGroup        // until the socket is closed
	released sync.Once             // nothing of the connection runs any more
	pong     atomic.Pointer[pongFrame]
	keep     keepalive
	running  sync.WaitGroup // keep-alive and pong writers
	stats    counters
}

var (
	_ transport.Conn     = (*Conn)(nil)
	_ transport.Recycler = (*Conn)(nil)
)

// newConn takes over nc, on which the upgrade is done and early holds what the
// peer already sent behind it.
func newConn(nc net.Conn, early []byte, client bool, o Options) *Conn {
	c := &Conn{
		nc:     nc,
		opts:   o.withDefaults(client),
		client: client,
		epoch:  time.Now(),
		wtok:   make(chan struct{}, 1),
	}
	c.dropped.Add(1)
	c.in.start(nc, early)
	c.startKeepalive()
	return c
}

// Kind returns transport.KindWebSocket.
func (c *Conn) Kind() transport.Kind { return transport.KindWebSocket }

// RemoteAddr returns the address of the peer's socket; it is short on meaning
// for Unix sockets, whose clients have no name.
func (c *Conn) RemoteAddr() string {
	a := c.nc.RemoteAddr()
	if a == nil {
		return ""
	}
	if s := a.String(); s != "" && s != "@" {
		return s
	}
	return a.Network()
}

// Stats returns the counters of the connection so far.
func (c *Conn) Stats() Stats {
	return Stats{
		PingsReceived:  c.stats.pingsReceived.Load(),
		PongsCoalesced: c.stats.pongsCoalesced.Load(),
		PingsSent:      c.stats.pingsSent.Load(),
	}
}

// Stats counts control frames of one connection.
type Stats struct {
	// PingsReceived counts the peer's pings.
	PingsReceived uint64
	// PongsCoalesced counts pings answered only through the pong to a later
	// one (RFC 6455, 5.5.3), which is what bounds a flood of them.
	PongsCoalesced uint64
	// PingsSent counts keep-alive pings.
	PingsSent uint64
}

type counters struct {
	pingsReceived, pongsCoalesced, pingsSent atomic.Uint64
}

// end records why the connection is over, unless that is known already. The
// caller that gets true must drop the connection, whatever it does before.
func (c *Conn) end(cause error) bool {
	if !c.cause.CompareAndSwap(nil, &cause) {
		return false
	}
	c.ended.close()
	return true
}

// drop closes the socket, which unblocks every call on it. Only the one who
// won end may call it, once.
func (c *Conn) drop() {
	_ = c.socket().Close() // the cause is known; a second error adds nothing
	c.dropped.Done()
}

// socket returns what is below TLS. Its close frames already tell a WebSocket
// that nothing was cut off, while tls.Conn could wait five seconds to say so to
// a peer that does not read.
func (c *Conn) socket() net.Conn {
	if t, ok := c.nc.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return c.nc
}

// failed returns the first cause, nil while the connection is alive.
func (c *Conn) failed() error {
	if p := c.cause.Load(); p != nil {
		return *p
	}
	return nil
}
