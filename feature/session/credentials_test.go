package session

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

const (
	needed  = "https://api.example"
	unasked = "https://search.example"
)

// keyed is a puppet that needs a token for one resource and can use one for another.
func keyed() *puppet {
	return &puppet{describe: agent.Description{Resources: []ahp.ProtectedResourceMetadata{
		{Resource: needed, ResourceName: new("The API")}, {Resource: unasked, Required: new(false)},
	}}}
}

// authenticate pushes a token, with further members.
func (p *peer) authenticate(resource, token, more string) {
	p.t.Helper()
	p.result("authenticate", authParams(resource, token, more))
}

func authParams(resource, token, more string) string {
	return fmt.Sprintf(`{"channel":"ahp-root://","resource":%q,"token":%q%s}`, resource, token, more)
}

// held are the tokens of the agents that have been opened, in their order, and whether
// each is still alive.
func (p *puppet) held() (list []string) {
	for _, s := range p.sessions() {
		alive := "alive"
		select {
		case <-s.done:
			alive = "ended"
		default:
		}
		list = append(list, fmt.Sprintf("%s,%s %s", string(s.spec.Tokens[needed]), string(s.spec.Tokens[unasked]), alive))
	}
	return list
}

// TestAgentNeedsAToken: a session whose agent needs a token is refused to whoever has
// pushed none, which costs nothing, and is made with the token of who asks.
func TestAgentNeedsAToken(t *testing.T) {
	bubble(t, keyed(), Options{}, func(w *world) {
		a, b := w.dial("a", "ahp-root://"), w.dial("b")
		root, err := ahp.Marshal(w.h.State(ahp.RootURI))
		if err != nil || !strings.Contains(string(root), `"protectedResources":[{"resource":"https://api.example","resource_name":"The API"},{"resource":"https://search.example","required":false}]`) {
			t.Errorf("the root says %s (%v)", root, err)
		}
		const create = `{"channel":"ahp-session:/s","workingDirectories":["file:///x"]}`
		b.authenticate(needed, "of-b", "") // somebody else's
		answer := string(a.call("createSession", create))
		if want := `"code":-32007,"message":"Puppet needs a token for https://api.example","data":{"resources":[{"resource":"https://api.example","resource_name":"The API"}]}`; !strings.Contains(answer, want) {
			t.Errorf("refused as %s", answer)
		}
		a.result("resolveSessionConfig", `{"channel":"ahp-root://"}`) // which needs no agent here
		if w.h.Exists("ahp-session:/s") || len(w.puppet.sessions()) != 0 {
			t.Error("a session was made")
		}
		a.authenticate(needed, "of-a", `,"expiresIn":3600,"scopes":["x"]`)
		a.result("createSession", create)
		equal(t, "agents", w.puppet.held(), "of-a, alive")
		if got := a.taken("auth/required"); len(got) != 0 {
			t.Errorf("asked for what was given: %q", got)
		}
	})
}

// TestTokensThatAreRefused: an error says what is wrong and not the token.
func TestTokensThatAreRefused(t *testing.T) {
	bubble(t, keyed(), Options{}, func(w *world) {
		a := w.dial("a")
		for name, params := range map[string]string{
			"a resource nobody advertised": authParams("https://other.example", "planted", ""),
			"a part of a resource":         authParams("https://api.example/", "planted", ""),
			"another channel":              strings.Replace(authParams(needed, "planted", ""), "ahp-root://", "ahp-session:/x", 1),
			"no time left":                 authParams(needed, "planted", `,"expiresIn":0`),
			"half a second":                authParams(needed, "planted", `,"expiresIn":0.5`),
			"a line break":                 authParams(needed, "planted\nX=1", ""),
			"not ASCII":                    authParams(needed, "plantedé", ""),
			"a space":                      authParams(needed, "planted planted", ""),
			"far too long":                 authParams(needed, "planted"+strings.Repeat("x", maxTokenBytes), ""),
			"no token":                     fmt.Sprintf(`{"channel":"ahp-root://","resource":%q}`, "https://other.example"),
		} {
			answer := a.call("authenticate", params)
			checkError(t, answer, -32602)
			if strings.Contains(string(answer), "planted") {
				t.Errorf("%s: %s", name, answer)
			}
		}
		a.refused(-32007, "createSession", `{"channel":"ahp-session:/s","workingDirectories":["file:///x"]}`)
	})
}

// keyedSession is a session of a, whose token is "first".
func keyedSession(w *world) (a *peer, session, chat ahp.URI) {
	w.t.Helper()
	a = w.dial("a")
	a.authenticate(needed, "first", "")
	session, chat = w.session(a)
	return a, session, chat
}

// TestTokenIsRevoked: an agent that has it is ended when it has no turn, and the next
// turn asks its client for another.
func TestTokenIsRevoked(t *testing.T) {
	bubble(t, keyed(), Options{}, func(w *world) {
		a, session, chat := keyedSession(w)
		b := w.dial("b", session)
		a.dispatch(chat, startTurn("t1", "x"))
		a.authenticate(needed, "", "")
		equal(t, "agents", w.puppet.held(), "first, ended")
		if got := append(a.taken("auth/required"), b.taken("auth/required")...); len(got) != 0 {
			t.Errorf("asked before anybody needs it: %q", got)
		}
		a.dispatch(chat, startTurn("t2", "x"))
		equal(t, "turns", w.turns(chat), "t1=complete", "t2=error")
		want := `{"channel":"` + session + `","resource":{"resource":"https://api.example","resource_name":"The API"},"reason":"required"}`
		if got := a.taken("auth/required"); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("asked %q", got)
		}
		if got := b.taken("auth/required"); len(got) != 0 {
			t.Errorf("another client is asked: %q", got)
		}
		a.authenticate(needed, "second", "")
		a.dispatch(chat, startTurn("t3", "x"))
		equal(t, "agents", w.puppet.held(), "first, ended", "second, alive")
		equal(t, "turns", w.turns(chat), "t1=complete", "t2=error", "t3=complete")
		a.authenticate(needed, "", "") // also once nothing is left to revoke
		a.authenticate(needed, "", "")
	})
}

// TestTokenIsReplaced: the same token with more time changes nothing, another one opens
// another agent, and a turn that runs is let end.
func TestTokenIsReplaced(t *testing.T) {
	p := keyed()
	p.turn = holdTurns
	bubble(t, p, Options{}, func(w *world) {
		a, _, chat := keyedSession(w)
		a.dispatch(chat, startTurn("t1", "x"))
		a.authenticate(needed, "first", `,"expiresIn":60`)
		a.authenticate(needed, "second", "")
		equal(t, "in the turn", p.held(), "first, alive")
		a.dispatch(chat, cancelTurn("t1"))
		synctest.Wait()
		equal(t, "after it", p.held(), "first, ended")
		a.dispatch(chat, startTurn("t2", "x"))
		synctest.Wait()
		equal(t, "in the next", p.held(), "first, ended", "second, alive")
		wait(2 * time.Minute) // of the first, which has no successor
		if got := a.taken("auth/required"); len(got) != 0 {
			t.Errorf("asked %q", got)
		}
		a.dispatch(chat, cancelTurn("t2"))
	})
}

// TestTokenExpires: whoever pushed it is told, and nobody else; it is not used again.
func TestTokenExpires(t *testing.T) {
	bubble(t, keyed(), Options{}, func(w *world) {
		a, session, chat := keyedSession(w)
		b := w.dial("b", session)
		b.authenticate(needed, "of-b", `,"expiresIn":9000000000000000000`)
		a.authenticate(needed, "first", `,"expiresIn":60`)
		wait(time.Minute - time.Millisecond)
		equal(t, "in its time", w.puppet.held(), "first, alive")
		if got := a.taken("auth/required"); len(got) != 0 {
			t.Errorf("too early: %q", got)
		}
		wait(2 * time.Millisecond)
		equal(t, "after it", w.puppet.held(), "first, ended")
		want := `"params":{"channel":"ahp-root://","resource":{"resource":"https://api.example","resource_name":"The API"},"reason":"expired"}`
		if got := a.taken("auth/required"); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("told %q", got)
		}
		if got := b.taken("auth/required"); len(got) != 0 {
			t.Errorf("another client is told: %q", got)
		}
		b.dispatch(chat, startTurn("t1", "x")) // with a token of its own
		equal(t, "agents", w.puppet.held(), "first, ended", "of-b, alive")
	})
}

// TestOlderClientIsAskedByName: before 0.8 the resource was named, not described.
func TestOlderClientIsAskedByName(t *testing.T) {
	bubble(t, keyed(), Options{}, func(w *world) {
		a := w.connect("a")
		a.result("initialize", `{"channel":"ahp-root://","protocolVersions":["0.6.0"],"clientId":"a"}`)
		a.authenticate(needed, "first", `,"expiresIn":60`)
		wait(time.Minute)
		want := `"params":{"channel":"ahp-root://","resource":"https://api.example","reason":"expired"}`
		if got := a.taken("auth/required"); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("told %q", got)
		}
	})
}

// TestTokenGoesWithItsConnection: the agent that has it goes on, for whoever uses the
// session; a client that comes back brings it again.
func TestTokenGoesWithItsConnection(t *testing.T) {
	bubble(t, keyed(), Options{}, func(w *world) {
		a, session, chat := keyedSession(w)
		a.authenticate(needed, "first", `,"expiresIn":60`)
		a.cut()
		b := w.dial("b", session)
		b.dispatch(chat, startTurn("t1", "x"))
		equal(t, "turns", w.turns(chat), "t1=complete")
		a = w.reconnect(a, session)
		a.refused(-32007, "createSession", `{"channel":"ahp-session:/s","workingDirectories":["file:///x"]}`)
		wait(2 * time.Minute)
		if got := a.taken("auth/required"); len(got) != 0 {
			t.Errorf("asked for what another connection had: %q", got)
		}
		equal(t, "agents", w.puppet.held(), "first, alive")
		if n := len(w.f.credentials.holders); n != 0 {
			t.Errorf("%d connections have tokens", n)
		}
		a.authenticate(needed, "first", "")
		again := w.dial("a", session) // the same client once more
		again.authenticate(needed, "first", "")
		equal(t, "agents after it was brought again", w.puppet.held(), "first, alive")
		again.authenticate(needed, "", "")
		equal(t, "agents after it was revoked", w.puppet.held(), "first, ended")
		a.refused(-32007, "createSession", `{"channel":"ahp-session:/s","workingDirectories":["file:///x"]}`)
	})
}

// TestOptionalToken: the agent does without, and is opened anew once there is one.
func TestOptionalToken(t *testing.T) {
	bubble(t, keyed(), Options{}, func(w *world) {
		a, _, chat := keyedSession(w)
		a.dispatch(chat, startTurn("t1", "x"))
		a.authenticate(unasked, "more", "")
		equal(t, "before a turn", w.puppet.held(), "first, alive")
		a.dispatch(chat, startTurn("t2", "x"))
		equal(t, "in a turn", w.puppet.held(), "first, ended", "first,more alive")
		a.authenticate(unasked, "", "")
		a.dispatch(chat, startTurn("t3", "x"))
		equal(t, "without it", w.puppet.held(), "first, ended", "first,more ended", "first, alive")
		equal(t, "turns", w.turns(chat), "t1=complete", "t2=complete", "t3=complete")
	})
}

// TestTokenIsRevokedWhileItsAgentIsOpened: the agent is ended as soon as it is open.
func TestTokenIsRevokedWhileItsAgentIsOpened(t *testing.T) {
	p := keyed()
	p.open = func(context.Context, agent.Spec, agent.Host) error { time.Sleep(time.Second); return nil }
	bubble(t, p, Options{}, func(w *world) {
		a := w.dial("a")
		a.authenticate(needed, "first", "")
		a.result("createSession", `{"channel":"ahp-session:/s","workingDirectories":["file:///x"]}`)
		a.authenticate(needed, "", "")
		wait(2 * time.Second)
		equal(t, "agents", p.held(), "first, ended")
	})
}

// TestTokensAreWrittenNowhere looks for a planted token in everything a host tells,
// keeps and logs.
func TestTokensAreWrittenNowhere(t *testing.T) {
	const secret = "planted-0199c1b2"
	var log bytes.Buffer
	p := keyed()
	bubble(t, p, Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, func(w *world) {
		a := w.dial("a", "ahp-root://")
		a.authenticate(needed, secret, `,"expiresIn":60`)
		session, chat := w.session(a)
		a.dispatch(chat, startTurn("t1", "x"))
		wait(2 * time.Minute)
		a.dispatch(chat, startTurn("t2", "x"))
		var all strings.Builder
		for _, uri := range []ahp.URI{ahp.RootURI, session, chat} {
			state, err := ahp.Marshal(w.h.State(uri))
			if err != nil {
				t.Fatal(err)
			}
			all.Write(state)
		}
		families, err := w.h.Metrics().Gather()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(&all, families, a.take(), a.answers, log.String())
		for _, s := range p.sessions() {
			fmt.Fprintf(&all, "%v %+v %#v", s.spec, s.spec, s.spec)
			slog.New(slog.NewJSONHandler(&all, nil)).Info("x", "token", s.spec.Tokens[needed], "tokens", s.spec.Tokens)
		}
		if i := strings.Index(all.String(), secret); i >= 0 {
			t.Errorf("the token is in %.200s", all.String()[max(0, i-100):])
		}
		if len(p.sessions()) == 0 || string(p.sessions()[0].spec.Tokens[needed]) != secret {
			t.Error("no agent had it")
		}
	})
}
