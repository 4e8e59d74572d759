package client_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/go-json-experiment/json/jsontext"
)

// Case 16: everything in flight fails at once, with a typed error.
func TestThousandRequestsFailAtOnceWhenTheLinkIsCut(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		w.link("laptop").Stall()
		errs := make(chan error, 1000)
		for range cap(errs) {
			go func() { errs <- c.Ping(t.Context()) }()
		}
		synctest.Wait()
		cut := time.Now()
		w.link("laptop").Cut()
		for range cap(errs) {
			var lost *client.LostError
			if err := <-errs; !errors.As(err, &lost) || lost.Method != ahp.MethodPing || lost.Cause == nil {
				t.Fatalf("request: %v, want a LostError with its cause", err)
			}
		}
		if took := time.Since(cut); took != 0 {
			t.Errorf("the last request failed after %v", took)
		}
		w.link("laptop").Resume()
		waitBack(t, c)
		if err := c.Ping(t.Context()); err != nil {
			t.Errorf("after the reconnect: %v", err)
		}
	})
}

func TestRequestsWithoutAConnectionFailAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		w.link("laptop").Refuse(true)
		w.link("laptop").Cut()
		waitState(t, c, client.Reconnecting)
		var lost *client.LostError
		if err := c.Ping(t.Context()); !errors.As(err, &lost) || lost.Sent {
			t.Errorf("request: %v, want a LostError that was not sent", err)
		}
		if _, err := c.Root(t.Context()); !errors.Is(err, client.ErrConnectionLost) {
			t.Errorf("subscribe: %v", err)
		}
		_ = c.Close()
		wantErr(t, "request after close", c.Ping(t.Context()), client.ErrClosed)
		_, err := c.Root(t.Context())
		wantErr(t, "subscribe after close", err, client.ErrClosed)
		wantErr(t, "notification after close", c.Notify("x", nil), client.ErrClosed)
		wantErr(t, "ready after close", c.Ready(t.Context()), client.ErrClosed)
	})
}

// A request that was reported failed never leaves later: what waits behind a
// stalled write is dropped, and says that it was not sent.
func TestUnsentRequestsNeverLeave(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		link := w.link("laptop")
		link.Set(simnet.Profile{BufferBytes: 1024}, simnet.Up)
		link.Stall(simnet.Up)
		// This one fills the buffer, so that the writer waits in it.
		big := chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(strings.Repeat("x", 4096))})
		synctest.Wait()

		var wg sync.WaitGroup
		var stuck error
		wg.Go(func() {
			stuck = c.Call(t.Context(), ahp.MethodCreateSession, ahp.CreateSessionParams{Channel: client.NewSessionURI()}, nil)
		})
		ctx, cancel := context.WithCancel(t.Context())
		var cancelled error
		wg.Go(func() {
			cancelled = c.Call(ctx, ahp.MethodCreateSession, ahp.CreateSessionParams{Channel: client.NewSessionURI()}, nil)
		})
		later := chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage("later")})
		synctest.Wait()
		cancel()
		synctest.Wait()
		wantErr(t, "cancelled request", cancelled, context.Canceled)
		link.Cut()
		wg.Wait()
		var lost *client.LostError
		if !errors.As(stuck, &lost) || lost.Sent {
			t.Errorf("stuck request: %v, want a LostError that was not sent", stuck)
		}
		link.Resume()
		wantErr(t, "action being written", big.Wait(t.Context()), client.ErrUnknownOutcome)
		if err := later.Wait(t.Context()); err != nil {
			t.Errorf("action that waited: %v", err)
		}
		time.Sleep(time.Minute)
		n := 0
		for _, err := range c.ListSessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 1 {
			t.Errorf("the host has %d sessions, want the first alone", n)
		}
	})
}

func TestCancelledRequestIsWithdrawnWhileItWaits(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		link := w.link("laptop")
		link.Set(simnet.Profile{BufferBytes: 1024}, simnet.Up)
		link.Stall(simnet.Up)
		chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(strings.Repeat("x", 4096))})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := c.Call(ctx, ahp.MethodCreateSession, ahp.CreateSessionParams{Channel: client.NewSessionURI()}, nil)
		wantErr(t, "request", err, context.DeadlineExceeded)
		link.Resume()
		if err := c.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		for s, err := range c.ListSessions(t.Context()) {
			if err != nil || s.Resource != w.sessionOf(chat) {
				t.Errorf("session %s, %v", s.Resource, err)
			}
		}
	})
}

func (w *world) sessionOf(chat *client.Chat) ahp.URI { return w.h.Parent(chat.URI()) }

// Case 93: a message above the limit fails for its caller and for nobody else.
func TestTooLargeMessageFailsAlone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{MaxMessageBytes: 1 << 20})
		_, chat := w.newSession(c)
		huge := ahp.UserMessage(strings.Repeat("x", 1<<20))
		d := chat.Dispatch(&ahp.ChatDraftChanged{Draft: huge})
		wantErr(t, "action", d.Err(), client.ErrTooLarge)
		if !strings.Contains(d.Err().Error(), "1048576") {
			t.Errorf("action: %v, want the limit named", d.Err())
		}
		wantErr(t, "request", c.Call(t.Context(), "x", huge, nil), client.ErrTooLarge)
		wantErr(t, "notification", c.Notify("x", huge), client.ErrTooLarge)
		if err := chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage("small")}).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if n := c.Stats().Connections; n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

func TestTooManyPendingActionsAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{MaxPending: 3})
		_, chat := w.newSession(c)
		w.link("laptop").Stall()
		for i := range 5 {
			err := chat.Dispatch(&ahp.ChatIsReadChanged{IsRead: true}).Err()
			if (i >= 3) != errors.Is(err, client.ErrOverloaded) {
				t.Errorf("action %d: %v", i, err)
			}
		}
	})
}

func TestTooManyRequestsAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		link := w.link("laptop")
		link.Set(simnet.Profile{BufferBytes: 64}, simnet.Up)
		link.Stall(simnet.Up)
		const n = 20_000 // of which some are in the batch that the writer has
		errs := make(chan error, n)
		for range n {
			go func() { errs <- c.Ping(t.Context()) }()
		}
		synctest.Wait()
		wantErr(t, "request over the bound", <-errs, client.ErrOverloaded)
		if got := c.Stats().QueueOverflows; got == 0 || got > n-8192 {
			t.Errorf("%d requests refused", got)
		}
		link.Cut()
	})
}

func TestErrorsOfTheHostKeepCodeAndData(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		_, err := c.Session(t.Context(), client.NewSessionURI())
		wantErr(t, "unknown session", err, ahp.ErrSessionNotFound)
		_, err = c.Chat(t.Context(), client.NewChatURI())
		wantErr(t, "unknown chat", err, ahp.ErrNotFound)
		if _, err := c.Chat(t.Context(), client.NewSessionURI()); err == nil {
			t.Error("a session's URI was taken for a chat's")
		}
		_, err = c.CreateSession(t.Context(), client.CreateSessionOptions{Provider: "nobody"})
		wantErr(t, "unknown provider", err, ahp.ErrProviderNotFound)
		if n := c.Stats().Pending; n != 0 {
			t.Errorf("%d pending", n)
		}
	})
}

// Case 7: the identity of a session is chosen before anything is sent.
func TestSessionIsCreatedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		uri := client.NewSessionURI()
		w.link("laptop").Set(simnet.Profile{Latency: latency})
		go func() {
			time.Sleep(latency + latency/2) // the host has it, the answer is lost
			w.link("laptop").Cut()
		}()
		s := must(c.CreateSession(t.Context(), client.CreateSessionOptions{URI: uri}))(t)
		chat := must(s.DefaultChat(t.Context()))(t)
		w.link("laptop").Cut()
		waitBack(t, c)
		must(chat.Send(t.Context(), "same place"))(t)
		_, err := c.CreateSession(t.Context(), client.CreateSessionOptions{URI: uri})
		wantErr(t, "second creation", err, ahp.ErrSessionAlreadyExists)
		var uris []ahp.URI
		for s, err := range c.ListSessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			uris = append(uris, s.Resource)
		}
		if len(uris) != 1 || uris[0] != uri {
			t.Errorf("sessions %v", uris)
		}
		second := must(c.CreateChat(t.Context(), ahp.CreateChatParams{Channel: uri}))(t)
		if err := c.DisposeChat(t.Context(), second.URI()); err != nil {
			t.Error(err)
		}
		<-second.Done()
	})
}

func TestHostRequestsAreAnswered(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		hosts := make(chan *scripted, 1)
		c := client.New(t.Context(), scriptedHost(hosts), client.Options{
			HandleRequest: func(_ context.Context, method string, params jsontext.Value) (any, error) {
				return map[string]string{"asked": method + string(params)}, nil
			},
		})
		defer c.Close()
		h := <-hosts
		h.welcome(t)
		h.send(`{"jsonrpc":"2.0","id":7,"method":"resourceRead","params":{}}`)
		h.want(t, `{"jsonrpc":"2.0","id":7,"result":{"asked":"resourceRead{}"}}`)
	})
}

// Case 23: every unreachable host has its own error, within the deadline.
func TestEachUnreachableHostHasItsOwnError(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		answer := func(addr, text string) {
			ln, err := w.net.Listen(addr)
			if err != nil {
				t.Fatal(err)
			}
			var conns sync.WaitGroup
			conns.Go(func() {
				for {
					nc, err := ln.Accept()
					if err != nil {
						return
					}
					conns.Go(func() { speak(nc, text) })
				}
			})
			t.Cleanup(func() { _ = ln.Close(); conns.Wait() })
		}
		answer("silent:1", "")
		answer("garbage:1", "\x16\x03\x01 not http at all\r\n\r\n")
		answer("forbidden:1", "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
		answer("plain:1", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		w.net.Link("laptop", "hole:1").Stall()
		healthy := w.dial("laptop", client.Options{})
		seen := make(map[string]string)
		for _, addr := range []string{"refused:1", "hole:1", "silent:1", "garbage:1", "forbidden:1", "plain:1"} {
			began := time.Now()
			_, err := client.Dial(t.Context(), "ws://"+addr+"/?tkn=s3cret", client.Options{Dialer: w.net.Dialer("laptop")})
			if err == nil || time.Since(began) > 11*time.Second {
				t.Errorf("%s: %v after %v", addr, err, time.Since(began))
				continue
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: the error repeats the token", addr)
			}
			if other := seen[err.Error()]; other != "" && addr != "silent:1" && addr != "hole:1" {
				t.Errorf("%s and %s have the same error: %v", addr, other, err)
			}
			seen[err.Error()] = addr
		}
		if err := healthy.Ping(t.Context()); err != nil {
			t.Errorf("healthy host: %v", err)
		}
	})
}

// speak says a text and listens until the other end is gone.
func speak(nc net.Conn, text string) {
	defer nc.Close()
	if text != "" {
		_, _ = nc.Write([]byte(text))
	}
	buf := make([]byte, 1024)
	for {
		if _, err := nc.Read(buf); err != nil {
			return
		}
	}
}
