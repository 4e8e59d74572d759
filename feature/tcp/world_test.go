package tcp

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
)

// world is a host with the feature, and a network of destinations in virtual time.
type world struct {
	t         *testing.T
	net       *simnet.Network
	names     names
	f         *Feature
	h         *host.Host
	serving   sync.WaitGroup
	listeners []net.Listener
	ends      map[string]*memory.Conn // client ends of traces, by name
}

// names is a resolver with a list.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, name string) (addrs []netip.Addr, err error) {
	list, ok := n[name]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	for _, text := range list {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

// newWorld makes a world inside a bubble. Its network is the only one there is.
func newWorld(t *testing.T, o Options, limits host.Limits) *world {
	t.Helper()
	w := &world{t: t, net: simnet.New(1), names: names{}, ends: make(map[string]*memory.Conn)}
	if o.Resolver == nil {
		o.Resolver = w.names
	}
	if o.Dial == nil {
		o.Dial = w.dial
	}
	w.f = New(o)
	var err error
	if w.h, err = host.New(t.Context(), host.Options{Features: []host.Feature{w.f}, Limits: limits}); err != nil {
		t.Fatal(err)
	}
	return w
}

// end shuts the host down and checks that nobody holds on to anything.
func (w *world) end() {
	w.t.Helper()
	if err := w.h.Shutdown(context.Background()); err != nil {
		w.t.Errorf("shutdown: %v", err)
	}
	for _, ln := range w.listeners {
		_ = ln.Close()
	}
	w.serving.Wait()
	if n := w.f.Len(); n != 0 || len(w.f.clients) != 0 || len(w.f.principals) != 0 {
		w.t.Errorf("%d connections are left, counted for %d clients of %d principals", n, len(w.f.clients), len(w.f.principals))
	}
}

// bubble runs a test in a world of its own. A goroutine left behind fails it.
func bubble(t *testing.T, o Options, limits host.Limits, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, o, limits)
		test(w)
		w.end()
	})
}

func (w *world) dial(ctx context.Context, addr netip.AddrPort) (Socket, error) {
	conn, err := w.net.Dial(ctx, "host", addr.String())
	if err != nil {
		return nil, err
	}
	return conn.(*simnet.Conn), nil
}

// listen serves a destination; each connection is handed to serve, which closes it.
func (w *world) listen(addr string, serve func(conn *simnet.Conn)) {
	w.t.Helper()
	ln, err := w.net.Listen(addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.listeners = append(w.listeners, ln)
	w.serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			w.serving.Go(func() { serve(conn.(*simnet.Conn)) })
		}
	})
}

// connect gives the near end of a connection to the host.
func (w *world) connect() transport.Conn {
	a, b := memory.Pair(memory.Options{})
	w.serving.Go(func() { _ = w.h.Serve(w.t.Context(), b, host.Local) })
	return a
}

// echo sends back what it reads, and its end.
func echo(conn *simnet.Conn) {
	if _, err := io.Copy(conn, conn); err == nil {
		_ = conn.CloseWrite()
	}
	_ = conn.Close()
}
