package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

func setMode(mode string) string {
	return fmt.Sprintf(`{"type":"session/configChanged","config":{"mode":%q}}`, mode)
}

func (w *world) mode(session ahp.URI) string { return string(w.state(session).Config.Values["mode"]) }

func TestConfigChanged(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		a.dispatch(session, setMode("wild"))
		equal(t, "told", w.puppet.sessions()[0].settings(), `mode="wild"`)
		if got := a.taken("action", "configChanged"); len(got) != 1 {
			t.Errorf("echoed as %q", got)
		}
		if got := a.try(session, `{"type":"session/configChanged","config":{"fixed":"y"}}`); got != "property fixed cannot be changed" {
			t.Errorf("refused with %q", got)
		}
		equal(t, "told", w.puppet.sessions()[0].settings(), `mode="wild"`)
	})
}

// A value the agent did not take is put right.
func TestCorrectiveEcho(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(string, jsontext.Value) (map[string]jsontext.Value, error)
		want string
	}{
		{"chosen otherwise", func(id string, _ jsontext.Value) (map[string]jsontext.Value, error) {
			return map[string]jsontext.Value{id: jsontext.Value(`"tame"`)}, nil
		}, `"tame"`},
		{"refused", func(string, jsontext.Value) (map[string]jsontext.Value, error) { return nil, errors.New("no") }, `"calm"`},
		{"written otherwise", func(id string, _ jsontext.Value) (map[string]jsontext.Value, error) {
			return map[string]jsontext.Value{id: jsontext.Value(`"wi\u006cd"`)}, nil
		}, `"wild"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start(t, &puppet{setConfig: tc.set}, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
				a.dispatch(session, setMode("wild"))
				if got := w.mode(session); got != tc.want {
					t.Errorf("mode %s, want %s", got, tc.want)
				}
			})
		})
	}
}

// However fast a value changes, the agent is told the last one last and the
// session ends with it.
func TestConfigChangesInSuccession(t *testing.T) {
	p := &puppet{}
	p.setConfig = func(id string, v jsontext.Value) (map[string]jsontext.Value, error) {
		time.Sleep(time.Second)
		return map[string]jsontext.Value{id: v}, nil
	}
	start(t, p, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		a.dispatch(session, setMode("first")) // which the agent takes its time for
		for i := range 10 {
			a.post(session, setMode(fmt.Sprint(i)))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		told := p.sessions()[0].settings()
		if last := told[len(told)-1]; last != `mode="9"` || len(told) != 2 {
			t.Errorf("told %q", told)
		}
		if got := w.mode(session); got != `"9"` {
			t.Errorf("mode %s", got)
		}
		for _, m := range a.taken("action", "configChanged") {
			if !strings.Contains(m, `"origin"`) {
				t.Errorf("the host says %s", m)
			}
		}
	})
}

// A value that is refused after several changes goes back to what the session
// had before the first of them.
func TestConfigRefusedAfterSeveralChanges(t *testing.T) {
	p := &puppet{}
	p.setConfig = func(id string, v jsontext.Value) (map[string]jsontext.Value, error) {
		time.Sleep(time.Second)
		if string(v) == `"first"` {
			return map[string]jsontext.Value{id: v}, nil
		}
		return nil, errors.New("no")
	}
	start(t, p, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		for _, mode := range []string{"first", "second", "third"} {
			a.dispatch(session, setMode(mode))
		}
		wait(time.Minute)
		if got := w.mode(session); got != `"first"` {
			t.Errorf("mode %s", got)
		}
	})
}

// A change while the agent is being opened reaches it; so does one while it is
// dead.
func TestConfigChangesWhileThereIsNoAgent(t *testing.T) {
	p := &puppet{open: slowly(time.Second)}
	bubble(t, p, Options{}, func(w *world) {
		a := w.dial("a")
		a.result("createSession", `{"channel":"ahp-session:/s"}`)
		a.dispatch("ahp-session:/s", setMode("wild"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		equal(t, "told", p.sessions()[0].settings(), `mode="wild"`)
		p.sessions()[0].die()
		a.dispatch("ahp-session:/s", setMode("mild"))
		a.dispatch(*w.state("ahp-session:/s").DefaultChat, startTurn("t1", "x"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := string(p.sessions()[1].spec.Config["mode"]); got != `"mild"` {
			t.Errorf("opened anew with %s", got)
		}
	})
}

// Every chat's agent is told.
func TestConfigReachesEveryChat(t *testing.T) {
	p := several()
	start(t, p, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		a.result("createChat", `{"channel":"`+session+`","chat":"ahp-chat:/2"}`)
		a.dispatch(session, setMode("wild"))
		for i, s := range p.sessions() {
			equal(t, fmt.Sprint("told agent ", i), s.settings(), `mode="wild"`)
		}
	})
}

// What an agent changes by itself is published, what it only repeats is not.
func TestValuesOfTheAgent(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		s := w.puppet.sessions()[0]
		values := func(v string) agent.ConfigValues {
			return agent.ConfigValues{Values: map[string]jsontext.Value{"mode": jsontext.Value(v), "none": nil}}
		}
		_ = s.host.Emit(t.Context(), values(`"calm"`))
		_ = s.host.Emit(t.Context(), values(`"tame"`))
		_ = s.host.Emit(t.Context(), values(`"tame"`))
		if got := a.taken("action", "configChanged"); len(got) != 1 {
			t.Errorf("published as %q", got)
		}
		if got := w.mode(session); got != `"tame"` {
			t.Errorf("mode %s", got)
		}
	})
}

func TestSessionWithoutConfig(t *testing.T) {
	start(t, &puppet{plain: true}, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		if w.state(session).Config != nil {
			t.Error("there is a configuration")
		}
		if got := a.try(session, setMode("wild")); got != "the session has no configuration" {
			t.Errorf("refused with %q", got)
		}
		_ = w.puppet.sessions()[0].host.Emit(t.Context(), agent.ConfigValues{Values: map[string]jsontext.Value{"mode": jsontext.Value(`1`)}})
		got := string(a.result("resolveSessionConfig", `{"channel":"ahp-root://"}`))
		if got != `{"schema":{"type":"object","properties":{}},"values":{}}` {
			t.Errorf("resolved as %s", got)
		}
	})
}

func TestResolveSessionConfig(t *testing.T) {
	bubble(t, &puppet{}, Options{}, func(w *world) {
		a := w.dial("a")
		got := string(a.result("resolveSessionConfig", `{"channel":"ahp-root://","provider":"puppet","workingDirectory":"file:///a","config":{"mode":"wild"}}`))
		if !strings.Contains(got, `"sessionMutable":true`) || !strings.Contains(got, `"mode":"wild"`) || !strings.Contains(got, `"fixed":"x"`) {
			t.Errorf("resolved as %s", got)
		}
		a.refused(-32002, "resolveSessionConfig", `{"channel":"ahp-root://","provider":"other"}`)
		a.refused(-32602, "resolveSessionConfig", `{"channel":"ahp-root://","provider":7}`)
		a.refused(-32603, "resolveSessionConfig", `{"channel":"ahp-root://","config":{"other":1}}`)
		if n := len(w.puppet.sessions()); n != 0 {
			t.Errorf("%d agents were opened", n)
		}
		got = string(a.result("sessionConfigCompletions", `{"channel":"ahp-root://","property":"mode"}`))
		if got != `{"items":[]}` {
			t.Errorf("completed as %s", got)
		}
	})
}

func TestCompletions(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		params := func(channel ahp.URI, offset int) string {
			return fmt.Sprintf(`{"channel":%q,"kind":"userMessage","text":"a😀","offset":%d}`, channel, offset)
		}
		if got := string(a.result("completions", params(chat, 3))); got != `{"items":[]}` {
			t.Errorf("completed as %s", got)
		}
		a.refused(-32602, "completions", params(chat, 4))
		a.refused(-32602, "completions", params(chat, -1))
		a.refused(-32008, "completions", params("ahp-chat:/none", 0))
		a.refused(-32602, "completions", `{"channel":"ahp-chat:/none","offset":"x"}`)
	})
}

// An agent names a session until somebody else has.
func TestTitles(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		s := w.puppet.sessions()[0]
		entitle := func(title string) {
			_ = s.host.Emit(context.Background(), agent.Title{Title: title})
			synctest.Wait()
		}
		title := func(want string) {
			t.Helper()
			if got := w.state(session).Title; got != want {
				t.Errorf("title %q, want %q", got, want)
			}
		}
		title(untitled)
		entitle("First")
		entitle("First")
		title("First")
		entitle("Second")
		title("Second")
		a.dispatch(session, `{"type":"session/titleChanged","title":"Mine"}`)
		entitle("Third")
		title("Mine")
	})
}

func TestActivity(t *testing.T) {
	p := &puppet{turn: holdTurns}
	start(t, p, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		for _, text := range []string{"", "thinking", "thinking", "writing", "writing"} {
			_ = p.sessions()[0].host.Emit(t.Context(), agent.Activity{Text: text})
		}
		if got := w.chat(chat).Activity; got == nil || *got != "writing" {
			t.Errorf("activity %v", got)
		}
		a.dispatch(chat, cancelTurn("t1"))
		if got := w.chat(chat).Activity; got != nil {
			t.Errorf("activity %q after the turn", *got)
		}
		if got := a.taken("action", "chat/activityChanged"); len(got) != 3 {
			t.Errorf("told %q", got)
		}
	})
}
