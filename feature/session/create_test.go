package session

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// slowly makes agents take a while to open.
func slowly(d time.Duration) func(context.Context, agent.Spec, agent.Host) error {
	return func(ctx context.Context, _ agent.Spec, _ agent.Host) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A session is there at once, creating; its default chat is announced before it
// is ready (AHP core, 10).
func TestCreateSession(t *testing.T) {
	p := &puppet{open: slowly(time.Second)}
	bubble(t, p, Options{DefaultDirectory: "file:///home"}, func(w *world) {
		a := w.dial("a", ahp.RootURI)
		create := a.request("createSession", `{"channel":"ahp-session:/s"}`)
		a.subscribe("ahp-session:/s") // pipelined
		if got := a.answer(create); !strings.Contains(got, `"result":null`) {
			t.Errorf("answer %s", got)
		}
		if s := w.state("ahp-session:/s"); s.Lifecycle != ahp.LifecycleCreating || len(s.WorkingDirectories) != 1 {
			t.Errorf("%s in %v", s.Lifecycle, s.WorkingDirectories)
		}
		if !w.f.Busy() {
			t.Error("an agent is being opened and the feature is not busy")
		}
		if got := a.taken("root/sessionAdded"); len(got) != 1 {
			t.Errorf("announced as %q", got)
		}
		time.Sleep(2 * time.Second)
		got := a.taken("action", `"channel":"ahp-session:/s"`)
		if len(got) != 3 || !strings.Contains(got[0], "chatAdded") || !strings.Contains(got[1], "defaultChatChanged") || !strings.Contains(got[2], "session/ready") {
			t.Errorf("creation ends with %q", got)
		}
		if w.f.Busy() {
			t.Error("the agent is open and the feature is busy")
		}
		if spec := p.sessions()[0].spec; spec.Directories[0] != "file:///home" || string(spec.Config["mode"]) != `"calm"` || spec.Turns != 0 || spec.ResumeToken != nil {
			t.Errorf("opened with %+v", spec)
		}
	})
}

func TestCreateSessionForms(t *testing.T) {
	second := &puppet{describe: agent.Description{Provider: "second"}}
	for _, tc := range []struct {
		name, params string
		check        func(s *ahp.SessionState) bool
	}{
		{"provider", `,"provider":"second"`, func(s *ahp.SessionState) bool { return s.Provider == "second" }},
		{"default provider", ``, func(s *ahp.SessionState) bool { return s.Provider == "puppet" && s.WorkingDirectories == nil }},
		{"directories", `,"workingDirectories":["file:///a","file:///b"]`, func(s *ahp.SessionState) bool { return len(s.WorkingDirectories) == 2 }},
		{"old directory", `,"workingDirectory":"file:///a"`, func(s *ahp.SessionState) bool { return s.WorkingDirectories[0] == "file:///a" }},
		{"no repositories", `,"repositories":[]`, func(s *ahp.SessionState) bool { return true }},
		{"config", `,"config":{"mode":"wild"}`, func(s *ahp.SessionState) bool { return string(s.Config.Values["mode"]) == `"wild"` }},
		{"active client", `,"activeClient":{"clientId":"a","tools":[]}`, func(s *ahp.SessionState) bool { return s.ActiveClients[0].ClientID == "a" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, &puppet{}, Options{Providers: []agent.Provider{second}}, func(w *world) {
				a := w.dial("a")
				a.result("createSession", `{"channel":"ahp-session:/s"`+tc.params+`}`)
				if s := w.state("ahp-session:/s"); s.Lifecycle != ahp.LifecycleReady || !tc.check(s) {
					t.Errorf("session %+v", s)
				}
			})
		})
	}
}

func TestCreateSessionRefused(t *testing.T) {
	for _, tc := range []struct {
		name, params string
		code         int64
	}{
		{"taken", `{"channel":"ahp-session:/taken"}`, -32003},
		{"unknown provider", `{"channel":"ahp-session:/s","provider":"other"}`, -32002},
		{"repositories", `{"channel":"ahp-session:/s","repositories":[{"source":"x"}]}`, -32602},
		{"another's client", `{"channel":"ahp-session:/s","activeClient":{"clientId":"b","tools":[]}}`, -32602},
		{"no id", `{"channel":"ahp-session:/"}`, -32602},
		{"a chat", `{"channel":"ahp-chat:/s"}`, -32602},
		{"the root", `{"channel":"ahp-root://"}`, -32602},
		{"endless", `{"channel":"ahp-session:/` + strings.Repeat("x", 600) + `"}`, -32602},
		{"wrong type", `{"channel":"ahp-session:/s","provider":7}`, -32602},
		{"unresolvable", `{"channel":"ahp-session:/s","config":{"other":1}}`, -32603},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, &puppet{}, Options{}, func(w *world) {
				a := w.dial("a")
				a.result("createSession", `{"channel":"ahp-session:/taken"}`)
				a.refused(tc.code, "createSession", tc.params)
				if n := len(w.puppet.sessions()); n != 1 {
					t.Errorf("%d agents were opened", n)
				}
				items, _ := jsonrpc.Member(a.result("listSessions", `{"channel":"ahp-root://"}`), "items")
				if n := strings.Count(string(items), `"resource"`); n != 1 {
					t.Errorf("%d sessions: %s", n, items)
				}
			})
		})
	}
}

// The same session asked for twice is prepared once, also over two connections
// (cases 7).
func TestCreateSessionTwice(t *testing.T) {
	bubble(t, &puppet{open: slowly(time.Second)}, Options{}, func(w *world) {
		a, b := w.dial("a"), w.dial("b")
		x := a.request("createSession", `{"channel":"ahp-session:/s"}`)
		y := b.request("createSession", `{"channel":"ahp-session:/s"}`)
		answers := a.answer(x) + b.answer(y)
		if strings.Count(answers, "-32003") != 1 || strings.Count(answers, `"result":null`) != 1 {
			t.Errorf("answers %s", answers)
		}
		a.cut()
		c := w.dial("a")
		c.refused(-32003, "createSession", `{"channel":"ahp-session:/s"}`)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(w.puppet.sessions()); n != 1 {
			t.Errorf("%d agents were opened", n)
		}
	})
}

// A progress token gets exactly one closing frame, sent to whoever gave it and
// after the session's outcome; without one there is none (cases 86).
func TestProgress(t *testing.T) {
	for name, open := range map[string]func(context.Context, agent.Spec, agent.Host) error{
		"ready":  slowly(time.Second),
		"failed": func(context.Context, agent.Spec, agent.Host) error { return ahp.ErrPermissionDenied },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, &puppet{open: open}, Options{}, func(w *world) {
				a, b := w.dial("a", ahp.RootURI), w.dial("b", ahp.RootURI)
				a.result("createSession", `{"channel":"ahp-session:/1","progressToken":"tok"}`)
				a.result("createSession", `{"channel":"ahp-session:/2"}`)
				a.result("createSession", `{"channel":"ahp-session:/3","progressToken":""}`)
				time.Sleep(2 * time.Second)
				got := a.taken("root/progress")
				if len(got) != 2 {
					t.Fatalf("progress %q", got)
				}
				for _, m := range got {
					if !strings.Contains(m, `"progress":1,"total":1`) || !strings.Contains(m, `"channel":"ahp-root://"`) {
						t.Errorf("frame %s", m)
					}
				}
				if got := b.taken("root/progress"); len(got) != 0 {
					t.Errorf("another client got %q", got)
				}
				a.refused(-32003, "createSession", `{"channel":"ahp-session:/1","progressToken":"tok"}`)
				if got := a.taken("root/progress"); len(got) != 0 {
					t.Errorf("progress of a refused request: %q", got)
				}
			})
		})
	}
}

// A session disposed of while its agent is being opened takes the agent with it,
// and its progress token still gets its frame.
func TestDisposeWhileOpening(t *testing.T) {
	p := &puppet{open: slowly(time.Hour)}
	bubble(t, p, Options{}, func(w *world) {
		a := w.dial("a", ahp.RootURI)
		a.result("createSession", `{"channel":"ahp-session:/s","progressToken":"tok"}`)
		a.result("disposeSession", `{"channel":"ahp-session:/s"}`)
		got := a.take()
		if n := strings.Count(strings.Join(got, "\n"), "root/progress"); n != 1 {
			t.Errorf("%d progress frames in %q", n, got)
		}
		if w.f.Busy() {
			t.Error("the agent is still being opened")
		}
		if w.h.State("ahp-session:/s") != nil || len(p.sessions()) != 0 {
			t.Error("something of the session is left")
		}
	})
}

// An agent that was being opened for a session that is gone does not end up in
// another one with the same URI.
func TestSessionIsCreatedAnewWhileOpening(t *testing.T) {
	opens := 0
	p := &puppet{}
	p.open = func(context.Context, agent.Spec, agent.Host) error {
		opens++
		time.Sleep(time.Duration(3-opens) * time.Second) // the first is heedless, and the later one
		return nil
	}
	bubble(t, p, Options{}, func(w *world) {
		a := w.dial("a")
		a.result("createSession", `{"channel":"ahp-session:/s"}`)
		a.result("disposeSession", `{"channel":"ahp-session:/s"}`)
		a.result("createSession", `{"channel":"ahp-session:/s"}`)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		s := w.state("ahp-session:/s")
		if s.Lifecycle != ahp.LifecycleReady || len(s.Chats) != 1 || *s.DefaultChat != s.Chats[0].Resource {
			t.Errorf("%s with %d chats", s.Lifecycle, len(s.Chats))
		}
		if n := p.alive(); n != 1 {
			t.Errorf("%d agents alive", n)
		}
	})
}

func TestDisposeSession(t *testing.T) {
	start(t, &puppet{turn: holdTurns}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		b := w.dial("b", ahp.RootURI)
		a.dispatch(chat, startTurn("t1", "x"))
		a.result("disposeSession", `{"channel":"`+session+`"}`)
		if n := w.puppet.alive(); n != 0 {
			t.Errorf("%d agents alive after the answer", n)
		}
		if w.h.State(session) != nil || w.h.State(chat) != nil || w.f.Busy() {
			t.Error("something of the session is left")
		}
		if got := b.taken("root/sessionRemoved"); len(got) != 1 {
			t.Errorf("announced as %q", got)
		}
		a.refused(-32001, "disposeSession", `{"channel":"`+session+`"}`)
		a.refused(-32602, "disposeSession", `{"channel":"`+chat+`"}`)
		a.refused(-32001, "subscribe", `{"channel":"`+session+`"}`)
	})
}

// Of many that dispose of a session at once one does and the others are told
// that it is gone.
func TestDisposeSessionConcurrently(t *testing.T) {
	start(t, &puppet{turn: deaf, ignoreCancel: true}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		var ids []string
		var peers []*peer
		for i := range 5 {
			p := w.dial(fmt.Sprint("p", i))
			peers, ids = append(peers, p), append(ids, p.request("disposeSession", `{"channel":"`+session+`"}`))
		}
		done, gone := 0, 0
		for i, p := range peers {
			answer := p.answer(ids[i])
			done += strings.Count(answer, `"result":null`)
			gone += strings.Count(answer, "-32001")
		}
		if done != 1 || gone != 4 {
			t.Errorf("%d done, %d gone", done, gone)
		}
	})
}

// The agents of a session end also when whoever disposed of it does not wait for
// the answer.
func TestDisposeAndLeave(t *testing.T) {
	start(t, &puppet{turn: holdTurns}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		b := w.dial("b")
		b.request("disposeSession", `{"channel":"`+session+`"}`)
		b.cut()
		time.Sleep(time.Second)
		synctest.Wait()
		if w.h.State(session) == nil && w.puppet.alive() != 0 {
			t.Error("the session is gone and its agent is not")
		}
	})
}
