package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// resource is what agents want a token for.
const resource = "https://api.example"

// keyed runs a test with a host whose agent needs a token.
func keyed(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	bubble(t, func(t *testing.T, w *world) {
		w.stop()
		w.agent.resources = []ahp.ProtectedResourceMetadata{{Resource: resource, ResourceName: new("The API")}}
		w.start()
		test(t, w)
	})
}

// opened are the tokens that agents were opened with.
func (p *puppet) opened() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.tokens)
}

func wantOpened(t *testing.T, w *world, want ...string) {
	t.Helper()
	if got := w.agent.opened(); !slices.Equal(got, want) {
		t.Errorf("agents were opened with %q, want %q", got, want)
	}
}

// say runs one turn.
func say(t *testing.T, chat *client.Chat, text string) *ahp.Turn {
	t.Helper()
	turn := must(chat.Send(t.Context(), text))(t)
	return must(turn.Wait(t.Context()))(t)
}

// TestAuthenticate: a token is pushed when it is given, and again on every connection
// ahead of what waited for it.
func TestAuthenticate(t *testing.T) {
	keyed(t, func(t *testing.T, w *world) {
		c := w.dial("a", client.Options{})
		_, err := c.CreateSession(t.Context(), client.CreateSessionOptions{})
		wantErr(t, "without a token", err, ahp.ErrAuthRequired)
		if r := ahp.RequiredResources(err); len(r) != 1 || r[0].Resource != resource || *r[0].ResourceName != "The API" {
			t.Errorf("it wants %+v", r)
		}
		if err := c.Authenticate(t.Context(), client.Credential{Resource: resource, Token: "first"}); err != nil {
			t.Fatal(err)
		}
		_, chat := w.newSession(c)
		wantOpened(t, w, "first")
		w.link("a").Cut()
		say(t, chat, "while away")
		w.newSession(c)
		wantOpened(t, w, "first", "first")
	})
}

// TestAuthenticateRefused: what the host does not take is not kept.
func TestAuthenticateRefused(t *testing.T) {
	keyed(t, func(t *testing.T, w *world) {
		c := w.dial("a", client.Options{})
		err := c.Authenticate(t.Context(), client.Credential{Resource: "https://other.example", Token: "planted"})
		wantErr(t, "a resource nobody wants", err, jsonrpc.ErrInvalidParams)
		err = c.Authenticate(t.Context(), client.Credential{Resource: resource, Token: "planted", Expires: time.Now()})
		if err == nil || strings.Contains(err.Error(), "planted") {
			t.Errorf("an expired token: %v", err)
		}
		_, err = c.CreateSession(t.Context(), client.CreateSessionOptions{})
		wantErr(t, "with no token", err, ahp.ErrAuthRequired)
		w.link("a").Cut()
		waitBack(t, c)
		_, err = c.CreateSession(t.Context(), client.CreateSessionOptions{})
		wantErr(t, "with no token on the next connection", err, ahp.ErrAuthRequired)
	})
}

// TestRevoke: an empty token takes one back, on every connection.
func TestRevoke(t *testing.T) {
	keyed(t, func(t *testing.T, w *world) {
		c := w.dial("a", client.Options{})
		for _, token := range []string{"first", ""} {
			if err := c.Authenticate(t.Context(), client.Credential{Resource: resource, Token: token}); err != nil {
				t.Fatal(err)
			}
		}
		w.link("a").Cut()
		waitBack(t, c)
		_, err := c.CreateSession(t.Context(), client.CreateSessionOptions{})
		wantErr(t, "after it was revoked", err, ahp.ErrAuthRequired)
		w.link("a").Cut()
		waitState(t, c, client.Reconnecting)
		if err := c.Authenticate(t.Context(), client.Credential{Resource: resource}); err != nil {
			t.Errorf("without a connection: %v", err)
		}
	})
}

// TestTokenIsObtained: whoever has tokens is asked when a session needs one, and again
// when it expires, once at a time; the old one is not pushed again.
func TestTokenIsObtained(t *testing.T) {
	keyed(t, func(t *testing.T, w *world) {
		var asked []string
		tokens := []string{"first", "second", "third"}
		c := w.dial("a", client.Options{Token: func(_ context.Context, want ahp.AuthRequiredParams) (client.Credential, error) {
			asked = append(asked, fmt.Sprint(want.Resource.Resource, " ", *want.Resource.ResourceName, " ", want.Reason, " ", want.Channel))
			if len(asked) > len(tokens) {
				return client.Credential{}, errors.New("no more")
			}
			return client.Credential{Token: tokens[len(asked)-1], Expires: time.Now().Add(time.Minute)}, nil
		}})
		session, chat := w.newSession(c)
		wantOpened(t, w, "first")
		time.Sleep(61 * time.Second)
		say(t, chat, "x")
		wantOpened(t, w, "first", "second")
		w.link("a").Cut()
		waitBack(t, c)
		time.Sleep(2 * time.Minute) // the third is used up, and no more comes
		turn := say(t, chat, "y")
		if turn.State != ahp.TurnError {
			t.Errorf("the turn is %s", turn.State)
		}
		synctest.Wait()
		want := []string{
			"https://api.example The API required ahp-root://", "https://api.example The API expired ahp-root://",
			"https://api.example The API expired ahp-root://", "https://api.example The API expired ahp-root://",
			"https://api.example The API required " + session.URI(),
		}
		if !slices.Equal(asked, want) {
			t.Errorf("asked %q\nwant  %q", asked, want)
		}
	})
}

// TestNobodyHasAToken: the error says both what the host wants and why it is not there.
func TestNobodyHasAToken(t *testing.T) {
	keyed(t, func(t *testing.T, w *world) {
		nobody := errors.New("nobody is there to sign in")
		c := w.dial("a", client.Options{Token: func(context.Context, ahp.AuthRequiredParams) (client.Credential, error) {
			return client.Credential{}, nobody
		}})
		_, err := c.CreateSession(t.Context(), client.CreateSessionOptions{})
		wantErr(t, "create", err, nobody)
		wantErr(t, "create", err, ahp.ErrAuthRequired)
		if r := ahp.RequiredResources(err); len(r) != 1 {
			t.Errorf("it wants %+v", r)
		}
	})
}

// TestClientLogsNoToken looks for a planted token in what a client logs and prints.
func TestClientLogsNoToken(t *testing.T) {
	keyed(t, func(t *testing.T, w *world) {
		var log bytes.Buffer
		c := w.dial("a", client.Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		k := client.Credential{Resource: resource, Token: "planted", Expires: time.Now().Add(time.Minute)}
		if err := c.Authenticate(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		w.stop()
		w.agent.resources[0].Resource = "https://other.example" // the next host refuses it
		w.start()
		waitBack(t, c)
		time.Sleep(time.Minute)
		synctest.Wait()
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "k", k, "p", &k)
		fmt.Fprintf(&log, "%v %+v %#v %s %v", k, k, k, &k, []client.Credential{k})
		if strings.Contains(log.String(), "planted") {
			t.Errorf("the token is in %s", log.String())
		}
		if !strings.Contains(log.String(), "the host refuses a token it took before") {
			t.Errorf("the refusal is not logged: %s", log.String())
		}
	})
}
