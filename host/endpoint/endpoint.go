package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Limits of a request before it has become a connection.
const (
	// HeaderTimeout bounds the reading of a request's header.
	HeaderTimeout = 10 * time.Second
	// IdleTimeout bounds the wait for the next request on a kept connection.
	IdleTimeout = 60 * time.Second
	// MaxHeaderBytes bounds a request's header.
	MaxHeaderBytes = 64 << 10
	// lingerTimeout is how long plain requests may take to end at shutdown.
	lingerTimeout = time.Second
)

// Options say who may come in. The zero value lets in native clients of this
// machine without any token.
type Options struct {
	// Tokens returns the tokens that are valid now. It is called for each
	// request, concurrently. Nil: tokens are off.
	Tokens func() []Token
	// AllowOrigins are further origins of web pages, such as
	// https://example.com.
	AllowOrigins []string
	// AllowHosts are further names of the endpoint, with a port if only that
	// one is meant.
	AllowHosts []string
	// WebSocket are the limits of a connection.
	WebSocket websocket.Options
	// Wrap, if set, is put around each connection, such as a log of what is
	// sent.
	Wrap func(transport.Conn, host.Principal) transport.Conn
	// Checks are looked at for /healthz, beside the host.
	Checks []Check
	// Profiles serves /debug/pprof/ to the owner, on this machine.
	Profiles bool
	// Log receives refusals. Nil: discarded.
	Log *slog.Logger
}

// Endpoint serves the connections of one host. Its methods may be called
// concurrently.
type Endpoint struct {
	host     *host.Host
	access   access
	options  websocket.Options
	wrap     func(transport.Conn, host.Principal) transport.Conn
	log      *slog.Logger
	metrics  http.Handler
	health   health
	profiles bool
	server   *http.Server
	refused  *prometheus.CounterVec
	ctx      context.Context // of the connections
	closing  atomic.Bool

	// mu makes sure that no connection is added once Shutdown waits.
	mu      sync.Mutex
	waiting bool
	conns   sync.WaitGroup
}

var _ http.Handler = (*Endpoint)(nil)

// New makes an endpoint. When ctx ends, so do its connections, at once. The
// error says which option makes no sense.
func New(ctx context.Context, h *host.Host, o Options) (*Endpoint, error) {
	a, err := newAccess(o)
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	e := &Endpoint{host: h, access: a, options: o.WebSocket, wrap: o.Wrap, log: o.Log, ctx: ctx, profiles: o.Profiles}
	e.health = health{e: e, checks: o.Checks, every: healthEvery}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.refused = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "causeway", Name: "refused_total", Help: "Requests refused before they became a connection.",
	}, []string{"reason"})
	for _, reason := range []string{reasonHost, reasonOrigin, reasonToken, reasonCertificate, reasonProfile} {
		e.refused.WithLabelValues(reason)
	}
	if err := h.Metrics().Register(e.refused); err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	e.metrics = promhttp.HandlerFor(h.Metrics(), promhttp.HandlerOpts{})
	e.server = &http.Server{
		Handler: e, ReadHeaderTimeout: HeaderTimeout, IdleTimeout: IdleTimeout, MaxHeaderBytes: MaxHeaderBytes,
		Protocols: http1(), ErrorLog: slog.NewLogLogger(e.log.Handler(), slog.LevelWarn),
	}
	return e, nil
}

// http1 is the only version a WebSocket upgrade exists for here.
func http1() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

// Serve accepts connections from ln until Shutdown, which closes it and makes
// Serve return nil. It may run for several listeners at a time: TCP, TLS on TCP
// and Unix sockets.
func (e *Endpoint) Serve(ln net.Listener) error {
	if err := e.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	}
	return nil
}

// enter counts a connection in; it is false when Shutdown no longer takes any.
func (e *Endpoint) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting {
		return false
	}
	e.conns.Add(1)
	return true
}

func (e *Endpoint) serve(c transport.Conn, p host.Principal) {
	defer e.conns.Done()
	if e.wrap != nil {
		c = e.wrap(c, p)
	}
	// The host logs how a connection ended and counts the cause.
	_ = e.host.Serve(e.ctx, c, p)
}

// Shutdown ends the host and then the endpoint: new connections are answered
// with 503 while those there are flushed and closed, then the listeners close,
// and everything is waited for. When ctx ends first the rest is cut short and
// the error says so.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	e.closing.Store(true)
	err := e.host.Shutdown(ctx)
	e.stopListening(ctx)
	e.mu.Lock()
	e.waiting = true
	e.mu.Unlock()
	e.conns.Wait()
	return err
}

// stopListening closes the listeners. What is left then are connections without
// an upgrade, some of which sent nothing at all: worth a moment, not an error.
func (e *Endpoint) stopListening(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lingerTimeout)
	defer cancel()
	if err := e.server.Shutdown(ctx); err != nil {
		_ = e.server.Close()
	}
}
