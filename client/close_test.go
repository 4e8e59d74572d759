package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/transport"
)

// closing is a moment at which a client is closed. Before prepares the world,
// after makes use of the client.
type closing struct {
	before func(w *world)
	after  func(t *testing.T, w *world, c *client.Client)
}

var closings = map[string]closing{
	"at once":            {},
	"while refused":      {before: func(w *world) { w.link("laptop").Refuse(true) }},
	"while dialling":     {before: func(w *world) { w.link("laptop").Stall() }},
	"in the first pause": {before: func(w *world) { w.link("laptop").CutAfter(simnet.Down, 200) }},
	"in a handshake":     {before: stallAfterUpgrade},
	"while live":         {after: ready},
	"in a pause":         {after: func(t *testing.T, w *world, c *client.Client) { ready(t, w, c); offline(w) }},
	"in a long pause": {after: func(t *testing.T, w *world, c *client.Client) {
		ready(t, w, c)
		offline(w)
		time.Sleep(10*time.Minute + time.Millisecond)
	}},
	"while dialling again": {after: func(t *testing.T, w *world, c *client.Client) {
		ready(t, w, c)
		w.link("laptop").Cut()
		w.link("laptop").Stall()
		time.Sleep(time.Second)
	}},
	"in a reconnect": {after: func(t *testing.T, w *world, c *client.Client) {
		ready(t, w, c)
		stallAfterUpgrade(w)
		w.link("laptop").Cut()
		time.Sleep(time.Second)
	}},
	"with a stuck writer": {after: func(t *testing.T, w *world, c *client.Client) {
		ready(t, w, c)
		_, chat := w.newSession(c)
		w.link("laptop").Set(simnet.Profile{BufferBytes: 16})
		w.link("laptop").Stall()
		chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(strings.Repeat("x", 4096))})
	}},
	"with a stuck subscribe": {after: func(t *testing.T, w *world, c *client.Client) {
		ready(t, w, c)
		w.link("laptop").Stall()
		go func() { _, _ = c.Root(t.Context()) }()
	}},
	"with a stuck list": {after: func(t *testing.T, w *world, c *client.Client) {
		ready(t, w, c)
		must(c.Sessions(t.Context()))(t)
		w.link("laptop").CutAfter(simnet.Down, 1)
		_, _ = c.Root(t.Context())
		_ = c.Ping(t.Context())
	}},
	"with channels to mend": {after: func(t *testing.T, w *world, c *client.Client) {
		ready(t, w, c)
		uri := ahp.URI(ahp.ResourceWatchPrefix + "1")
		if err := w.h.Create(uri, &ahp.ResourceWatchState{}, ""); err != nil {
			t.Fatal(err)
		}
		must(c.Subscribe(t.Context(), uri, client.SubscribeOptions{}))(t)
		w.link("laptop").Cut()
		w.link("laptop").Set(simnet.Profile{Latency: latency})
		waitBack(t, c) // the fresh snapshot is on its way
	}},
}

func ready(t *testing.T, _ *world, c *client.Client) {
	t.Helper()
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// offline cuts the link for good.
func offline(w *world) {
	w.link("laptop").Refuse(true)
	w.link("laptop").Cut()
}

// stallAfterUpgrade lets connections come about whose handshakes are never
// answered.
func stallAfterUpgrade(w *world) {
	w.wrap = func(c transport.Conn) transport.Conn { return deaf{c} }
}

// deaf is the end of a host that hears nothing.
type deaf struct{ transport.Conn }

func (d deaf) Read() ([]byte, error) {
	for {
		if _, err := d.Conn.Read(); err != nil {
			return nil, err
		}
	}
}

// No failure leaves a goroutine behind: the bubble would not end.
func TestCloseWaitsForEverything(t *testing.T) {
	for name, tc := range closings {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				if tc.before != nil {
					tc.before(w)
				}
				opts := client.Options{Dialer: w.net.Dialer("laptop")}
				c := client.New(t.Context(), client.WebSocket("ws://"+hostAddr+"/", opts), opts)
				if tc.after != nil {
					tc.after(t, w, c)
				}
				synctest.Wait()
				closeQuickly(t, c)
				if s := c.Status(); s.State != client.Closed {
					t.Errorf("status %v after close", s)
				}
			})
		})
	}
}

// closeQuickly closes a client, twice since that is allowed.
func closeQuickly(t *testing.T, c *client.Client) {
	t.Helper()
	began := time.Now()
	_ = c.Close()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("close took %v", took)
	}
	_ = c.Close()
}

// waiters are callers that block in every way a client offers, each with the
// error that must end it when the client is closed.
type waiters struct {
	t   *testing.T
	all sync.WaitGroup
}

func (x *waiters) wait(what string, want error, f func() error) {
	x.all.Go(func() {
		if err := f(); !errors.Is(err, want) {
			x.t.Errorf("%s: %v, want %v", what, err, want)
		}
	})
}

// lastError ranges to the end and returns the error there.
func lastError(ctx context.Context, h *client.Channel) (last error) {
	for _, err := range h.Updates(ctx) {
		last = err
	}
	return last
}

// Close ends whoever waits for the client, at once and each with a reason,
// whether the connection lives or not.
func TestCloseEndsEveryWaiter(t *testing.T) {
	for name, lose := range map[string]func(w *world){
		"live":    func(*world) {},
		"stalled": func(w *world) { w.link("laptop").Stall() },
		"offline": offline,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.agent.turn = untilCancelled
				c := w.dial("laptop", client.Options{})
				s, chat := w.newSession(c)
				turn := must(chat.Send(t.Context(), "go"))(t)
				list := must(c.Sessions(t.Context()))(t)
				lose(w)
				synctest.Wait()

				x := &waiters{t: t}
				x.wait("turn", client.ErrClosed, func() error { _, err := turn.Wait(t.Context()); return err })
				for range 10 {
					x.wait("updates", client.ErrClosed, func() error { return lastError(t.Context(), chat.Channel) })
				}
				x.wait("condition", client.ErrClosed, func() error {
					return s.Wait(t.Context(), func(any) bool { return false })
				})
				x.wait("list", client.ErrClosed, func() error {
					for _, err := range list.Updates(t.Context()) {
						if err != nil {
							return err
						}
					}
					return nil
				})
				x.wait("statuses", nil, func() error {
					for range c.Statuses(t.Context()) {
					}
					return nil
				})
				synctest.Wait()
				began := time.Now()
				go closeQuickly(t, c)
				x.all.Wait()
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("the last waiter ended after %v", took)
				}
			})
		})
	}
}

// Close tells of each pending action whether it may have been applied.
func TestCloseEndsPendingActionsTruthfully(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		link := w.link("laptop")
		link.Set(simnet.Profile{BufferBytes: 1024}, simnet.Up)
		link.Stall(simnet.Up)
		draft := func(text string) *client.Dispatch {
			return chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(text)})
		}
		written := draft(strings.Repeat("x", 4096)) // the writer waits in it
		synctest.Wait()
		var waiting []*client.Dispatch
		for n := range 100 {
			waiting = append(waiting, draft(fmt.Sprint(n)))
		}
		closeQuickly(t, c)
		wantErr(t, "action that was being written", written.Err(), client.ErrUnknownOutcome)
		for n, d := range waiting {
			if !errors.Is(d.Err(), client.ErrNotSent) {
				t.Errorf("action %d: %v, want not sent", n, d.Err())
			}
		}
		if n := c.Stats().Pending; n != 0 {
			t.Errorf("%d actions pending after close", n)
		}
	})
}

// A client that has given up holds nothing any more, and is closed like others.
func TestCloseAfterGivingUp(t *testing.T) {
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, hosts chan *scripted) {
		s := subscribeScripted(t, c, h, "title", 0)
		x := &waiters{t: t}
		x.wait("updates", client.ErrGivenUp, func() error { return lastError(t.Context(), s.Channel) })
		x.wait("condition", client.ErrGivenUp, func() error {
			return s.Wait(t.Context(), func(any) bool { return false })
		})
		synctest.Wait()
		h.close()
		h = <-hosts
		h.fail(t, "reconnect", ahp.CodeNotFound, "who?")
		h.fail(t, "initialize", ahp.CodePermissionDenied, "not you")
		x.all.Wait()
		closeQuickly(t, c)
		wantErr(t, "request", c.Ping(t.Context()), client.ErrGivenUp)
	})
}

// Case 16: requests made at any moment without a connection, and those in flight
// when the client is closed, fail at once.
func TestRequestsInFlightFailWhenTheClientIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		w.link("laptop").Stall()
		errs := make(chan error, 1000)
		for range cap(errs) {
			go func() { errs <- c.Ping(t.Context()) }()
		}
		synctest.Wait()
		began := time.Now()
		go closeQuickly(t, c)
		for range cap(errs) {
			var lost *client.LostError
			if err := <-errs; !errors.As(err, &lost) {
				t.Fatalf("request: %v, want a LostError", err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the last request failed after %v", took)
		}
	})
}

func TestRequestsWhileConnectingFailAtOnce(t *testing.T) {
	for _, name := range []string{"while refused", "while dialling", "in a handshake", "in the first pause"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				closings[name].before(w)
				opts := client.Options{Dialer: w.net.Dialer("laptop")}
				c := client.New(t.Context(), client.WebSocket("ws://"+hostAddr+"/", opts), opts)
				defer c.Close()
				synctest.Wait()
				began := time.Now()
				var lost *client.LostError
				if err := c.Ping(t.Context()); !errors.As(err, &lost) || lost.Sent {
					t.Errorf("request: %v, want a LostError that was not sent", err)
				}
				if _, err := c.Root(t.Context()); !errors.Is(err, client.ErrConnectionLost) {
					t.Errorf("subscribe: %v", err)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("failed after %v", took)
				}
			})
		})
	}
}
