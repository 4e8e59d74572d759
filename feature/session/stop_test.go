package session

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// Stop leaves no goroutine, no agent and no open turn, in whatever phase it
// comes; the bubble and the audit see to that.
func TestStopInEveryPhase(t *testing.T) {
	for _, tc := range []struct {
		name string
		turn func(context.Context, *puppetSession, agent.Prompt) agent.Outcome
		do   func(w *world, a *peer, session, chat ahp.URI)
	}{
		{"idle", nil, func(*world, *peer, ahp.URI, ahp.URI) {}},
		{"running", holdTurns, func(_ *world, a *peer, _, chat ahp.URI) { a.dispatch(chat, startTurn("t1", "x")) }},
		{"confirming", asks, func(_ *world, a *peer, _, chat ahp.URI) { a.dispatch(chat, startTurn("t1", "x")) }},
		{"asking", inquires, func(_ *world, a *peer, _, chat ahp.URI) { a.dispatch(chat, startTurn("t1", "x")) }},
		{"draining", deaf, func(_ *world, a *peer, _, chat ahp.URI) {
			a.dispatch(chat, startTurn("t1", "x"))
			a.dispatch(chat, cancelTurn("t1"))
			wait(time.Second)
		}},
		{"draining with a turn that waits", deaf, func(_ *world, a *peer, _, chat ahp.URI) {
			a.dispatch(chat, startTurn("t1", "x"))
			a.dispatch(chat, cancelTurn("t1"))
			a.dispatch(chat, startTurn("t2", "y"))
		}},
		{"opening", nil, func(w *world, a *peer, _, _ ahp.URI) {
			w.puppet.open = slowly(time.Hour)
			a.result("createSession", `{"channel":"ahp-session:/slow","progressToken":"tok"}`)
		}},
		{"opening another chat", nil, func(w *world, a *peer, session, _ ahp.URI) {
			w.puppet.open = slowly(time.Hour)
			a.request("createChat", `{"channel":"`+session+`","chat":"ahp-chat:/2"}`)
			synctest.Wait()
		}},
		{"opening anew", nil, func(w *world, a *peer, _, chat ahp.URI) {
			w.puppet.open = slowly(time.Hour)
			w.puppet.sessions()[0].die()
			a.dispatch(chat, startTurn("t1", "x"))
		}},
		{"with a queue", holdTurns, func(_ *world, a *peer, _, chat ahp.URI) {
			a.dispatch(chat, startTurn("t1", "x"))
			a.dispatch(chat, queue("q1", "y"))
		}},
		{"steering", holdTurns, func(w *world, a *peer, _, chat ahp.URI) {
			w.puppet.steer = func(ctx context.Context, _ *ahp.Message) bool { <-ctx.Done(); return false }
			a.dispatch(chat, startTurn("t1", "x"))
			a.dispatch(chat, pend("steering", "s", "left"))
		}},
		{"with a lost client", nil, func(w *world, a *peer, session, _ ahp.URI) {
			a.dispatch(session, join("a"))
			a.cut()
		}},
		{"disposing", deaf, func(w *world, a *peer, session, chat ahp.URI) {
			w.puppet.onClose = func() { time.Sleep(time.Second) }
			a.dispatch(chat, startTurn("t1", "x"))
			a.request("disposeSession", `{"channel":"`+session+`"}`)
			synctest.Wait()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := several()
			p.turn, p.ignoreCancel, p.describe.Steering = tc.turn, true, true
			start(t, p, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
				tc.do(w, a, session, chat)
				begin := time.Now()
				w.end()
				if d := time.Since(begin); d > 5*time.Second {
					t.Errorf("it took %v", d)
				}
			})
		})
	}
}

// A stop cancels the turns; what the agents then say of it is not what happened.
func TestStopCancelsTurns(t *testing.T) {
	p := &puppet{turn: func(_ context.Context, s *puppetSession, _ agent.Prompt) agent.Outcome {
		<-s.done
		return agent.Outcome{Result: agent.Failed, Err: &ahp.ErrorInfo{ErrorType: "x", Message: "killed"}}
	}}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		w.end()
		equal(t, "turns", w.turns(chat), "t1=cancelled")
	})
}

// Questions that wait when the feature stops end as closed.
func TestStopWithdrawsQuestions(t *testing.T) {
	var got error
	p := &puppet{turn: func(ctx context.Context, s *puppetSession, q agent.Prompt) agent.Outcome {
		_, got = s.host.Ask(context.Background(), q.TurnID, &ahp.ChatInputRequest{ID: "r"})
		return agent.Outcome{}
	}}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		w.end()
		if !errors.Is(got, agent.ErrClosed) {
			t.Errorf("Ask: %v", got)
		}
	})
}

// Nothing begins while the feature stops, and what is asked for is refused.
func TestStopping(t *testing.T) {
	start(t, several(), Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		if err := w.f.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.refused(-32603, "createSession", `{"channel":"ahp-session:/late"}`)
		a.refused(-32603, "createChat", `{"channel":"`+session+`","chat":"ahp-chat:/late"}`)
		if w.h.State("ahp-session:/late") != nil || w.h.State("ahp-chat:/late") != nil {
			t.Error("something began")
		}
		a.dispatch(chat, startTurn("t1", "x")) // accepted, and ended at once
		equal(t, "turns", w.turns(chat), "t1=cancelled")
		equal(t, "prompts", w.puppet.prompted())
		a.dispatch(chat, queue("q1", "x"))
		a.dispatch(session, setMode("wild"))
		a.result("disposeChat", `{"channel":"`+chat+`"}`)
		a.result("disposeSession", `{"channel":"`+session+`"}`)
	})
}

// An agent that calls back after its end is told that it is over.
func TestCallbacksAfterTheEnd(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		h := w.puppet.sessions()[0].host
		a.result("disposeChat", `{"channel":"`+chat+`"}`)
		if err := h.Emit(t.Context(), agent.Text{TurnID: "t1", Text: "x"}); !errors.Is(err, agent.ErrClosed) {
			t.Errorf("Emit: %v", err)
		}
		if d, err := h.Confirm(t.Context(), agent.Confirmation{TurnID: "t1"}); !d.Withdrawn || !errors.Is(err, agent.ErrClosed) {
			t.Errorf("Confirm: %+v, %v", d, err)
		}
		if r, err := h.Ask(t.Context(), "t1", &ahp.ChatInputRequest{ID: "r"}); !r.Withdrawn || !errors.Is(err, agent.ErrClosed) {
			t.Errorf("Ask: %+v, %v", r, err)
		}
	})
}

// A caller that gives up on its question gets its own reason back.
func TestQuestionIsGivenUp(t *testing.T) {
	why := errors.New("changed my mind")
	p := &puppet{}
	p.turn = func(ctx context.Context, s *puppetSession, q agent.Prompt) agent.Outcome {
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(time.Second, func() { cancel(why) })
		r, err := s.host.Ask(ctx, q.TurnID, &ahp.ChatInputRequest{ID: "r"})
		if !r.Withdrawn || !errors.Is(err, why) {
			s.say(context.Background(), q.TurnID, "wrong")
		}
		return agent.Outcome{}
	}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		wait(2 * time.Second)
		equal(t, "turns", w.turns(chat), "t1=complete")
		if got := w.transcript(chat, "t1"); got != "" {
			t.Errorf("transcript %q", got)
		}
	})
}

func TestProvidersAreChecked(t *testing.T) {
	for _, tc := range []struct {
		name      string
		providers []agent.Provider
		want      string
	}{
		{"none", nil, "no agent provider"},
		{"twice", []agent.Provider{&puppet{}, &puppet{}}, "configured twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := New(Options{Providers: tc.providers})
			_, err := host.New(t.Context(), host.Options{Features: []host.Feature{f}})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAgentsAreAnnounced(t *testing.T) {
	second := several()
	second.describe.Provider = "second"
	bubble(t, &puppet{}, Options{Providers: []agent.Provider{second}}, func(w *world) {
		agents := w.h.State(ahp.RootURI).(*ahp.RootState).Agents
		if len(agents) != 2 || agents[0].Provider != "puppet" || agents[1].Provider != "second" {
			t.Fatalf("agents %+v", agents)
		}
		if agents[0].Capabilities != nil || agents[1].Capabilities.MultipleChats == nil {
			t.Errorf("capabilities %+v, %+v", agents[0].Capabilities, agents[1].Capabilities)
		}
	})
}
