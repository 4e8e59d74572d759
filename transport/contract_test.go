package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
	"github.com/causeway-ahp/causeway/transport/stdio"
	"github.com/causeway-ahp/causeway/transport/websocket"
	"pgregory.net/rapid"
)

const limit = 100_000

// carrier makes connected ends whose limit is limit. Those of stdio are told
// apart by coded: it cannot send a close code.
type carrier struct {
	name  string
	coded bool
	pair  func(t require) (a, b transport.Conn)
}

// require is the part of testing.TB that rapid has too.
type require interface {
	Helper()
	Fatalf(format string, args ...any)
	Context() context.Context
	Cleanup(func())
}

func carriers() []carrier {
	return []carrier{
		{"memory", true, memoryPair},
		{"stdio", false, stdioPair},
		{"websocket", true, websocketPair},
	}
}

func memoryPair(t require) (a, b transport.Conn) {
	a, b = memory.Pair(memory.Options{MaxMessageBytes: limit})
	return closing(t, a, b)
}

func stdioPair(t require) (a, b transport.Conn) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	o := stdio.Options{MaxMessageBytes: limit}
	return closing(t, stdio.New(ar, aw, o), stdio.New(br, bw, o))
}

func websocketPair(t require) (a, b transport.Conn) {
	t.Helper()
	near, far := net.Pipe()
	ln := &oneConn{conn: far, closed: make(chan struct{})}
	conns := make(chan transport.Conn, 1)
	o := websocket.Options{MaxMessageBytes: limit}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Upgrade(w, r, o)
		if err == nil {
			conns <- c
		}
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	client, err := websocket.Dial(t.Context(), "ws://host.test/", websocket.DialOptions{
		Options: o,
		Dialer:  func(context.Context, string, string) (net.Conn, error) { return near, nil },
	})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	return closing(t, <-conns, client)
}

// oneConn is a listener with one connection to give.
type oneConn struct {
	conn   net.Conn
	closed chan struct{}
}

func (o *oneConn) Accept() (net.Conn, error) {
	if c := o.conn; c != nil {
		o.conn = nil
		return c, nil
	}
	<-o.closed
	return nil, net.ErrClosed
}

func (o *oneConn) Close() error {
	close(o.closed)
	return nil
}

func (o *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "one", Net: "unix"} }

func closing(t require, a, b transport.Conn) (transport.Conn, transport.Conn) {
	t.Cleanup(func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = a.Close(transport.CodeNormal, "")
		}()
		_ = b.Close(transport.CodeNormal, "")
		<-done
	})
	return a, b
}

// each runs test in a bubble for every carrier.
func each(t *testing.T, test func(t *testing.T, c carrier)) {
	for _, c := range carriers() {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, c) })
		})
	}
}

// drain reads until the end.
func drain(c transport.Conn) (msgs []string, err error) {
	for {
		m, err := c.Read()
		if err != nil {
			return msgs, err
		}
		msgs = append(msgs, string(m))
	}
}

type drained struct {
	msgs []string
	err  error
}

func draining(c transport.Conn) <-chan drained {
	out := make(chan drained, 1)
	go func() {
		msgs, err := drain(c)
		out <- drained{msgs, err}
	}()
	return out
}

// TestOrder: whatever is written, in whatever batches, both ways at once, the
// other end reads the same texts in the same order, then the close.
func TestOrder(t *testing.T) {
	line := rapid.StringMatching(`[^\n\r]{0,40}`)
	text := rapid.OneOf(line, rapid.Map(rapid.IntRange(0, limit), func(n int) string {
		return strings.Repeat("x", n)
	}))
	for _, c := range carriers() {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				fromA := rapid.SliceOfN(rapid.SliceOfN(text, 0, 6), 0, 4).Draw(t, "from a")
				fromB := rapid.SliceOfN(rapid.SliceOfN(text, 0, 6), 0, 4).Draw(t, "from b")
				rapid.SyncTest(t, func(t *rapid.T) { testOrder(t, c, fromA, fromB) })
			})
		})
	}
}

func testOrder(t *rapid.T, c carrier, fromA, fromB [][]string) {
	a, b := c.pair(t)
	atA, atB := draining(a), draining(b)
	sent := make(chan error, 2)
	go func() { sent <- writeAll(a, fromA) }()
	go func() { sent <- writeAll(b, fromB) }()
	for range 2 {
		if err := <-sent; err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	synctest.Wait() // both have read what was written
	_ = a.Close(transport.CodeNormal, "")
	wantTexts(t, "at b", <-atB, fromA)
	wantTexts(t, "at a", <-atA, fromB)
}

// writeAll writes the batches and overwrites them afterwards: a carrier that
// keeps a slice is found out.
func writeAll(c transport.Conn, batches [][]string) error {
	for _, texts := range batches {
		batch := make([][]byte, len(texts))
		for i, m := range texts {
			batch[i] = []byte(m)
		}
		if err := c.Write(batch); err != nil {
			return err
		}
		for _, m := range batch {
			clear(m)
		}
	}
	return nil
}

func wantTexts(t *rapid.T, where string, got drained, batches [][]string) {
	var want []string
	for _, b := range batches {
		want = append(want, b...)
	}
	if len(got.msgs) != len(want) {
		t.Fatalf("%s: got %d messages, want %d (%v)", where, len(got.msgs), len(want), got.err)
	}
	for i := range want {
		if got.msgs[i] != want[i] {
			t.Fatalf("%s: message %d: got %d bytes, want %d others", where, i, len(got.msgs[i]), len(want[i]))
		}
	}
	if !errors.Is(got.err, transport.ErrClosed) {
		t.Fatalf("%s: got %v, want a close", where, got.err)
	}
}

func TestCloseArrivesBehindMessages(t *testing.T) {
	each(t, func(t *testing.T, c carrier) {
		a, b := c.pair(t)
		go func() {
			_ = writeAll(a, [][]string{{"1", "2"}, {"3"}})
			_ = a.Close(transport.CodeGoingAway, "bye")
		}()
		msgs, err := drain(b)
		if strings.Join(msgs, " ") != "1 2 3" {
			t.Errorf("got %q", msgs)
		}
		var ce *transport.CloseError
		if !errors.As(err, &ce) || !ce.Remote {
			t.Fatalf("got %v, want the peer's close", err)
		}
		if c.coded && (ce.Code != transport.CodeGoingAway || ce.Reason != "bye") {
			t.Errorf("got %v", ce)
		}
		if werr := b.Write([][]byte{[]byte("x")}); !errors.Is(werr, transport.ErrClosed) {
			t.Errorf("write after the close: got %v", werr)
		}
	})
}

func TestCloseUnblocks(t *testing.T) {
	each(t, func(t *testing.T, c carrier) {
		a, _ := c.pair(t)
		reader := draining(a)
		writer := make(chan error, 1)
		go func() { // nobody reads at the other end
			for {
				if err := a.Write([][]byte{make([]byte, limit)}); err != nil {
					writer <- err
					return
				}
			}
		}()
		synctest.Wait()
		begin := time.Now()
		_ = a.Close(transport.CodePolicy, "enough")
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("close took %v", took)
		}
		for where, err := range map[string]error{"read": (<-reader).err, "write": <-writer} {
			var ce *transport.CloseError
			if !errors.As(err, &ce) || ce.Remote || ce.Code != transport.CodePolicy {
				t.Errorf("%s: got %v, want our own close", where, err)
			}
		}
	})
}

func TestCloseTwice(t *testing.T) {
	each(t, func(t *testing.T, c carrier) {
		a, b := c.pair(t)
		end := draining(b)
		_ = a.Close(transport.CodeNormal, "first")
		_ = a.Close(transport.CodePolicy, "second")
		_, err := a.Read()
		var ce *transport.CloseError
		if !errors.As(err, &ce) || ce.Code != transport.CodeNormal {
			t.Errorf("got %v, want the first close", err)
		}
		if got := (<-end).err; !errors.Is(got, transport.ErrClosed) {
			t.Errorf("peer: got %v", got)
		}
	})
}

func TestRefused(t *testing.T) {
	tests := []struct {
		name string
		text string
		code transport.Code
		is   error
	}{
		{"too large", strings.Repeat("x", limit+1), transport.CodeTooBig, transport.ErrTooLarge},
		{"c3 28", "\xc3\x28", transport.CodeInvalidUTF8, transport.ErrInvalidUTF8},
		{"surrogate", "\xed\xa0\x80", transport.CodeInvalidUTF8, transport.ErrInvalidUTF8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, c carrier) {
				a, b := c.pair(t)
				atA := draining(a)
				go writeAll(a, [][]string{{"before", tt.text}})
				msgs, err := drain(b)
				if len(msgs) != 1 || msgs[0] != "before" {
					t.Errorf("got %d messages, want the one before", len(msgs))
				}
				var ce *transport.CloseError
				if !errors.As(err, &ce) || ce.Remote || ce.Code != tt.code || !errors.Is(err, tt.is) {
					t.Errorf("got %v, want our refusal with %v", err, tt.code)
				}
				if !errors.As((<-atA).err, &ce) || c.coded && (!ce.Remote || ce.Code != tt.code) {
					t.Errorf("peer: got %v, want to be told %v", ce, tt.code)
				}
				if werr := b.Write([][]byte{[]byte("x")}); !errors.Is(werr, tt.is) {
					t.Errorf("write: got %v, want the same cause", werr)
				}
			})
		})
	}
}

func TestDescription(t *testing.T) {
	each(t, func(t *testing.T, c carrier) {
		a, b := c.pair(t)
		if string(a.Kind()) != c.name || string(b.Kind()) != c.name {
			t.Errorf("got kinds %q and %q, want %q", a.Kind(), b.Kind(), c.name)
		}
		if a.RemoteAddr() == "" || b.RemoteAddr() == "" {
			t.Errorf("got addresses %q and %q", a.RemoteAddr(), b.RemoteAddr())
		}
	})
}
