package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
	"github.com/go-json-experiment/json/jsontext"
)

// Options of a client. The zero value is ready for use.
type Options struct {
	// ClientID identifies the client to the host, which echoes it in the origin
	// of actions. It must not be used by two running clients at once. Empty: a
	// random one.
	ClientID string
	// Info tells the host what program this is. It informs and changes nothing.
	Info *ahp.Implementation
	// Versions are the protocol versions offered, most preferred first. Nil:
	// those this package knows.
	Versions []string
	// Capabilities and Locale go to the host as they are.
	Capabilities *ahp.ClientCapabilities
	Locale       string

	// Dialer opens the sockets of Dial; network is "tcp" or "unix". It is
	// called for every attempt, with the name as it stands in the URL, so that
	// a changed address is found. Nil: a net.Dialer.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS is used by Dial for wss URLs.
	TLS *tls.Config
	// Header is added to the upgrade request of Dial.
	Header http.Header
	// WebSocket are the limits of the connections Dial makes, the keep-alive
	// among them: a silent host is noticed after PingInterval + PongTimeout.
	WebSocket websocket.Options

	// BackoffMin is the pause before the first attempt to reconnect, BackoffMax
	// the longest one; between them it doubles. Half of each pause is random.
	// Zero: 200 ms and 30 s.
	BackoffMin, BackoffMax time.Duration
	// HealthyAfter is how long a connection must have lived for the pauses to
	// begin anew. Zero: 10 s.
	HealthyAfter time.Duration
	// HandshakeTimeout bounds initialize and reconnect. Zero: 30 s.
	HandshakeTimeout time.Duration

	// MaxMessageBytes bounds what is sent; a longer message fails for its
	// caller and costs nobody else anything. Zero: 16 MiB, which hosts accept
	// (AHP core, 17, 20).
	MaxMessageBytes int
	// MaxPending bounds the actions that wait for the host. Zero: 4096.
	MaxPending int

	// HandleRequest answers requests of the host. It runs on a goroutine of its
	// own, which Close waits for; ctx ends with the connection. An *ahp.Error is
	// answered as it is. Nil: every request is refused as unknown.
	HandleRequest func(ctx context.Context, method string, params jsontext.Value) (any, error)

	// Token is asked for a bearer token when the host wants one: with auth/required, or
	// as the answer to CreateSession and CreateChat. It runs on a goroutine of the client,
	// once at a time for each resource, or on the caller's, and may take its time, as when
	// somebody has to sign in; ctx ends with the client or with the caller's. What it
	// returns is pushed as by [Client.Authenticate]. After the reason "expired" it must
	// not return the token it gave before. Nil: nobody is asked, and OnNotification may
	// still listen.
	Token func(ctx context.Context, want ahp.AuthRequiredParams) (Credential, error)

	// Services bound what waits for the services of this client.
	Services ServiceOptions

	// Log never receives payloads. Nil: discarded.
	Log *slog.Logger
}

// DialFunc opens a connection to the host. It is called for every attempt, one
// at a time. An error marked with [Permanent] ends the attempts.
type DialFunc func(ctx context.Context) (transport.Conn, error)

// maxQueue bounds the requests and notifications that wait to be written, in
// messages and in bytes. Actions have a bound of their own.
const (
	maxQueueMessages = 8192
	maxQueueBytes    = 64 << 20
)

// maxEarlyMessages bounds the envelopes kept for a channel whose snapshot is
// still on its way. Over it the connection is given up and made anew.
const maxEarlyMessages = 1 << 16

func (o Options) withDefaults() Options {
	o.ClientID = cmp.Or(o.ClientID, newID())
	if o.Versions == nil {
		o.Versions = []string{ahp.Current.String(), "1.0.0"}
	}
	o.BackoffMin = cmp.Or(o.BackoffMin, 200*time.Millisecond)
	o.BackoffMax = max(cmp.Or(o.BackoffMax, 30*time.Second), o.BackoffMin)
	o.HealthyAfter = cmp.Or(o.HealthyAfter, 10*time.Second)
	o.HandshakeTimeout = cmp.Or(o.HandshakeTimeout, 30*time.Second)
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, 16<<20)
	o.MaxPending = cmp.Or(o.MaxPending, 4096)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
