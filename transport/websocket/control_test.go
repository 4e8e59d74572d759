package websocket

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/gobwas/ws"
)

// reading keeps a Read running and reports how it ended.
func reading(c *Conn) <-chan error {
	end := make(chan error, 1)
	go func() {
		for {
			if _, err := c.Read(); err != nil {
				end <- err
				return
			}
		}
	}()
	return end
}

func TestPingIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := rawPair(t, Options{})
		reading(c)
		for _, p := range []string{"", "x", string(bytes.Repeat([]byte("p"), 125))} {
			peer.send(frame(true, ws.OpPing, p))
			peer.wantFrame(ws.OpPong, []byte(p))
		}
		if got, want := c.Stats(), (Stats{PingsReceived: 3}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// TestPingFlood: a peer that pings without reading must not make us keep more
// than one answer, nor stop us from reading.
func TestPingFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pings = 10_000
		near, far := blockedPair()
		c := newConn(near, nil, false, Options{})
		go far.feed(join(bytes.Repeat(frame(true, ws.OpPing, "flood"), pings), frame(true, ws.OpText, "through")))
		if got := mustRead(t, c); got != "through" {
			t.Fatalf("got %q", got)
		}
		s := c.Stats()
		// One pong is being written, one waits.
		if s.PingsReceived != pings || s.PongsCoalesced < pings-2 {
			t.Errorf("got %+v, want %d pings of which all but two coalesced", s, pings)
		}
		_ = c.Close(transport.CodeNormal, "")
	})
}

// TestPongDoesNotCutMessage: a pong that is due while a message is being
// written waits for its end.
func TestPongDoesNotCutMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := blockedPair()
		c := newConn(near, nil, false, Options{})
		reading(c)
		big := bytes.Repeat([]byte("m"), 3<<20)
		done := make(chan error, 1)
		go func() { done <- c.Write([][]byte{big, []byte("second")}) }()
		synctest.Wait() // the writer stands in the middle of the message
		far.feed(frame(true, ws.OpPing, "now"))
		synctest.Wait()
		peer := newRawPeer(t, far)
		peer.wantFrame(ws.OpText, big)
		peer.wantFrame(ws.OpPong, []byte("now"))
		peer.wantFrame(ws.OpText, []byte("second"))
		if err := <-done; err != nil {
			t.Errorf("write: %v", err)
		}
		_ = far.Close()
		_ = c.Close(transport.CodeNormal, "")
	})
}

// TestHalfOpen: a peer that is gone without a trace is noticed after the ping
// interval plus the pong timeout, and both calls report it (cases 32).
func TestHalfOpen(t *testing.T) {
	tests := []struct {
		name   string
		client bool
		o      Options
		want   time.Duration
	}{
		{"host default", false, Options{}, 60 * time.Second},
		{"client default", true, Options{}, 40 * time.Second},
		{"chosen", false, Options{PingInterval: 5 * time.Second, PongTimeout: 2 * time.Second}, 7 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := rawRole(t, tt.client, tt.o)
				begin := time.Now()
				_, err := c.Read()
				if !errors.Is(err, transport.ErrPeerSilent) {
					t.Fatalf("got %v, want ErrPeerSilent", err)
				}
				if got := time.Since(begin); got != tt.want {
					t.Errorf("noticed after %v, want %v", got, tt.want)
				}
				if werr := c.Write([][]byte{{}}); !errors.Is(werr, transport.ErrPeerSilent) {
					t.Errorf("write: got %v, want ErrPeerSilent", werr)
				}
			})
		})
	}
}

// TestAnyFrameIsLife: no pong at all, but a message each half minute.
func TestAnyFrameIsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := rawPair(t, Options{})
		end := reading(c)
		for range 20 {
			time.Sleep(50 * time.Second)
			peer.send(frame(true, ws.OpText, "alive"))
		}
		synctest.Wait()
		select {
		case err := <-end:
			t.Errorf("connection ended: %v", err)
		default:
		}
	})
}

// TestIdlePairStaysUp: two ends of ours keep each other alive for a day.
func TestIdlePairStaysUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hc, cc := pair(t, Options{}, Options{})
		hostEnd, clientEnd := reading(hc), reading(cc)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		select {
		case err := <-hostEnd:
			t.Errorf("host ended: %v", err)
		case err := <-clientEnd:
			t.Errorf("client ended: %v", err)
		default:
		}
		if n := cc.Stats().PingsSent; n < 4000 {
			t.Errorf("client sent %d pings in a day, want one each 20 s", n)
		}
	})
}

// TestBusyReaderIsNotSilence: when our own user does not read for minutes, the
// peer is not to blame, and must not think us gone either.
func TestBusyReaderIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := elasticPair() // a ping must fit somewhere while nobody reads
		hc, cc := newConn(near, nil, false, Options{}), newConn(far, nil, true, Options{})
		clientEnd := reading(cc)
		mustWrite(t, cc, "before")
		mustRead(t, hc)
		time.Sleep(10 * time.Minute) // no Read on the host
		mustWrite(t, cc, "after")
		if got := mustRead(t, hc); got != "after" {
			t.Errorf("got %q", got)
		}
		select {
		case err := <-clientEnd:
			t.Errorf("client ended: %v", err)
		default:
		}
		reading(hc)
		_ = cc.Close(transport.CodeNormal, "")
		_ = hc.Close(transport.CodeNormal, "")
	})
}

func TestKeepaliveOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := rawPair(t, Options{PingInterval: -1})
		reading(c)
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case f := <-peer.frames:
			t.Errorf("got frame %#x, want silence", f.Header.OpCode)
		default:
		}
	})
}
