package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

func TestStatusTellsTheTruth(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		if s := c.Status(); s.State != client.Live || s.Err != nil || s.String() != "live" {
			t.Errorf("status %v", s)
		}
		w.link("laptop").Refuse(true)
		w.link("laptop").Cut()
		lost := time.Now()
		synctest.Wait()
		time.Sleep(time.Minute)
		s := c.Status()
		if s.State != client.Reconnecting || !s.Since.Equal(lost) || s.Err == nil || s.Attempts < 3 || s.Retry.Before(time.Now()) {
			t.Errorf("status %+v a minute after the loss", s)
		}
		if !strings.HasPrefix(s.String(), "reconnecting: ") {
			t.Errorf("status reads %q", s)
		}
		w.link("laptop").Refuse(false)
		waitState(t, c, client.Live)
		if s := c.Status(); s.Err != nil || s.Attempts != 0 {
			t.Errorf("status %+v when live again", s)
		}
	})
}

func TestStatusesEndWithTheFinalOne(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		var seen []client.State
		var wg sync.WaitGroup
		wg.Go(func() {
			for s := range c.Statuses(t.Context()) {
				seen = append(seen, s.State)
			}
		})
		synctest.Wait()
		_ = c.Close()
		wg.Wait()
		if len(seen) != 2 || seen[0] != client.Live || seen[1] != client.Closed {
			t.Errorf("states %v", seen)
		}
	})
}

// Case 36: pauses grow to a bound, whatever the way in which a host fails.
func TestAttemptsBecomeRare(t *testing.T) {
	for name, behave := range map[string]func(*scripted){
		"closes at once": func(h *scripted) { h.close() },
		"closes after the handshake": func(h *scripted) {
			if m, ok := <-h.messages; ok && strings.Contains(string(m), `"initialize"`) {
				h.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.1.0","serverSeq":0,"snapshots":[]}}`)
			}
			h.close()
		},
		"fails every reconnect": func(h *scripted) {
			for m := range h.messages {
				if strings.Contains(string(m), `"reconnect"`) {
					h.close()
					return
				}
				h.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.1.0","serverSeq":0,"snapshots":[]}}`)
				h.close()
			}
		},
		"fails every initialize": func(h *scripted) {
			<-h.messages
			h.send(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"not today"}}`)
		},
		"answers nonsense": func(h *scripted) {
			<-h.messages
			h.send(`{"jsonrpc":"2.0","id":1,"result":[]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hosts := make(chan *scripted)
				c := client.New(t.Context(), scriptedHost(hosts), client.Options{})
				attempts := 0
				end := time.After(10 * time.Minute)
				for running := true; running; {
					select {
					case h := <-hosts:
						attempts++
						behave(h)
					case <-end:
						running = false
					}
				}
				// 30 s at most, half of it random: 20 to 40 in ten minutes, and
				// some more in the first.
				if attempts < 20 || attempts > 60 {
					t.Errorf("%d attempts in ten minutes", attempts)
				}
				_ = c.Close()
			})
		})
	}
}

func TestPausesBeginAnewAfterAHealthyConnection(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		w.link("laptop").Refuse(true)
		w.link("laptop").Cut()
		time.Sleep(5 * time.Minute)
		w.link("laptop").Refuse(false)
		waitState(t, c, client.Live)
		time.Sleep(time.Minute)
		w.link("laptop").Cut()
		lost := time.Now()
		waitBack(t, c)
		if took := time.Since(lost); took > 200*time.Millisecond {
			t.Errorf("back after %v", took)
		}
	})
}

// Case 36: what stays is not tried again.
func TestHopelessFailuresAreGivenUp(t *testing.T) {
	for name, tc := range map[string]struct {
		code int
		want error
	}{
		"version":        {ahp.CodeUnsupportedProtocolVersion, ahp.ErrUnsupportedProtocolVersion},
		"foreign id":     {ahp.CodePermissionDenied, ahp.ErrPermissionDenied},
		"no such method": {-32601, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hosts := make(chan *scripted, 1)
				c := client.New(t.Context(), scriptedHost(hosts), client.Options{})
				(<-hosts).fail(t, "initialize", tc.code, "no")
				err := c.Ready(t.Context())
				wantErr(t, "ready", err, client.ErrGivenUp)
				if tc.want != nil {
					wantErr(t, "ready", err, tc.want)
				}
				wantErr(t, "request", c.Ping(t.Context()), client.ErrGivenUp)
				time.Sleep(time.Hour)
				if len(hosts) != 0 {
					t.Error("the client dialled again")
				}
				if s := c.Status(); s.State != client.GivenUp || s.Err == nil {
					t.Errorf("status %v", s)
				}
				_ = c.Close()
				if s := c.Status(); s.State != client.GivenUp {
					t.Errorf("status %v after close: giving up is final", s)
				}
			})
		})
	}
}

func TestChannelsEndWhenTheClientGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := make(chan *scripted, 1)
		c := client.New(t.Context(), scriptedHost(hosts), client.Options{})
		defer c.Close()
		h := <-hosts
		h.welcome(t)
		s := subscribeScripted(t, c, h, "title", 0)
		h.close()
		h = <-hosts
		h.fail(t, "reconnect", ahp.CodeNotFound, "who?")
		d := s.SetTitle("unsent")
		h.fail(t, "initialize", ahp.CodeUnsupportedProtocolVersion, "too old")
		<-s.Done()
		wantErr(t, "channel", s.Err(), client.ErrGivenUp)
		wantErr(t, "channel", s.Err(), ahp.ErrUnsupportedProtocolVersion)
		wantErr(t, "action", d.Wait(t.Context()), client.ErrNotSent)
		for _, err := range s.Updates(t.Context()) {
			if err != nil {
				wantErr(t, "updates", err, client.ErrGivenUp)
			}
		}
	})
}

// subscribeScripted subscribes to the session of a scripted host.
func subscribeScripted(t *testing.T, c *client.Client, h *scripted, title string, seq int) *client.Session {
	t.Helper()
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := make(chan *client.Session)
	go func() {
		s, err := c.Session(t.Context(), sessionURI)
		if err != nil {
			t.Error(err)
		}
		done <- s
	}()
	h.answer(t, "subscribe", `{"snapshot":`+sessionSnapshot(title, seq)+`}`)
	s := <-done
	if s == nil {
		t.FailNow()
	}
	return s
}

func TestFirstAttemptOfDialMustSucceed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.link("laptop").Refuse(true)
		began := time.Now()
		_, err := client.Dial(t.Context(), "ws://"+hostAddr+"/", client.Options{Dialer: w.net.Dialer("laptop")})
		if err == nil || errors.Is(err, client.ErrGivenUp) || time.Since(began) != 0 {
			t.Errorf("dial: %v after %v, want the plain cause at once", err, time.Since(began))
		}
		w.link("laptop").Stall()
		w.link("laptop").Refuse(false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = client.Dial(ctx, "ws://"+hostAddr+"/", client.Options{Dialer: w.net.Dialer("laptop")})
		wantErr(t, "dial with a deadline", err, context.DeadlineExceeded)
		_, err = client.Dial(t.Context(), "http://"+hostAddr+"/", client.Options{})
		wantErr(t, "dial of another scheme", err, websocket.ErrScheme)
	})
}

func TestSilentHandshakeHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := make(chan *scripted, 1)
		c := client.New(t.Context(), scriptedHost(hosts), client.Options{HandshakeTimeout: time.Second})
		defer c.Close()
		<-hosts
		began := time.Now()
		<-hosts // the next attempt
		if took := time.Since(began); took < time.Second || took > 2*time.Second {
			t.Errorf("next attempt after %v", took)
		}
	})
}

func TestAddressIsResolvedAnewAtEachAttempt(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var asked []string
		dial := w.net.Dialer("laptop")
		c := w.dial("laptop", client.Options{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			asked = append(asked, addr)
			return dial(ctx, network, addr)
		}})
		w.link("laptop").Cut()
		waitBack(t, c)
		if len(asked) != 2 || asked[0] != hostAddr || asked[1] != hostAddr {
			t.Errorf("dialled %q", asked)
		}
	})
}

func TestPermanentErrorsOfADialFuncEndTheAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		dials := 0
		c := client.New(t.Context(), func(context.Context) (transport.Conn, error) {
			if dials++; dials < 3 {
				return nil, boom
			}
			return nil, client.Permanent(fmt.Errorf("for good: %w", boom))
		}, client.Options{})
		defer c.Close()
		err := c.Ready(t.Context())
		wantErr(t, "ready", err, client.ErrGivenUp)
		wantErr(t, "ready", err, boom)
		if dials != 3 {
			t.Errorf("dialled %d times", dials)
		}
		if client.Permanent(nil) != nil {
			t.Error("no error became one")
		}
	})
}

// Case 28: neither logs nor errors repeat a token or a payload.
func TestLogsHoldNoSecrets(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const token, prompt = "t0ken-0123", "pr0mpt-4567"
		var log bytes.Buffer
		opts := client.Options{
			Dialer: w.net.Dialer("laptop"),
			Log:    slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		}
		c := must(client.Dial(t.Context(), "ws://"+hostAddr+"/?tkn="+token, opts))(t)
		_, chat := w.newSession(c)
		must(chat.Send(t.Context(), prompt))(t)
		w.link("laptop").Refuse(true)
		w.link("laptop").Cut()
		time.Sleep(time.Minute)
		status := c.Status().String()
		_ = c.Close()
		for _, secret := range []string{token, prompt} {
			if strings.Contains(log.String(), secret) || strings.Contains(status, secret) {
				t.Errorf("%q was told:\n%s\n%s", secret, log.String(), status)
			}
		}
		if log.Len() == 0 {
			t.Error("nothing was logged")
		}
	})
}
