package websocket

import (
	"cmp"
	"time"
)

// Defaults, used where an option is zero.
const (
	// DefaultHostMaxMessageBytes bounds a message a host reads (AHP core, 18
	// "Message limits").
	DefaultHostMaxMessageBytes = 16 << 20
	// DefaultClientMaxMessageBytes bounds a message a client reads: snapshots
	// are larger than anything a client sends.
	DefaultClientMaxMessageBytes = 256 << 20
	// DefaultWriteTimeout bounds one system write.
	DefaultWriteTimeout = 30 * time.Second
	// DefaultHostPingInterval is the silence after which a host pings.
	DefaultHostPingInterval = 30 * time.Second
	// DefaultClientPingInterval is shorter, since a client has a person waiting.
	DefaultClientPingInterval = 20 * time.Second
	// DefaultUpgradeTimeout bounds writing the upgrade response on a host, and
	// connecting, TLS and upgrade together on a client.
	DefaultUpgradeTimeout = 10 * time.Second
)

// closeTimeout bounds each wait of a close: for the write token and the peer's
// close frame together, and for a refused peer to stop sending.
const closeTimeout = time.Second

// Options are the limits of one connection. The zero value gives the defaults.
type Options struct {
	// MaxMessageBytes bounds an incoming message; a longer one closes the
	// connection with 1009 as soon as a frame header announces it.
	MaxMessageBytes int
	// WriteTimeout bounds each system write. A batch up to 64 KiB is one
	// system write; longer ones are written in pieces of at most 1 MiB, so
	// that a slow link that makes progress may carry a large message.
	// Negative: none.
	WriteTimeout time.Duration
	// PingInterval is how long the peer may be silent before it is pinged.
	// Negative: no keep-alive.
	PingInterval time.Duration
	// PongTimeout is how long the silence may last after a ping. Any byte
	// counts as life. Zero: the same as PingInterval.
	PongTimeout time.Duration
}

func (o Options) withDefaults(client bool) Options {
	maxBytes, ping := DefaultHostMaxMessageBytes, DefaultHostPingInterval
	if client {
		maxBytes, ping = DefaultClientMaxMessageBytes, DefaultClientPingInterval
	}
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, maxBytes)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, DefaultWriteTimeout)
	o.PingInterval = cmp.Or(o.PingInterval, ping)
	o.PongTimeout = cmp.Or(o.PongTimeout, o.PingInterval)
	return o
}
