package websocket

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/coder/websocket"
	gorilla "github.com/gorilla/websocket"
)

// stranger is an end of a connection run by somebody else's library.
type stranger interface {
	read() (string, error)
	write(m string) error
	fragments(parts ...string) error
	ping(t *testing.T) // returns when the pong came; somebody must be reading
	closeWith(code int, reason string) error
	closeCode(err error) int
	hangUp()
}

// library knows how to get a stranger for either role.
type library struct {
	name  string
	dial  func(t testing.TB, url string, dial dialFunc) stranger
	serve func(t testing.TB, got chan<- stranger) http.HandlerFunc
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

func libraries() []library {
	return []library{
		{"coder", dialCoder, serveCoder},
		{"gorilla", dialGorilla, serveGorilla},
	}
}

type coderEnd struct{ c *websocket.Conn }

func dialCoder(t testing.TB, url string, dial dialFunc) stranger {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: dial}}
	c, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatalf("coder dial: %v", err)
	}
	c.SetReadLimit(-1)
	return &coderEnd{c}
}

func serveCoder(t testing.TB, got chan<- stranger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Errorf("coder accept: %v", err)
			return
		}
		c.SetReadLimit(-1)
		got <- &coderEnd{c}
	}
}

var forever = context.Background()

func (e *coderEnd) read() (string, error) {
	_, b, err := e.c.Read(forever)
	return string(b), err
}

func (e *coderEnd) write(m string) error {
	return e.c.Write(forever, websocket.MessageText, []byte(m))
}

func (e *coderEnd) fragments(parts ...string) error {
	w, err := e.c.Writer(forever, websocket.MessageText)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if _, err := w.Write([]byte(p)); err != nil {
			return err
		}
	}
	return w.Close()
}

func (e *coderEnd) ping(t *testing.T) {
	t.Helper()
	if err := e.c.Ping(forever); err != nil {
		t.Errorf("coder ping: %v", err)
	}
}

func (e *coderEnd) closeWith(code int, reason string) error {
	return e.c.Close(websocket.StatusCode(code), reason)
}

func (e *coderEnd) closeCode(err error) int { return int(websocket.CloseStatus(err)) }
func (e *coderEnd) hangUp()                 { _ = e.c.CloseNow() }

type gorillaEnd struct {
	c    *gorilla.Conn
	pong chan struct{}
}

func dialGorilla(t testing.TB, url string, dial dialFunc) stranger {
	t.Helper()
	d := gorilla.Dialer{NetDialContext: dial}
	c, res, err := d.DialContext(t.Context(), url, nil)
	if err != nil {
		t.Fatalf("gorilla dial: %v", err)
	}
	_ = res.Body.Close()
	return newGorillaEnd(c)
}

func serveGorilla(t testing.TB, got chan<- stranger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := new(gorilla.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			t.Errorf("gorilla upgrade: %v", err)
			return
		}
		got <- newGorillaEnd(c)
	}
}

func newGorillaEnd(c *gorilla.Conn) *gorillaEnd {
	e := &gorillaEnd{c: c, pong: make(chan struct{}, 1)}
	c.SetPongHandler(func(string) error {
		e.pong <- struct{}{}
		return nil
	})
	return e
}

func (e *gorillaEnd) read() (string, error) {
	_, b, err := e.c.ReadMessage()
	return string(b), err
}

func (e *gorillaEnd) write(m string) error {
	return e.c.WriteMessage(gorilla.TextMessage, []byte(m))
}

func (e *gorillaEnd) fragments(parts ...string) error {
	w, err := e.c.NextWriter(gorilla.TextMessage)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if _, err := w.Write([]byte(p)); err != nil {
			return err
		}
	}
	return w.Close()
}

func (e *gorillaEnd) ping(t *testing.T) {
	t.Helper()
	if err := e.c.WriteControl(gorilla.PingMessage, []byte("hi"), time.Now().Add(time.Second)); err != nil {
		t.Errorf("gorilla ping: %v", err)
		return
	}
	<-e.pong
}

func (e *gorillaEnd) closeWith(code int, reason string) error {
	m := gorilla.FormatCloseMessage(code, reason)
	return e.c.WriteControl(gorilla.CloseMessage, m, time.Now().Add(time.Second))
}

func (e *gorillaEnd) closeCode(err error) int {
	var ce *gorilla.CloseError
	if errors.As(err, &ce) {
		return ce.Code
	}
	return -1
}

func (e *gorillaEnd) hangUp() { _ = e.c.Close() }

// meet connects one of ours with one of theirs over a real socket.
func meet(t *testing.T, lib library, network string, weServe bool, o Options) (*Conn, stranger) {
	t.Helper()
	ln, url := listen(t, network)
	var ours *Conn
	var theirs stranger
	if weServe {
		h, conns := accept(t, o)
		serve(t, ln, h)
		addr := ln.Addr()
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, addr.Network(), addr.String())
		}
		theirs, ours = lib.dial(t, "ws://host.test/", dial), <-conns
	} else {
		got := make(chan stranger, 1)
		serve(t, ln, lib.serve(t, got))
		var err error
		if ours, err = Dial(t.Context(), url, DialOptions{Options: o}); err != nil {
			t.Fatalf("dial: %v", err)
		}
		theirs = <-got
	}
	t.Cleanup(func() {
		theirs.hangUp()
		_ = ours.Close(transport.CodeNormal, "")
	})
	return ours, theirs
}

// TestInterop puts us beside two libraries that share no code with ours, in
// both roles, over TCP and Unix sockets.
func TestInterop(t *testing.T) {
	for _, lib := range libraries() {
		for _, network := range []string{"tcp", "unix"} {
			for role, weServe := range map[string]bool{"host": true, "client": false} {
				name := lib.name + "/" + network + "/as " + role
				connect := func(t *testing.T, o Options) (*Conn, stranger) {
					return meet(t, lib, network, weServe, o)
				}
				sizes := []int{0, 1, 125, 126, 127, 4095, 65535, 65536, 1 << 20}
				if network == "tcp" { // the carrier makes no difference to the largest, the time does
					sizes = append(sizes, 16<<20)
				}
				t.Run(name+"/sizes", func(t *testing.T) { testSizes(t, connect, sizes) })
				t.Run(name+"/fragments", func(t *testing.T) { testFragments(t, connect) })
				t.Run(name+"/ping", func(t *testing.T) { testPing(t, connect) })
				t.Run(name+"/they close", func(t *testing.T) { testTheyClose(t, connect) })
				t.Run(name+"/we close", func(t *testing.T) { testWeClose(t, connect) })
				t.Run(name+"/oversize", func(t *testing.T) { testOversize(t, connect) })
				t.Run(name+"/hang up", func(t *testing.T) { testHangUp(t, connect) })
			}
		}
	}
}

type connectFunc = func(t *testing.T, o Options) (*Conn, stranger)

func testSizes(t *testing.T, connect connectFunc, sizes []int) {
	ours, theirs := connect(t, Options{})
	for _, n := range sizes {
		want := strings.Repeat("é", n/2) + strings.Repeat("x", n%2)
		go mustWrite(t, ours, want)
		if got, err := theirs.read(); err != nil || got != want {
			t.Fatalf("we sent %d bytes, they got %d: %v", n, len(got), err)
		}
		sent := make(chan error, 1)
		go func() { sent <- theirs.write(want) }()
		if got := mustRead(t, ours); got != want {
			t.Fatalf("they sent %d bytes, we got %d", n, len(got))
		}
		if err := <-sent; err != nil {
			t.Fatalf("they could not send %d bytes: %v", n, err)
		}
	}
	many := make([]string, 1000)
	for i := range many {
		many[i] = strings.Repeat("m", i)
	}
	go mustWrite(t, ours, many...)
	for i, want := range many {
		if got, err := theirs.read(); err != nil || got != want {
			t.Fatalf("message %d of a batch: got %d bytes, %v", i, len(got), err)
		}
	}
}

func testFragments(t *testing.T, connect connectFunc) {
	ours, theirs := connect(t, Options{})
	big := strings.Repeat("z", 100_000)
	go func() {
		if err := theirs.fragments("a\xe2", "\x82", "\xac", "", big); err != nil {
			t.Errorf("fragments: %v", err)
		}
	}()
	if got := mustRead(t, ours); got != "a€"+big {
		t.Errorf("got %d bytes", len(got))
	}
}

func testPing(t *testing.T, connect connectFunc) {
	ours, theirs := connect(t, Options{PingInterval: 5 * time.Millisecond, PongTimeout: time.Minute})
	end := reading(ours)
	theirEnd := make(chan error, 1)
	go func() {
		_, err := theirs.read()
		theirEnd <- err
	}()
	theirs.ping(t)
	theirs.ping(t)
	_ = ours.Close(transport.CodeNormal, "")
	<-end
	<-theirEnd
}

func testTheyClose(t *testing.T, connect connectFunc) {
	for _, code := range []int{1000, 1001, 1008, 1011, 1013, 3000, 4000} {
		ours, theirs := connect(t, Options{})
		done := make(chan error, 1)
		go func() { done <- theirs.closeWith(code, "reason") }()
		_, err := ours.Read()
		ce := wantCloseError(t, err, transport.Code(code), true)
		if ce.Reason != "reason" {
			t.Errorf("got reason %q", ce.Reason)
		}
		if err := <-done; err != nil {
			t.Errorf("their close: %v", err)
		}
	}
}

func testWeClose(t *testing.T, connect connectFunc) {
	for _, code := range []transport.Code{1000, 1001, 1008, 1011, 1013, 4000} {
		ours, theirs := connect(t, Options{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = ours.Close(code, "reason")
		}()
		_, err := theirs.read()
		if got := theirs.closeCode(err); got != int(code) {
			t.Errorf("they saw %v, want close %v", err, code)
		}
		<-done
	}
}

func testOversize(t *testing.T, connect connectFunc) {
	ours, theirs := connect(t, Options{MaxMessageBytes: 1 << 20})
	end := reading(ours)
	sent := make(chan error, 1)
	go func() { sent <- theirs.fragments(strings.Repeat("x", 1<<20), "y") }()
	_, err := theirs.read()
	if got := theirs.closeCode(err); got != 1009 {
		t.Errorf("they saw %v, want close 1009", err)
	}
	theirs.hangUp()
	<-sent
	rerr := <-end
	wantCloseError(t, rerr, transport.CodeTooBig, false)
	if !errors.Is(rerr, transport.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", rerr)
	}
}

func testHangUp(t *testing.T, connect connectFunc) {
	ours, theirs := connect(t, Options{})
	end := reading(ours)
	theirs.hangUp()
	if err := <-end; errors.Is(err, transport.ErrClosed) {
		t.Errorf("got %v, want an error that is no close", err)
	}
}
