package simnet_test

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/internal/simnet"
)

const hop = 10 * time.Millisecond

// TestEndOfStream walks through the ways a stream ends and what each end sees.
func TestEndOfStream(t *testing.T) {
	tests := []struct {
		name string
		run  func(t *testing.T, p pair)
	}{
		{"close delivers what was written, then EOF", func(t *testing.T, p pair) {
			mustWrite(t, p.near, "last words")
			p.near.Close()
			wantRead(t, p.far, "last words")
			wantReadError(t, p.far, io.EOF)
			wantReadError(t, p.far, io.EOF)
		}},
		{"half-close leaves the other direction open", func(t *testing.T, p pair) {
			mustWrite(t, p.near, "request")
			p.near.CloseWrite()
			wantWriteError(t, p.near, syscall.EPIPE)
			wantRead(t, p.far, "request")
			wantReadError(t, p.far, io.EOF)
			mustWrite(t, p.far, "response")
			p.far.Close()
			wantRead(t, p.near, "response")
			wantReadError(t, p.near, io.EOF)
			if err := p.near.Close(); err != nil {
				t.Error(err)
			}
		}},
		{"close with unread data resets the peer behind the data", func(t *testing.T, p pair) {
			mustWrite(t, p.far, "nobody reads this")
			time.Sleep(hop)
			mustWrite(t, p.near, "bye")
			p.near.Close()
			wantRead(t, p.far, "bye")
			wantReadError(t, p.far, syscall.ECONNRESET)
		}},
		{"linger zero resets the peer behind the data", func(t *testing.T, p pair) {
			p.near.SetLinger(0)
			mustWrite(t, p.near, "bye")
			p.near.Close()
			wantRead(t, p.far, "bye")
			wantReadError(t, p.far, syscall.ECONNRESET)
		}},
		{"data for a closed end brings a reset one round trip later", func(t *testing.T, p pair) {
			p.near.Close()
			wantReadError(t, p.far, io.EOF)
			mustWrite(t, p.far, "too late")
			time.Sleep(2*hop - time.Nanosecond)
			mustWrite(t, p.far, "not yet known")
			time.Sleep(time.Nanosecond)
			wantWriteError(t, p.far, syscall.EPIPE)
			wantReadError(t, p.far, io.EOF)
			if lost := p.link.Stats().Down.Lost; lost != 21 {
				t.Errorf("lost %d bytes, want 21", lost)
			}
		}},
		{"data on its way to an end that closes brings a reset", func(t *testing.T, p pair) {
			mustWrite(t, p.far, "on its way")
			p.near.Close()
			time.Sleep(2 * hop)
			wantReadError(t, p.far, io.EOF)
			wantWriteError(t, p.far, syscall.EPIPE)
		}},
		{"cut loses what is on its way and keeps what arrived", func(t *testing.T, p pair) {
			mustWrite(t, p.near, "arrived")
			time.Sleep(hop)
			mustWrite(t, p.near, "on its way")
			p.link.Cut()
			wantRead(t, p.far, "arrived")
			wantReadError(t, p.far, syscall.ECONNRESET)
			wantReadError(t, p.near, syscall.ECONNRESET)
			wantWriteError(t, p.near, syscall.ECONNRESET)
			wantWriteError(t, p.far, syscall.ECONNRESET)
		}},
		{"calls after close", func(t *testing.T, p pair) {
			p.near.Close()
			wantReadError(t, p.near, net.ErrClosed)
			wantWriteError(t, p.near, net.ErrClosed)
			for name, err := range map[string]error{
				"Close": p.near.Close(), "CloseWrite": p.near.CloseWrite(),
				"SetLinger": p.near.SetLinger(1), "SetDeadline": p.near.SetDeadline(time.Time{}),
			} {
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("%s after Close: %v, want net.ErrClosed", name, err)
				}
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.run(t, connect(t, simnet.Profile{Latency: hop}))
			})
		})
	}
}

// TestClosePendingCalls checks that closing and cutting release who waits.
func TestClosePendingCalls(t *testing.T) {
	end := map[string]struct {
		end  func(p pair)
		want error
	}{
		"close": {func(p pair) { p.near.Close() }, net.ErrClosed},
		"cut":   {func(p pair) { p.link.Cut() }, syscall.ECONNRESET},
	}
	for name, test := range end {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := connect(t, simnet.Profile{BufferBytes: 10})
				errs := make(chan error, 2)
				go func() {
					_, err := p.near.Read(make([]byte, 1))
					errs <- err
				}()
				go func() {
					_, err := p.near.Write(make([]byte, 11))
					errs <- err
				}()
				synctest.Wait()
				test.end(p)
				for range 2 {
					if err := <-errs; !errors.Is(err, test.want) {
						t.Errorf("pending call: %v, want %v", err, test.want)
					}
				}
			})
		})
	}
}

// TestConnectionsLeaveTheLink checks the count of open connections.
func TestConnectionsLeaveTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, simnet.Profile{})
		if got := p.link.Stats().Open; got != 1 {
			t.Errorf("open = %d, want 1", got)
		}
		p.near.Close()
		if got := p.link.Stats().Open; got != 1 {
			t.Errorf("open after one end closed = %d, want 1", got)
		}
		p.far.Close()
		if got := p.link.Stats().Open; got != 0 {
			t.Errorf("open after both ends closed = %d, want 0", got)
		}
	})
}
