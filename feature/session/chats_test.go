package session

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// several is a puppet with several chats a session.
func several() *puppet { return &puppet{describe: agent.Description{MultipleChats: true}} }

func TestCreateChat(t *testing.T) {
	start(t, several(), Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		create := a.request("createChat", `{"channel":"`+session+`","chat":"ahp-chat:/2","initialMessage":`+message("hello")+`}`)
		if got := a.answer(create); !strings.Contains(got, `"result":null`) {
			t.Fatalf("answer %s", got)
		}
		s := w.state(session)
		if len(s.Chats) != 2 || s.Chats[1].Resource != "ahp-chat:/2" || *s.DefaultChat != chat {
			t.Errorf("chats %+v", s.Chats)
		}
		if c := w.chat("ahp-chat:/2"); c.Turns.Len() != 1 || c.Origin.Kind != ahp.ChatOriginUser {
			t.Errorf("%d turns, origin %+v", c.Turns.Len(), c.Origin)
		}
		equal(t, "prompts", w.puppet.prompted(), "hello")
		if n := w.puppet.alive(); n != 2 {
			t.Errorf("%d agents", n)
		}
		if spec := w.puppet.sessions()[1].spec; spec.Chat != "ahp-chat:/2" || string(spec.Config["mode"]) != `"calm"` {
			t.Errorf("opened with %+v", spec)
		}
	})
}

func TestCreateChatDirectories(t *testing.T) {
	bubble(t, several(), Options{}, func(w *world) {
		a := w.dial("a")
		a.result("createSession", `{"channel":"ahp-session:/s","workingDirectories":["file:///a","file:///b"]}`)
		a.result("createChat", `{"channel":"ahp-session:/s","chat":"ahp-chat:/2","workingDirectories":["file:///b"]}`)
		a.result("createChat", `{"channel":"ahp-session:/s","chat":"ahp-chat:/3"}`)
		a.refused(-32602, "createChat", `{"channel":"ahp-session:/s","chat":"ahp-chat:/4","workingDirectories":["file:///c"]}`)
		equal(t, "of its own", w.chat("ahp-chat:/2").WorkingDirectories, "file:///b")
		equal(t, "of the session", w.chat("ahp-chat:/3").WorkingDirectories, "file:///a", "file:///b")
		equal(t, "given to the agent", w.puppet.sessions()[1].spec.Directories, "file:///b")
	})
}

func TestCreateChatRefused(t *testing.T) {
	for _, tc := range []struct {
		name, params string
		code         int64
	}{
		{"unknown session", `{"channel":"ahp-session:/none","chat":"ahp-chat:/2"}`, -32001},
		{"taken", `{"channel":"ahp-session:/a","chat":"ahp-chat:/taken"}`, -32010},
		{"no chat", `{"channel":"ahp-session:/a","chat":"ahp-session:/2"}`, -32602},
		{"no id", `{"channel":"ahp-session:/a","chat":"ahp-chat:/"}`, -32602},
		{"a fork", `{"channel":"ahp-session:/a","chat":"ahp-chat:/2","source":{"kind":"fork","chat":"ahp-chat:/1","turnId":"t"}}`, -32602},
		{"an agent's message", `{"channel":"ahp-session:/a","chat":"ahp-chat:/2","initialMessage":{"text":"x","origin":{"kind":"agent"}}}`, -32602},
		{"an empty message", `{"channel":"ahp-session:/a","chat":"ahp-chat:/2","initialMessage":{"text":"","origin":{"kind":"user"}}}`, -32602},
		{"wrong type", `{"channel":"ahp-session:/a","chat":7}`, -32602},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start(t, several(), Options{}, func(w *world, a *peer, session, _ ahp.URI) {
				a.result("createChat", `{"channel":"`+session+`","chat":"ahp-chat:/taken"}`)
				a.refused(tc.code, "createChat", tc.params)
				if n := len(w.puppet.sessions()); n != 2 {
					t.Errorf("%d agents were opened", n)
				}
			})
		})
	}
}

func TestCreateChatOfAnAgentWithOne(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		a.refused(-32602, "createChat", `{"channel":"`+session+`","chat":"ahp-chat:/2"}`)
	})
}

func TestCreateChatFails(t *testing.T) {
	p := several()
	start(t, p, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		p.open = func(context.Context, agent.Spec, agent.Host) error {
			return &agent.StartError{Type: "x", Message: "out of paper"}
		}
		answer := a.call("createChat", `{"channel":"`+session+`","chat":"ahp-chat:/2"}`)
		if checkError(t, answer, -32603); !strings.Contains(string(answer), "out of paper") {
			t.Errorf("answer %s", answer)
		}
		p.open = nil
		a.result("createChat", `{"channel":"`+session+`","chat":"ahp-chat:/2"}`) // the URI is free again
	})
}

// The same chat asked for twice while its agent is being opened is made once.
func TestCreateChatTwice(t *testing.T) {
	p := several()
	start(t, p, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		p.open = slowly(time.Second)
		x := a.request("createChat", `{"channel":"`+session+`","chat":"ahp-chat:/2"}`)
		y := a.request("createChat", `{"channel":"`+session+`","chat":"ahp-chat:/2"}`)
		time.Sleep(2 * time.Second)
		if got := a.answer(x); !strings.Contains(got, `"result":null`) {
			t.Errorf("first answer %s", got)
		}
		if got := a.answer(y); !strings.Contains(got, "-32010") {
			t.Errorf("second answer %s", got)
		}
		if n := p.alive(); n != 2 {
			t.Errorf("%d agents alive", n)
		}
	})
}

func TestCreateChatWhileTheSessionIsDisposed(t *testing.T) {
	p := several()
	start(t, p, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		p.open = slowly(time.Hour)
		create := a.request("createChat", `{"channel":"`+session+`","chat":"ahp-chat:/2","initialMessage":`+message("x")+`}`)
		a.result("disposeSession", `{"channel":"`+session+`"}`)
		if got := a.answer(create); !strings.Contains(got, "-32001") {
			t.Errorf("answer %s", got)
		}
		if p.alive() != 0 || w.h.State("ahp-chat:/2") != nil {
			t.Error("something of the chat is left")
		}
	})
}

func TestCreateChatBeforeTheSessionIsReady(t *testing.T) {
	p := several()
	p.open = slowly(time.Second)
	bubble(t, p, Options{}, func(w *world) {
		a := w.dial("a")
		a.result("createSession", `{"channel":"ahp-session:/s"}`)
		a.refused(-32602, "createChat", `{"channel":"ahp-session:/s","chat":"ahp-chat:/2"}`)
	})
}

// A chat whose creator is gone is made all the same: it asked for it.
func TestCreateChatAndLeave(t *testing.T) {
	p := several()
	start(t, p, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		p.open = slowly(time.Second)
		a.request("createChat", `{"channel":"`+session+`","chat":"ahp-chat:/2"}`)
		synctest.Wait()
		a.cut()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		w.chat("ahp-chat:/2")
	})
}

func TestDisposeChat(t *testing.T) {
	p := several()
	p.turn = holdTurns
	start(t, p, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.result("createChat", `{"channel":"`+session+`","chat":"ahp-chat:/2"}`)
		a.dispatch("ahp-chat:/2", startTurn("t1", "x"))
		a.result("disposeChat", `{"channel":"ahp-chat:/2"}`)
		if n, m := p.alive(), len(w.f.roster.of(session)); n != 1 || m != 1 {
			t.Errorf("%d agents alive, %d drivers", n, m)
		}
		if s := w.state(session); len(s.Chats) != 1 || *s.DefaultChat != chat {
			t.Errorf("chats %+v", s.Chats)
		}
		a.refused(-32008, "disposeChat", `{"channel":"ahp-chat:/2"}`)
		a.refused(-32602, "disposeChat", `{"channel":"`+session+`"}`)
		a.result("disposeChat", `{"channel":"`+chat+`"}`)
		if s := w.state(session); len(s.Chats) != 0 || s.DefaultChat != nil {
			t.Errorf("chats %+v, default %v", s.Chats, s.DefaultChat)
		}
	})
}

// Turns of two chats of a session run side by side.
func TestChatsAreIndependent(t *testing.T) {
	p := several()
	p.turn = holdTurns
	start(t, p, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.result("createChat", `{"channel":"`+session+`","chat":"ahp-chat:/2"}`)
		a.dispatch(chat, startTurn("t1", "x"))
		a.dispatch("ahp-chat:/2", startTurn("t1", "y"))
		equal(t, "prompts", p.prompted(), "x", "y")
		a.dispatch(chat, cancelTurn("t1"))
		if w.chat("ahp-chat:/2").ActiveTurn == nil {
			t.Error("the cancel reached the other chat")
		}
	})
}
