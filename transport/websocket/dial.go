package websocket

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/gobwas/ws"
)

// ErrScheme means that a URL is none of ws, wss and ws+unix.
var ErrScheme = errors.New("unsupported scheme")

// HandshakeError means that the host answered the upgrade request with
// something else than an upgrade, such as 403 for a missing token.
type HandshakeError struct {
	// Status is the HTTP status.
	Status int
}

// Error names the status.
func (e *HandshakeError) Error() string {
	return fmt.Sprintf("upgrade refused: %d %s", e.Status, http.StatusText(e.Status))
}

// DialOptions say how to reach a host. The zero value gives the defaults.
type DialOptions struct {
	// Options are the limits of the connection.
	Options
	// Dialer opens the socket: network is "tcp" or "unix". Nil: a net.Dialer.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS is used for wss. Without a ServerName the name in the URL is checked.
	TLS *tls.Config
	// Header is added to the upgrade request, such as Authorization or Origin.
	// A Host in it replaces the one of the URL.
	Header http.Header
	// Timeout bounds connecting, TLS and upgrade together. Zero: 10 s.
	// Negative: only the context bounds them.
	Timeout time.Duration
}

// Dial connects to a host. The schemes are
//
//	ws://host[:port]/path?query
//	wss://host[:port]/path?query
//	ws+unix:///absolute/socket/path?query
//
// The last one asks for the path "/" on the Unix socket, with the query kept.
// The context governs dialing only, not the connection. A refusal by the host
// is a *HandshakeError. Errors do not repeat the URL, which may hold a token.
func Dial(ctx context.Context, rawURL string, o DialOptions) (*Conn, error) {
	t, err := parseTarget(rawURL)
	if err != nil {
		return nil, fmt.Errorf("websocket: dial: %w", err)
	}
	if timeout := cmp.Or(o.Timeout, DefaultUpgradeTimeout); timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	nc, early, err := dialUpgrade(ctx, t, o)
	if err != nil {
		return nil, fmt.Errorf("websocket: dial: %w", err)
	}
	return newConn(nc, early, true, o.Options), nil
}

// target is a parsed URL: where to connect and what to ask for there.
type target struct {
	network, addr string
	secure        bool
	request       *url.URL
}

func parseTarget(raw string) (target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // the URL may hold a token
		}
		return target{}, fmt.Errorf("parse url: %w", err)
	}
	switch u.Scheme {
	case "ws":
		return tcpTarget(u, "80")
	case "wss":
		return tcpTarget(u, "443")
	case "ws+unix":
		return unixTarget(u)
	default:
		return target{}, fmt.Errorf("%w %q", ErrScheme, u.Scheme)
	}
}

func tcpTarget(u *url.URL, port string) (target, error) {
	if u.Hostname() == "" {
		return target{}, errors.New("url without a host")
	}
	addr := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	return target{network: "tcp", addr: addr, secure: u.Scheme == "wss", request: u}, nil
}

func unixTarget(u *url.URL) (target, error) {
	if u.Host != "" || len(u.Path) < 2 {
		return target{}, errors.New("ws+unix needs the absolute path of a socket and no host")
	}
	request := &url.URL{Scheme: "ws", Host: "localhost", Path: "/", RawQuery: u.RawQuery}
	return target{network: "unix", addr: u.Path, request: request}, nil
}

// dialUpgrade returns an upgraded socket and what the host sent behind its
// response. Everything in it ends with the context.
func dialUpgrade(ctx context.Context, t target, o DialOptions) (net.Conn, []byte, error) {
	nc, err := connect(ctx, t, o)
	if err != nil {
		return nil, nil, err
	}
	// A past deadline is what interrupts reads and writes under way.
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = nc.SetDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	early, err := upgrade(nc, t, o.Header)
	if !stop() {
		<-interrupted
		err = context.Cause(ctx) // the socket is of no use now, whatever err says
	}
	if err != nil {
		_ = nc.Close()
		return nil, nil, err
	}
	return nc, early, nil
}

func connect(ctx context.Context, t target, o DialOptions) (net.Conn, error) {
	dial := o.Dialer
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	nc, err := dial(ctx, t.network, t.addr)
	if err != nil || !t.secure {
		return nc, err
	}
	cfg := &tls.Config{}
	if o.TLS != nil {
		cfg = o.TLS.Clone()
	}
	cfg.ServerName = cmp.Or(cfg.ServerName, t.request.Hostname())
	tc := tls.Client(nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return tc, nil
}

func upgrade(nc net.Conn, t target, header http.Header) ([]byte, error) {
	d := ws.Dialer{Host: header.Get("Host")}
	if header != nil {
		header = header.Clone()
		header.Del("Host")
		d.Header = ws.HandshakeHeaderHTTP(header)
	}
	br, _, err := d.Upgrade(nc, t.request)
	var status ws.StatusError
	if errors.As(err, &status) {
		return nil, &HandshakeError{Status: int(status)}
	}
	if err != nil || br == nil {
		return nil, err
	}
	early, err := buffered(br)
	ws.PutReader(br)
	return early, err
}
