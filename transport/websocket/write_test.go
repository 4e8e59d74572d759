package websocket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/gobwas/ws"
	"pgregory.net/rapid"
)

// blockedConn is a socket whose peer can be fed from but takes nothing.
type blockedConn struct{ net.Conn }

// feed sends b to the other end.
func (b blockedConn) feed(p []byte) { _, _ = b.Conn.Write(p) }

func blockedPair() (net.Conn, blockedConn) {
	near, far := net.Pipe()
	return near, blockedConn{far}
}

// TestSlowReader: a peer that takes nothing costs a writer the write timeout.
func TestSlowReader(t *testing.T) {
	for _, size := range []int{10, 100 << 10} {
		synctest.Test(t, func(t *testing.T) {
			near, _ := blockedPair()
			c := newConn(near, nil, false, Options{PingInterval: -1})
			end := reading(c)
			begin := time.Now()
			err := c.Write([][]byte{make([]byte, size)})
			if !errors.Is(err, transport.ErrWriteTimeout) || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %v, want ErrWriteTimeout", err)
			}
			if took := time.Since(begin); took != DefaultWriteTimeout {
				t.Errorf("gave up after %v, want %v", took, DefaultWriteTimeout)
			}
			if rerr := <-end; !errors.Is(rerr, transport.ErrWriteTimeout) {
				t.Errorf("read: got %v, want the first cause", rerr)
			}
			_ = c.Close(transport.CodeNormal, "")
		})
	}
}

// TestSlowLinkCarriesLargeMessage: the timeout is for standing still, not for
// being slow.
func TestSlowLinkCarriesLargeMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := newConn(near, nil, false, Options{PingInterval: -1})
		written := make(chan error, 1)
		go func() { written <- c.Write([][]byte{make([]byte, 8<<20)}) }()
		buf := make([]byte, 1<<20)
		for got := 0; got < 8<<20; {
			time.Sleep(12 * time.Second) // 87 KB/s, 96 s in all
			n, err := io.ReadFull(far, buf[:min(len(buf), 8<<20+10-got)])
			if err != nil {
				t.Fatalf("after %d bytes: %v", got, err)
			}
			got += n
		}
		_, _ = io.ReadFull(far, buf[:10])
		if err := <-written; err != nil {
			t.Errorf("write: %v", err)
		}
		_ = far.Close()
		_ = c.Close(transport.CodeNormal, "")
	})
}

// TestBatchIsOneWrite is the promise that relaying rests on.
func TestBatchIsOneWrite(t *testing.T) {
	for _, client := range []bool{false, true} {
		nc := &scriptConn{}
		c := newConn(nc, nil, client, Options{PingInterval: -1})
		if err := c.Write(batchOf(100, 200)); err != nil {
			t.Fatal(err)
		}
		if nc.writes != 1 {
			t.Errorf("client %v: 100 messages of 200 bytes took %d writes, want 1", client, nc.writes)
		}
	}
}

func batchOf(n, size int) [][]byte {
	m := []byte(strings.Repeat("x", size))
	batch := make([][]byte, n)
	for i := range batch {
		batch[i] = m
	}
	return batch
}

func TestWriteDoesNotAllocate(t *testing.T) {
	c := newConn(&discardConn{}, nil, false, Options{PingInterval: -1})
	batch := batchOf(100, 200)
	got := testing.AllocsPerRun(100, func() { _ = c.Write(batch) })
	if got >= 1 {
		t.Errorf("a batch of 100 cost %v allocations, want none", got)
	}
}

type discardConn struct{ scriptConn }

func (*discardConn) Write(b []byte) (int, error) { return len(b), nil }

// TestWriteModel: whatever the batches, the wire holds exactly these messages,
// one final text frame each, masked if and only if we are the client.
func TestWriteModel(t *testing.T) {
	sizes := rapid.OneOf(rapid.IntRange(0, 300), rapid.SampledFrom([]int{
		125, 126, 4070, 4096, gatherBytes - 1, gatherBytes, largeBytes - 14, largeBytes, 65535, 65536, pieceBytes + 1,
	}))
	rapid.Check(t, func(t *rapid.T) {
		client := rapid.Bool().Draw(t, "client")
		nc := &scriptConn{}
		c := newConn(nc, nil, client, Options{PingInterval: -1})
		var want [][]byte
		for range rapid.IntRange(1, 3).Draw(t, "batches") {
			var batch [][]byte
			for i, n := range rapid.SliceOfN(sizes, 0, 5).Draw(t, "sizes") {
				batch = append(batch, bytes.Repeat([]byte{byte('a' + i)}, n))
			}
			if err := c.Write(batch); err != nil {
				t.Fatal(err)
			}
			want = append(want, batch...)
		}
		r := bytes.NewReader(nc.out)
		for i, m := range want {
			wantTextFrame(t, r, i, m, client)
		}
		if r.Len() != 0 {
			t.Fatalf("%d bytes too many", r.Len())
		}
	})
}

func wantTextFrame(t *rapid.T, r io.Reader, i int, m []byte, masked bool) {
	h, err := ws.ReadHeader(r)
	if err != nil {
		t.Fatalf("message %d: %v", i, err)
	}
	if !h.Fin || h.OpCode != ws.OpText || h.Masked != masked || h.Rsv != 0 {
		t.Fatalf("message %d: header %+v", i, h)
	}
	p := make([]byte, h.Length)
	if _, err := io.ReadFull(r, p); err != nil {
		t.Fatalf("message %d: %v", i, err)
	}
	if masked {
		ws.Cipher(p, h.Mask, 0)
	}
	if !bytes.Equal(p, m) {
		t.Fatalf("message %d: %d bytes differ from the %d written", i, len(p), len(m))
	}
}

// TestWriteKeepsTheCallersBytes: masking must not touch what it was given.
func TestWriteKeepsTheCallersBytes(t *testing.T) {
	c := newConn(&scriptConn{}, nil, true, Options{PingInterval: -1})
	m := []byte("untouched")
	if err := c.Write([][]byte{m}); err != nil || string(m) != "untouched" {
		t.Errorf("got %q, %v", m, err)
	}
}

// brokenPipe is a socket whose peer has refused us: writing fails at once, and
// the frame that says why is read a little later.
type brokenPipe struct{ net.Conn }

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestBrokenPipeIsExplained: the writer hears the peer's reason instead.
func TestBrokenPipeIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := newConn(brokenPipe{near}, nil, true, Options{})
		end := reading(c)
		time.AfterFunc(closeTimeout/2, func() {
			f, _ := ws.CompileFrame(ws.NewCloseFrame(ws.NewCloseFrameBody(1009, "limit")))
			_, _ = far.Write(f)
		})
		err := c.Write([][]byte{make([]byte, 1<<20)})
		wantCloseError(t, err, transport.CodeTooBig, true)
		wantCloseError(t, <-end, transport.CodeTooBig, true)
		_ = c.Close(transport.CodeNormal, "")
	})
}

// TestBrokenPipeUnexplained: without a reason the failure itself is reported.
func TestBrokenPipeUnexplained(t *testing.T) {
	for _, size := range []int{1, smallBytes, gatherBytes, largeBytes, 2 * pieceBytes} {
		synctest.Test(t, func(t *testing.T) {
			near, _ := net.Pipe()
			c := newConn(brokenPipe{near}, nil, false, Options{})
			begin := time.Now()
			if err := c.Write([][]byte{make([]byte, size)}); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("got %v, want EPIPE", err)
			}
			if took := time.Since(begin); took != closeTimeout {
				t.Errorf("took %v, want %v", took, closeTimeout)
			}
			_ = c.Close(transport.CodeNormal, "")
		})
	}
}
