package session

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// active lists the active clients of a session.
func (w *world) active(session ahp.URI) (ids []string) {
	w.t.Helper()
	for _, c := range w.state(session).ActiveClients {
		ids = append(ids, c.ClientID)
	}
	return ids
}

func join(client string) string {
	return fmt.Sprintf(`{"type":"session/activeClientSet","activeClient":{"clientId":%q,"tools":[]}}`, client)
}

// present is a world in which client b is an active client of a's session.
func present(t *testing.T, p *puppet, test func(w *world, a, b *peer, session, chat ahp.URI)) {
	t.Helper()
	start(t, p, Options{Limits: Limits{ClientGrace: 30 * time.Second}}, func(w *world, a *peer, session, chat ahp.URI) {
		b := w.dial("b", session)
		b.dispatch(session, join("b"))
		equal(t, "active", w.active(session), "b")
		test(w, a, b, session, chat)
	})
}

func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// A client that unsubscribes is removed at once.
func TestActiveClientUnsubscribes(t *testing.T) {
	present(t, &puppet{}, func(w *world, a, b *peer, session, _ ahp.URI) {
		b.send(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"` + session + `"}}`)
		synctest.Wait()
		equal(t, "active", w.active(session))
		if got := a.taken("action", "activeClientRemoved"); len(got) != 1 {
			t.Errorf("told %q", got)
		}
	})
}

// A client that subscribes twice and leaves once has left.
func TestActiveClientSubscribesAgain(t *testing.T) {
	present(t, &puppet{}, func(w *world, _, b *peer, session, _ ahp.URI) {
		b.subscribe(session)
		equal(t, "active", w.active(session), "b")
		b.send(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"` + session + `"}}`)
		synctest.Wait()
		equal(t, "active", w.active(session))
		b.subscribe(session)
		b.dispatch(session, join("b"))
		wait(time.Hour)
		equal(t, "active after its return", w.active(session), "b")
	})
}

// A client that is lost is removed after the grace time.
func TestActiveClientIsLost(t *testing.T) {
	present(t, &puppet{}, func(w *world, _, b *peer, session, _ ahp.URI) {
		b.cut()
		wait(30*time.Second - time.Millisecond)
		equal(t, "active within the grace time", w.active(session), "b")
		wait(2 * time.Millisecond)
		equal(t, "active after it", w.active(session))
	})
}

func TestActiveClientReconnects(t *testing.T) {
	present(t, &puppet{}, func(w *world, _, b *peer, session, _ ahp.URI) {
		b.cut()
		wait(29 * time.Second)
		b = w.reconnect(b, session)
		wait(time.Hour)
		equal(t, "active", w.active(session), "b")
		b.cut() // the grace time begins anew
		wait(29 * time.Second)
		equal(t, "active", w.active(session), "b")
		wait(2 * time.Second)
		equal(t, "active", w.active(session))
	})
}

// A client that reconnects without the session is removed at once.
func TestActiveClientReconnectsWithoutTheSession(t *testing.T) {
	present(t, &puppet{}, func(w *world, _, b *peer, session, chat ahp.URI) {
		b.cut()
		w.reconnect(b, chat)
		equal(t, "active", w.active(session))
	})
}

// A connection that is taken over is not a lost client.
func TestActiveClientTakesOver(t *testing.T) {
	present(t, &puppet{}, func(w *world, _, b *peer, session, _ ahp.URI) {
		w.reconnect(b, session) // the old connection still stands
		wait(time.Hour)
		equal(t, "active", w.active(session), "b")
	})
}

// Of a client with two connections each may leave.
func TestActiveClientOnTwoConnections(t *testing.T) {
	present(t, &puppet{}, func(w *world, _, b *peer, session, _ ahp.URI) {
		again := w.dial("b", session)
		b.cut()
		wait(time.Hour)
		equal(t, "active", w.active(session), "b")
		again.cut()
		wait(time.Minute)
		equal(t, "active", w.active(session))
	})
}

// An active client need not be subscribed; it is removed when it is lost.
func TestActiveClientThatNeverSubscribed(t *testing.T) {
	bubble(t, &puppet{}, Options{}, func(w *world) {
		a, b := w.dial("a"), w.dial("b")
		a.result("createSession", `{"channel":"ahp-session:/s","activeClient":{"clientId":"a","tools":[]}}`)
		b.dispatch("ahp-session:/s", join("b"))
		wait(time.Hour)
		equal(t, "active", w.active("ahp-session:/s"), "a", "b")
		a.cut()
		b.cut()
		wait(31 * time.Second)
		equal(t, "active", w.active("ahp-session:/s"))
	})
}

// A client that joins in the same breath as its connection is lost is removed
// all the same.
func TestActiveClientJoinsAndIsLost(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, _ *peer, session, _ ahp.URI) {
		b := w.dial("b")
		b.post(session, join("b"))
		b.cut()
		wait(31 * time.Second)
		equal(t, "active", w.active(session))
	})
}

// Clients that were never active, and sessions that are gone, leave nothing
// behind.
func TestPresenceForgets(t *testing.T) {
	present(t, &puppet{}, func(w *world, a, b *peer, session, _ ahp.URI) {
		c := w.dial("c", session)
		a.result("disposeSession", `{"channel":"`+session+`"}`)
		b.send(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"` + session + `"}}`)
		a.cut()
		b.cut()
		c.cut()
		wait(time.Minute)
		p := w.f.presence
		if len(p.conns)+len(p.active)+len(p.timers) != 0 {
			t.Errorf("conns %v, active %v, timers %v", p.conns, p.active, p.timers)
		}
	})
}

// So does a client that stays connected without a subscription.
func TestPresenceForgetsDisposedSessions(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, a *peer, session, _ ahp.URI) {
		b := w.dial("b")
		b.dispatch(session, join("b"))
		a.dispatch(session, join("a"))
		a.result("disposeSession", `{"channel":"`+session+`"}`)
		if p := w.f.presence; len(p.conns)+len(p.active) != 0 {
			t.Errorf("conns %v, active %v", p.conns, p.active)
		}
	})
}

// brings starts a call of a tool that client b brought.
func (w *world) brings(chat ahp.URI, call string, more ...string) {
	w.h.Apply(chat, decode(w.t, fmt.Sprintf(`{"type":"chat/toolCallStart","turnId":"t1","toolCallId":%q,"toolName":"n","displayName":"N","contributor":{"kind":"client","clientId":"b"}}`, call)))
	for _, m := range more {
		w.h.Apply(chat, decode(w.t, fmt.Sprintf(`{"type":"chat/toolCallReady","turnId":"t1","toolCallId":%q,"invocationMessage":"i"%s}`, call, m)))
	}
}

// The calls a client was to run fail when it leaves, whatever their status; what
// it finished stays (cases 15).
func TestClientToolsFail(t *testing.T) {
	leave := map[string]func(b *peer, session ahp.URI){
		"lost": func(b *peer, _ ahp.URI) { b.cut() },
		"resigned": func(b *peer, session ahp.URI) {
			b.dispatch(session, `{"type":"session/activeClientRemoved","clientId":"b"}`)
		},
	}
	for name, gone := range leave {
		t.Run(name, func(t *testing.T) {
			present(t, &puppet{turn: holdTurns}, func(w *world, a, b *peer, session, chat ahp.URI) {
				a.dispatch(chat, startTurn("t1", "x"))
				w.brings(chat, "streams")
				w.brings(chat, "waits", "")
				w.brings(chat, "runs", `,"confirmed":"not-needed"`)
				w.brings(chat, "ran", `,"confirmed":"not-needed"`)
				b.dispatch(chat, `{"type":"chat/toolCallComplete","turnId":"t1","toolCallId":"ran","result":{"success":true,"pastTenseMessage":"p"}}`)
				if kinds := w.state(session).InputNeeded; len(kinds) != 2 {
					t.Errorf("input needed: %+v", kinds)
				}
				gone(b, session)
				wait(31 * time.Second)
				for _, call := range []string{"streams", "waits", "runs", "ran"} {
					got := w.chat(chat).ToolCallByID("t1", call)
					if got.Status != ahp.ToolCompleted || *got.Success != (call == "ran") {
						t.Errorf("%s is %s", call, got.Status)
					}
				}
				if w.state(session).InputNeeded != nil {
					t.Error("something is still needed")
				}
			})
		})
	}
}

// An agent that asks about a call of a client that leaves gets its question
// back.
func TestQuestionAboutAToolOfAClientThatLeaves(t *testing.T) {
	p := &puppet{}
	p.turn = func(ctx context.Context, s *puppetSession, q agent.Prompt) agent.Outcome {
		time.Sleep(time.Second) // until the test has announced the call
		d, _ := s.host.Confirm(ctx, agent.Confirmation{TurnID: "t1", ToolCallID: "c", Message: ahp.Plain("?")})
		s.say(ctx, "t1", fmt.Sprint(d.Withdrawn))
		return agent.Outcome{}
	}
	present(t, p, func(w *world, a, b *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		w.brings(chat, "c")
		wait(2 * time.Second)
		b.cut()
		wait(31 * time.Second)
		if got := w.transcript(chat, "t1"); got != "true" {
			t.Errorf("transcript %q", got)
		}
	})
}
