package websocket

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/gobwas/ws"
)

func TestCloseCodesBothWays(t *testing.T) {
	codes := []transport.Code{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1011, 1012, 1013, 3000, 4999}
	for _, code := range codes {
		for _, byHost := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				closer, other := pair(t, Options{}, Options{})
				if !byHost {
					closer, other = other, closer
				}
				end, otherEnd := reading(closer), reading(other)
				begin := time.Now()
				if err := closer.Close(code, "because"); err != nil {
					t.Errorf("close: %v", err)
				}
				if took := time.Since(begin); took != 0 {
					t.Errorf("close took %v although the peer answers", took)
				}
				ce := wantCloseError(t, <-otherEnd, code, true)
				if ce.Reason != "because" {
					t.Errorf("got reason %q", ce.Reason)
				}
				wantCloseError(t, <-end, code, false)
			})
		}
	}
}

func TestCloseWithoutCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := rawPair(t, Options{})
		peer.send(frame(true, ws.OpClose, ""))
		_, err := c.Read()
		wantCloseError(t, err, transport.CodeNoStatus, true)
		peer.wantFrame(ws.OpClose, nil)
	})
}

func TestCloseWhatMayNotBeSent(t *testing.T) {
	for _, code := range []transport.Code{0, 1005, 1006, 1015, 2999, 5000} {
		synctest.Test(t, func(t *testing.T) {
			c, peer := rawPair(t, Options{})
			_ = c.Close(code, "")
			peer.wantClose(transport.CodeInternal)
		})
	}
}

func TestCutReason(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"fine", "fine"},
		{strings.Repeat("a", 123), strings.Repeat("a", 123)},
		{strings.Repeat("a", 124), strings.Repeat("a", 123)},
		{strings.Repeat("€", 41), strings.Repeat("€", 41)},
		{strings.Repeat("€", 42), strings.Repeat("€", 41)},
		{strings.Repeat("a", 122) + "€", strings.Repeat("a", 122)},
		{"a\xc3", "a\uFFFD"},
	}
	for _, tt := range tests {
		got := cutReason(tt.in)
		if got != tt.want || !utf8.ValidString(got) {
			t.Errorf("cutReason(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestCloseUnblocks: Close ends a waiting Read and a stuck Write, with a peer
// that neither reads nor answers, within its bound.
func TestCloseUnblocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, _ := blockedPair()
		c := newConn(near, nil, false, Options{})
		end := reading(c)
		written := make(chan error, 1)
		go func() { written <- c.Write([][]byte{[]byte("stuck")}) }()
		synctest.Wait()
		begin := time.Now()
		_ = c.Close(transport.CodeGoingAway, "shutdown")
		if took := time.Since(begin); took > closeTimeout {
			t.Errorf("close took %v", took)
		}
		wantCloseError(t, <-end, transport.CodeGoingAway, false)
		wantCloseError(t, <-written, transport.CodeGoingAway, false)
	})
}

// TestCloseWaitsForRunningWrite: a message under way is finished before the
// close frame goes out.
func TestCloseWaitsForRunningWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := rawPair(t, Options{})
		big := make([]byte, 100<<10)
		written := make(chan error, 1)
		go func() { written <- c.Write([][]byte{big}) }()
		go c.Close(transport.CodeNormal, "")
		f := <-peer.frames
		if f.Header.OpCode == ws.OpClose {
			wantCloseError(t, <-written, transport.CodeNormal, false) // Close came first
			return
		}
		peer.wantClose(transport.CodeNormal)
		if err := <-written; err != nil {
			t.Errorf("write: %v", err)
		}
	})
}

// TestCloseAwaitsAnswer: nobody is reading, the peer still has things to send,
// and its close frame comes after half of the time allowed.
func TestCloseAwaitsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := rawPair(t, Options{})
		time.AfterFunc(closeTimeout/2, func() {
			peer.send(join(
				frame(true, ws.OpText, strings.Repeat("late", 5000)),
				frame(true, ws.OpPing, "late"),
				frame(true, ws.OpClose, "\x03\xe8"),
			))
		})
		begin := time.Now()
		_ = c.Close(transport.CodeNormal, "")
		if took := time.Since(begin); took != closeTimeout/2 {
			t.Errorf("close took %v, want %v", took, closeTimeout/2)
		}
		peer.wantClose(transport.CodeNormal)
		if f, more := <-peer.frames; more {
			t.Errorf("got frame %#x after the close frame", f.Header.OpCode)
		}
	})
}

// TestCloseWithoutAnswer: a peer that reads and says nothing.
func TestCloseWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := rawPair(t, Options{})
		begin := time.Now()
		_ = c.Close(transport.CodeNormal, "")
		if took := time.Since(begin); took != closeTimeout {
			t.Errorf("close took %v, want %v", took, closeTimeout)
		}
		peer.wantClose(transport.CodeNormal)
	})
}

func TestCloseConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hc, cc := pair(t, Options{}, Options{})
		end := reading(cc)
		done := make(chan struct{}, 8)
		for range cap(done) {
			go func() {
				_ = hc.Close(transport.CodePolicy, "once")
				done <- struct{}{}
			}()
		}
		for range cap(done) {
			<-done
		}
		wantCloseError(t, <-end, transport.CodePolicy, true)
	})
}

// TestCloseCrossing: both sides close at once, each keeps its own cause.
func TestCloseCrossing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hc, cc := pair(t, Options{}, Options{})
		hostEnd, clientEnd := reading(hc), reading(cc)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = hc.Close(transport.CodeGoingAway, "")
		}()
		_ = cc.Close(transport.CodeNormal, "")
		<-done
		for _, end := range []<-chan error{hostEnd, clientEnd} {
			if err := <-end; err == nil || strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) {
				t.Errorf("got %v, want a close", err)
			}
		}
	})
}

// TestMessagesBeforeCloseArrive: what was written before Close is read before
// the close.
func TestMessagesBeforeCloseArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hc, cc := pair(t, Options{}, Options{})
		go func() {
			mustWrite(t, hc, "1", "2", "3")
			_ = hc.Close(transport.CodeNormal, "")
		}()
		for _, want := range []string{"1", "2", "3"} {
			if got := mustRead(t, cc); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		_, err := cc.Read()
		wantCloseError(t, err, transport.CodeNormal, true)
	})
}
