package simnet_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/internal/simnet"
)

// TestManual is the manual of the package: read it from top to bottom.
func TestManual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A network is made inside the bubble, from a seed.
		network := simnet.New(1)

		// Somebody listens; somebody dials, under a name of its own. A link is
		// what lies between the two, and it can be shaped before or during use.
		ln, err := network.Listen("host:7433")
		if err != nil {
			t.Fatal(err)
		}
		link := network.Link("laptop", "host:7433")
		link.Set(simnet.Profile{Latency: 20 * time.Millisecond})

		// Dialling takes a round trip, of a clock that moves only when every
		// goroutine of the bubble waits.
		start := time.Now()
		laptop, err := network.Dial(t.Context(), "laptop", "host:7433")
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != 40*time.Millisecond {
			t.Errorf("dial took %v, want 40ms", got)
		}
		host, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}

		// What is written arrives one latency later.
		mustWrite(t, laptop, "hello")
		start = time.Now()
		wantRead(t, host, "hello")
		if got := time.Since(start); got != 20*time.Millisecond {
			t.Errorf("bytes took %v, want 20ms", got)
		}

		// A stall is a black hole: no bytes, no error. Deadlines still work.
		link.Stall(simnet.Down)
		mustWrite(t, host, "are you there?")
		if err := laptop.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		wantReadError(t, laptop, os.ErrDeadlineExceeded)
		if err := laptop.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}

		// When it is over, what was overdue is there.
		link.Resume(simnet.Down)
		wantRead(t, laptop, "are you there?")

		// A message can be torn at a chosen byte. Both ends notice.
		link.CutAfter(simnet.Up, 4)
		mustWrite(t, laptop, "half a message")
		wantRead(t, host, "half")
		wantReadError(t, host, syscall.ECONNRESET)
		wantReadError(t, laptop, syscall.ECONNRESET)

		// The link counts what happened on it.
		up := link.Stats().Up
		if up.Sent != 19 || up.Delivered != 9 || up.Lost != 10 || up.InFlight != 0 {
			t.Errorf("up = %+v, want 19 sent: 9 delivered, 10 lost", up)
		}

		// Nobody answers where nobody listens.
		ln.Close()
		if _, err := network.Dial(t.Context(), "laptop", "host:7433"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial after the listener closed: %v, want ECONNREFUSED", err)
		}
	})
}

// pair is a connection and the link it runs over.
type pair struct {
	link      *simnet.Link
	near, far *simnet.Conn // dialling and accepting end
}

// tb is what tests, benchmarks and rapid's checks have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
}

// connect makes a pair on a network of its own with the given behaviour.
func connect(t tb, p simnet.Profile) pair {
	t.Helper()
	return connectOn(t, simnet.New(1), p)
}

func connectOn(t tb, network *simnet.Network, p simnet.Profile) pair {
	t.Helper()
	ln, err := network.Listen("host:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	near, err := network.Dial(context.Background(), "client", addr)
	if err != nil {
		t.Fatal(err)
	}
	far, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	link := network.Link("client", addr)
	link.Set(p)
	return pair{link, near.(*simnet.Conn), far.(*simnet.Conn)}
}

func mustWrite(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if n, err := io.WriteString(c, text); err != nil || n != len(text) {
		t.Fatalf("Write(%q) = %d, %v", text, n, err)
	}
}

// wantRead reads exactly want.
func wantRead(t testing.TB, c net.Conn, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if n, err := io.ReadFull(c, b); err != nil || string(b) != want {
		t.Fatalf("read %q, %v; want %q", b[:n], err, want)
	}
}

// wantReadError reads once and wants no byte and the error.
func wantReadError(t testing.TB, c net.Conn, want error) {
	t.Helper()
	if n, err := c.Read(make([]byte, 100)); n != 0 || !errors.Is(err, want) {
		t.Fatalf("Read = %d, %v; want 0, %v", n, err, want)
	}
}

func wantWriteError(t testing.TB, c net.Conn, want error) {
	t.Helper()
	if _, err := io.WriteString(c, "x"); !errors.Is(err, want) {
		t.Fatalf("Write = %v, want %v", err, want)
	}
}
