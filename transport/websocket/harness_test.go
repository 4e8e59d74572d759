package websocket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/gobwas/ws"
)

// pipeListener hands out net.Pipe ends, so that net/http and a dialer meet
// without a socket and inside a bubble.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case nc := <-p.conns:
		return nc, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// serve runs an HTTP server on ln until the test ends.
func serve(t testing.TB, ln net.Listener, h http.HandlerFunc) {
	t.Helper()
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
}

// accept upgrades every request and hands the connections out.
func accept(t testing.TB, o Options) (http.HandlerFunc, <-chan *Conn) {
	conns := make(chan *Conn, 64)
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := Upgrade(w, r, o)
		if err != nil {
			t.Errorf("upgrade: %v", err)
			return
		}
		conns <- c
	}, conns
}

// pair returns both ends of a connection of ours over an in-memory listener.
func pair(t testing.TB, host, client Options) (hc, cc *Conn) {
	t.Helper()
	ln := newPipeListener()
	h, conns := accept(t, host)
	serve(t, ln, h)
	cc, err := Dial(t.Context(), "ws://host.test/", DialOptions{Options: client, Dialer: ln.dial})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	hc = <-conns
	t.Cleanup(func() {
		go cc.Close(transport.CodeNormal, "")
		_ = hc.Close(transport.CodeNormal, "")
		_ = cc.Close(transport.CodeNormal, "")
	})
	return hc, cc
}

// rawPair returns a host side connection of ours whose client is the test
// itself, on raw frames.
func rawPair(t testing.TB, o Options) (*Conn, *rawPeer) {
	t.Helper()
	return rawRole(t, false, o)
}

func rawRole(t testing.TB, client bool, o Options) (*Conn, *rawPeer) {
	t.Helper()
	near, far := net.Pipe()
	c := newConn(near, nil, client, o)
	r := newRawPeer(t, far)
	t.Cleanup(func() {
		_ = far.Close()
		_ = c.Close(transport.CodeNormal, "")
		<-r.gone
	})
	return c, r
}

func newRawPeer(t testing.TB, nc net.Conn) *rawPeer {
	r := &rawPeer{t: t, nc: nc, frames: make(chan ws.Frame, 1024), gone: make(chan struct{})}
	go r.collect()
	return r
}

// rawPeer writes literal bytes and collects the frames that come back.
type rawPeer struct {
	t      testing.TB
	nc     net.Conn
	frames chan ws.Frame
	gone   chan struct{} // closed when the other side ended
}

func (r *rawPeer) collect() {
	defer close(r.gone)
	defer close(r.frames)
	for {
		h, err := ws.ReadHeader(r.nc)
		if err != nil {
			return
		}
		p := make([]byte, h.Length)
		if _, err := io.ReadFull(r.nc, p); err != nil {
			return
		}
		r.frames <- ws.Frame{Header: h, Payload: p}
	}
}

// send writes b on a goroutine of its own: a pipe holds nothing, and the other
// side may stop reading in the middle.
func (r *rawPeer) send(b []byte) {
	go func() { _, _ = r.nc.Write(b) }()
}

// wantFrame checks the next frame that comes back.
func (r *rawPeer) wantFrame(op ws.OpCode, payload []byte) {
	r.t.Helper()
	f, ok := <-r.frames
	if !ok {
		r.t.Fatalf("connection ended, want frame %#x %q", op, payload)
	}
	if f.Header.OpCode != op || !bytes.Equal(f.Payload, payload) {
		r.t.Fatalf("got frame %#x %.40q (%d bytes), want %#x %.40q", f.Header.OpCode, f.Payload, len(f.Payload), op, payload)
	}
}

// wantClose checks that the next frame is a close with the code.
func (r *rawPeer) wantClose(code transport.Code) {
	r.t.Helper()
	f, ok := <-r.frames
	if !ok {
		r.t.Fatalf("connection ended without a close frame, want %v", code)
	}
	got, reason := ws.ParseCloseFrameData(f.Payload)
	if f.Header.OpCode != ws.OpClose || transport.Code(got) != code {
		r.t.Fatalf("got frame %#x, code %d %q, want close %v", f.Header.OpCode, got, reason, code)
	}
}

// frame builds one masked client frame.
func frame(fin bool, op ws.OpCode, payload string) []byte {
	f := ws.MaskFrameWith(ws.NewFrame(op, fin, []byte(payload)), [4]byte{0x37, 0xfa, 0x21, 0x3d})
	b, err := ws.CompileFrame(f)
	if err != nil {
		panic(err)
	}
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func mustRead(t testing.TB, c *Conn) string {
	t.Helper()
	b, err := c.Read()
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return string(b)
}

func mustWrite(t testing.TB, c *Conn, msgs ...string) {
	t.Helper()
	batch := make([][]byte, len(msgs))
	for i, m := range msgs {
		batch[i] = []byte(m)
	}
	if err := c.Write(batch); err != nil {
		t.Errorf("write: %v", err) // may run beside the test
	}
}

// wantCloseError checks that err is a close with the code from that side.
func wantCloseError(t testing.TB, err error, code transport.Code, remote bool) *transport.CloseError {
	t.Helper()
	var ce *transport.CloseError
	if !errors.As(err, &ce) || ce.Code != code || ce.Remote != remote {
		t.Fatalf("got error %v, want close %v, remote %v", err, code, remote)
	}
	if !errors.Is(err, transport.ErrClosed) {
		t.Fatalf("%v does not match ErrClosed", err)
	}
	return ce
}

// listen opens a real listener on loopback or a Unix socket and returns the
// URL to dial.
func listen(t testing.TB, network string) (net.Listener, string) {
	t.Helper()
	addr, url := "127.0.0.1:0", "ws://"
	if network == "unix" {
		addr, url = filepath.Join(t.TempDir(), "s"), "ws+unix://"
	}
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	return ln, url + ln.Addr().String()
}
