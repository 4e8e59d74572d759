package simnet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/internal/simnet"
)

func TestDial(t *testing.T) {
	tests := []struct {
		name  string
		setup func(n *simnet.Network, ln net.Listener)
		want  error
		took  time.Duration
	}{
		{"answers after a round trip", func(*simnet.Network, net.Listener) {}, nil, 2 * hop},
		{"refused by the link", func(n *simnet.Network, _ net.Listener) { n.Link("a", "host:1").Refuse(true) },
			syscall.ECONNREFUSED, 2 * hop},
		{"refused for want of a listener", func(_ *simnet.Network, ln net.Listener) { ln.Close() },
			syscall.ECONNREFUSED, 2 * hop},
		{"black hole up", func(n *simnet.Network, _ net.Listener) { n.Link("a", "host:1").Stall(simnet.Up) },
			context.DeadlineExceeded, time.Minute},
		{"black hole down", func(n *simnet.Network, _ net.Listener) { n.Link("a", "host:1").Stall(simnet.Down) },
			context.DeadlineExceeded, time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := simnet.New(1)
				n.SetDefault(simnet.Profile{Latency: hop})
				ln, err := n.Listen("host:1")
				if err != nil {
					t.Fatal(err)
				}
				test.setup(n, ln)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				c, err := n.Dial(ctx, "a", "host:1")
				if !errors.Is(err, test.want) || (c == nil) != (err != nil) {
					t.Errorf("Dial = %v, %v; want %v", c, err, test.want)
				}
				if got := time.Since(start); got != test.took {
					t.Errorf("took %v, want %v", got, test.took)
				}
				var timeout net.Error
				if errors.As(err, &timeout) && timeout.Timeout() != (test.want == context.DeadlineExceeded) {
					t.Errorf("Timeout() = %v for %v", timeout.Timeout(), err)
				}
			})
		})
	}
}

// TestDialSurvivesStall checks that an attempt goes on when the hole closes.
func TestDialSurvivesStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(1)
		if _, err := n.Listen("host:1"); err != nil {
			t.Fatal(err)
		}
		link := n.Link("a", "host:1")
		link.Stall()
		time.AfterFunc(time.Hour, func() { link.Resume() })
		if _, err := n.Dial(t.Context(), "a", "host:1"); err != nil {
			t.Error(err)
		}
	})
}

// TestAbandonedDial checks that a cancelled attempt never reaches the listener.
func TestAbandonedDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(1)
		ln, err := n.Listen("host:1")
		if err != nil {
			t.Fatal(err)
		}
		link := n.Link("a", "host:1")
		link.Set(simnet.Profile{Latency: time.Second})
		cause := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(hop, func() { cancel(cause) })
		if _, err := n.Dial(ctx, "a", "host:1"); !errors.Is(err, cause) {
			t.Errorf("Dial = %v, want the cause", err)
		}
		if _, err := n.Dial(ctx, "a", "host:1"); !errors.Is(err, cause) {
			t.Errorf("Dial with an ended context = %v, want the cause", err)
		}
		time.AfterFunc(time.Minute, func() { ln.Close() })
		if c, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept = %v, %v; want net.ErrClosed", c, err)
		}
	})
}

func TestListen(t *testing.T) {
	n := simnet.New(1)
	if _, err := n.Listen("no port"); err == nil {
		t.Error("Listen took an address without a port")
	}
	ln, err := n.Listen("host:1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Listen("host:1"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("second Listen: %v, want EADDRINUSE", err)
	}
	ln.Close()
	if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("second Close: %v, want net.ErrClosed", err)
	}
	if _, err := n.Listen("host:1"); err != nil {
		t.Errorf("Listen after Close: %v", err)
	}
}

// TestBacklog checks its bound, its counter, and that closing the listener
// resets whom nobody accepted.
func TestBacklog(t *testing.T) {
	n := simnet.New(1)
	ln, err := n.Listen("host:1")
	if err != nil {
		t.Fatal(err)
	}
	first, err := n.Dial(t.Context(), "a", "host:1")
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = n.Dial(t.Context(), "a", "host:1")
	}
	stats := n.Link("a", "host:1").Stats()
	if !errors.Is(err, syscall.ECONNREFUSED) || stats.Dials != 129 || stats.Refused != 1 {
		t.Errorf("backlog ended with %v after %d dials, %d refused", err, stats.Dials, stats.Refused)
	}
	ln.Close()
	wantReadError(t, first, syscall.ECONNRESET)
}

func TestAddresses(t *testing.T) {
	p := connect(t, simnet.Profile{})
	if p.near.LocalAddr() != p.far.RemoteAddr() || p.near.RemoteAddr() != p.far.LocalAddr() {
		t.Errorf("near %v -> %v, far %v -> %v", p.near.LocalAddr(), p.near.RemoteAddr(),
			p.far.LocalAddr(), p.far.RemoteAddr())
	}
	host, port, err := net.SplitHostPort(p.near.LocalAddr().String())
	if host != "client" || port == "" || err != nil {
		t.Errorf("local address %v", p.near.LocalAddr())
	}
	if got := p.near.LocalAddr().Network(); got != "sim" {
		t.Errorf("network %q", got)
	}
}

// TestDeadlines checks times that are past, to come, moved and lifted.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, simnet.Profile{})
		mustWrite(t, p.far, "data")
		p.near.SetDeadline(time.Now().Add(-1))
		wantReadError(t, p.near, os.ErrDeadlineExceeded) // although data is there
		wantWriteError(t, p.near, os.ErrDeadlineExceeded)
		p.near.SetDeadline(time.Time{})
		wantRead(t, p.near, "data")

		start := time.Now()
		p.near.SetReadDeadline(start.Add(time.Hour))
		time.AfterFunc(time.Minute, func() { p.near.SetReadDeadline(start.Add(2 * time.Minute)) })
		wantReadError(t, p.near, os.ErrDeadlineExceeded)
		if got := time.Since(start); got != 2*time.Minute {
			t.Errorf("moved deadline fired after %v, want 2m", got)
		}
	})
}

// TestHTTP runs a server and a client that know nothing of simulation.
func TestHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(1)
		n.SetDefault(simnet.Profile{Latency: 50 * time.Millisecond, MaxPieceBytes: 5})
		ln, err := n.Listen("host:80")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(3 * time.Second)
			fmt.Fprintf(w, "hello %s", r.URL.Query().Get("name"))
		})}
		served := make(chan error)
		go func() { served <- server.Serve(ln) }()
		transport := &http.Transport{DialContext: n.Dialer("browser")}
		client := &http.Client{Transport: transport}

		start := time.Now()
		resp, err := client.Get("http://host:80/?name=bubble")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if string(body) != "hello bubble" || err != nil {
			t.Errorf("body %q, %v", body, err)
		}
		if got := time.Since(start); got != 3200*time.Millisecond {
			t.Errorf("took %v, want 3.2s", got)
		}
		transport.CloseIdleConnections()
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve = %v", err)
		}
	})
}
