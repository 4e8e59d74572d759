package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

// pauses lets a client fail n times to connect and returns the time between its
// attempts. It must be called in a bubble.
func pauses(t *testing.T, n int, opts client.Options) []time.Duration {
	t.Helper()
	attempts := make(chan time.Time)
	c := client.New(t.Context(), func(ctx context.Context) (transport.Conn, error) {
		select {
		case attempts <- time.Now():
		case <-ctx.Done():
		}
		return nil, io.ErrUnexpectedEOF
	}, opts)
	defer c.Close()
	var list []time.Duration
	last := <-attempts
	for range n {
		at := <-attempts
		list = append(list, at.Sub(last))
		last = at
	}
	return list
}

// Case 36: each pause is twice the one before up to the cap, and half of it is
// random.
func TestPausesDoubleUpToTheCap(t *testing.T) {
	for name, opts := range map[string]client.Options{
		"by default": {},
		"as asked":   {BackoffMin: time.Second, BackoffMax: 10 * time.Second},
		"constant":   {BackoffMin: time.Minute, BackoffMax: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				full, limit := opts.BackoffMin, opts.BackoffMax
				if full == 0 {
					full, limit = 200*time.Millisecond, 30*time.Second
				}
				limit = max(full, limit)
				for n, got := range pauses(t, 100, opts) {
					if got < full/2 || got > full {
						t.Errorf("pause %d is %v, want %v to %v", n, got, full/2, full)
					}
					full = min(2*full, limit)
				}
			})
		})
	}
}

// The clients of a host that comes back do not arrive together.
func TestPausesDifferBetweenClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends []time.Duration
		for range 50 {
			var sum time.Duration
			for _, p := range pauses(t, 10, client.Options{}) {
				sum += p
			}
			ends = append(ends, sum)
		}
		slices.Sort(ends)
		if n := len(slices.Compact(ends)); n < 45 {
			t.Errorf("50 clients make their tenth attempt at %d different times", n)
		}
		if spread := ends[len(ends)-1] - ends[0]; spread < 2*time.Second {
			t.Errorf("50 clients make their tenth attempt within %v", spread)
		}
	})
}

// Case 36: only a connection that was healthy for a while lets the pauses begin
// anew.
func TestPausesBeginAnewOnlyAfterHealthyAfter(t *testing.T) {
	const healthy = 10 * time.Second
	for name, tc := range map[string]struct {
		lives time.Duration
		anew  bool
	}{
		"never live":   {0, false},
		"not quite":    {healthy - time.Millisecond, false},
		"long enough":  {healthy, true},
		"much longer":  {time.Hour, true},
		"for a moment": {time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hosts := make(chan *scripted)
				c := client.New(t.Context(), scriptedHost(hosts), client.Options{HealthyAfter: healthy})
				defer c.Close()
				for range 12 { // enough for the cap
					(<-hosts).close()
				}
				h := <-hosts
				if tc.lives > 0 {
					h.welcome(t)
					time.Sleep(tc.lives)
				}
				h.close()
				lost := time.Now()
				(<-hosts).close()
				if pause := time.Since(lost); (pause <= 200*time.Millisecond) != tc.anew {
					t.Errorf("a pause of %v after %v of life", pause, tc.lives)
				}
			})
		})
	}
}

// Case 36, with the real host: each of these is tried a bounded number of times.
func TestAttemptsAtAnUnreachableHostAreCounted(t *testing.T) {
	for name, fail := range map[string]func(w *world){
		"refused":          func(w *world) { w.link("laptop").Refuse(true) },
		"closes at once":   func(w *world) { w.wrap = func(c transport.Conn) transport.Conn { return broken{c} } },
		"answers with 500": func(w *world) { w.status = http.StatusInternalServerError },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				var asked []string
				dial := w.net.Dialer("laptop")
				c := w.dial("laptop", client.Options{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
					asked = append(asked, network+" "+addr)
					return dial(ctx, network, addr)
				}})
				asked = nil
				fail(w)
				w.link("laptop").Cut()
				time.Sleep(time.Minute)
				synctest.Wait()
				// Pauses of 0.2, 0.4, ... 25.6 s come to 51 s, or to half of that.
				if n := len(asked); n < 8 || n > 12 {
					t.Errorf("%d attempts in the first minute", n)
				}
				// The name is resolved anew each time: the dialer gets the name.
				for _, addr := range asked {
					if addr != "tcp "+hostAddr {
						t.Errorf("dialled %q", addr)
					}
				}
				if s := c.Status(); s.State != client.Reconnecting {
					t.Errorf("status %v", s)
				}
			})
		})
	}
}

// broken is the end of a host that breaks off at the first message.
type broken struct{ transport.Conn }

func (b broken) Read() ([]byte, error) {
	_, _ = b.Conn.Read()
	return nil, io.ErrUnexpectedEOF
}

// Case 36: a host that does not want this client any more is left alone.
func TestForbiddenReconnectIsGivenUp(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		bubble(t, func(t *testing.T, w *world) {
			dials := 0
			dial := w.net.Dialer("laptop")
			c := w.dial("laptop", client.Options{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials++
				return dial(ctx, network, addr)
			}})
			_, chat := w.newSession(c)
			w.status = status
			w.link("laptop").Cut()
			waitState(t, c, client.GivenUp)
			time.Sleep(time.Hour)
			synctest.Wait()
			if dials != 2 {
				t.Errorf("status %d: dialled %d times, want 2", status, dials)
			}
			var refused *websocket.HandshakeError
			if err := chat.Err(); !errors.Is(err, client.ErrGivenUp) || !errors.As(err, &refused) || refused.Status != status {
				t.Errorf("status %d: chat: %v", status, err)
			}
		})
	}
}
