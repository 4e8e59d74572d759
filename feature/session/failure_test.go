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
	"github.com/go-json-experiment/json/jsontext"
)

func outcome(o agent.Outcome) func(context.Context, *puppetSession, agent.Prompt) agent.Outcome {
	return func(context.Context, *puppetSession, agent.Prompt) agent.Outcome { return o }
}

func TestOutcomes(t *testing.T) {
	for _, tc := range []struct {
		name       string
		o          agent.Outcome
		turn, text string
		status     ahp.Status
	}{
		{"completed", agent.Outcome{}, "t1=complete", "", ahp.StatusIdle},
		{"truncated", agent.Outcome{Result: agent.Truncated, Notice: "too long"}, "t1=complete", "", ahp.StatusIdle},
		{"truncated without a word", agent.Outcome{Result: agent.Truncated}, "t1=complete", "", ahp.StatusIdle},
		{"cancelled by itself", agent.Outcome{Result: agent.Cancelled}, "t1=cancelled", "", ahp.StatusIdle},
		{"refused", agent.Outcome{Result: agent.Refused, Err: &ahp.ErrorInfo{ErrorType: "refusal", Message: "no"}}, "t1=error", "[refusal: no]", ahp.StatusError},
		{"failed", agent.Outcome{Result: agent.Failed, Err: &ahp.ErrorInfo{ErrorType: "x", Message: "y"}}, "t1=error", "[x: y]", ahp.StatusError},
		{"failed without a word", agent.Outcome{Result: agent.Failed}, "t1=error", "[agentFailed: the agent failed]", ahp.StatusError},
		{"unknown", agent.Outcome{Result: 99}, "t1=error", "[agentFailed: the agent failed]", ahp.StatusError},
		{"an error that cannot be told", agent.Outcome{Result: agent.Failed, Err: &ahp.ErrorInfo{ErrorType: "x", Meta: jsontext.Value(`{`)}}, "t1=error", "[agentFailed: the agent failed]", ahp.StatusError},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start(t, &puppet{turn: outcome(tc.o)}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
				a.dispatch(chat, startTurn("t1", "x"))
				equal(t, "turns", w.turns(chat), tc.turn)
				if got := w.transcript(chat, "t1"); got != tc.text {
					t.Errorf("transcript %q, want %q", got, tc.text)
				}
				if got := w.chat(chat).Status.Activity(); got != tc.status {
					t.Errorf("status %d, want %d", got, tc.status)
				}
				a.dispatch(chat, startTurn("t2", "x")) // the chat goes on
				equal(t, "prompts", w.puppet.prompted(), "x", "x")
			})
		})
	}
}

func TestTruncatedOutcomeSaysWhy(t *testing.T) {
	start(t, &puppet{turn: outcome(agent.Outcome{Result: agent.Truncated, Notice: "too long"})}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		part, ok := w.chat(chat).Turns.At(0).ResponseParts.At(0).Part.(*ahp.SystemNotificationPart)
		if !ok || part.Content.Text != "too long" {
			t.Errorf("part %+v", part)
		}
	})
}

func TestUsageIsKept(t *testing.T) {
	n := 7.0
	start(t, &puppet{turn: outcome(agent.Outcome{Usage: &ahp.UsageInfo{InputTokens: &n}})}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		if u := w.chat(chat).Turns.At(0).Usage; u == nil || u.InputTokens == nil || *u.InputTokens != 7 {
			t.Errorf("usage %+v", u)
		}
	})
}

// A resumable error lets the client take the turn up again, where it stopped.
func TestResume(t *testing.T) {
	p := &puppet{describe: agent.Description{ResumesTurns: true}}
	p.turn = func(ctx context.Context, s *puppetSession, q agent.Prompt) agent.Outcome {
		if q.Resume {
			s.say(ctx, q.TurnID, "and the rest of "+q.Message.Text)
			return agent.Outcome{}
		}
		s.say(ctx, q.TurnID, "half")
		return agent.Outcome{Result: agent.Failed, Resumable: true, Err: &ahp.ErrorInfo{ErrorType: "x", Message: "y"}}
	}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "it"))
		equal(t, "turns", w.turns(chat), "t1=error")
		a.dispatch(chat, `{"type":"chat/turnResume","turnId":"t1"}`)
		equal(t, "turns", w.turns(chat), "t1=complete")
		if got := w.transcript(chat, "t1"); got != "half[x: y]and the rest of it" {
			t.Errorf("transcript %q", got)
		}
		if got := a.try(chat, `{"type":"chat/turnResume","turnId":"t1"}`); got == "" {
			t.Error("a turn that completed was resumed")
		}
	})
}

// An agent that cannot resume never offers to.
func TestResumeOfAnAgentThatCannot(t *testing.T) {
	start(t, &puppet{turn: outcome(agent.Outcome{Result: agent.Failed, Resumable: true})}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		if got := a.try(chat, `{"type":"chat/turnResume","turnId":"t1"}`); got != "the error cannot be resumed" {
			t.Errorf("refused with %q", got)
		}
	})
}

// A panic of an agent ends its turn and the agent, and nothing else.
func TestAgentPanics(t *testing.T) {
	p := &puppet{turn: func(ctx context.Context, s *puppetSession, q agent.Prompt) agent.Outcome {
		if q.Message.Text == "boom" {
			panic("secret")
		}
		return agent.Outcome{}
	}}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		b := w.dial("b")
		_, other := w.session(b)
		a.dispatch(chat, startTurn("t1", "boom"))
		equal(t, "turns", w.turns(chat), "t1=error")
		if got := w.transcript(chat, "t1"); got != "[agentFailed: the agent failed]" {
			t.Errorf("transcript %q", got)
		}
		if n := p.alive(); n != 1 {
			t.Errorf("%d agents alive, want the other one", n)
		}
		a.dispatch(chat, startTurn("t2", "x"))
		b.dispatch(other, startTurn("t1", "x"))
		equal(t, "turns", w.turns(chat), "t1=error", "t2=complete")
		equal(t, "other turns", w.turns(other), "t1=complete")
		if got := w.counted("agents_ended_total", "panic"); got != 1 {
			t.Errorf("%v panics were counted", got)
		}
	})
}

// A panic in any other method counts as the death of the agent as well.
func TestAgentPanicsElsewhere(t *testing.T) {
	boom := func() { panic("boom") }
	for _, tc := range []struct {
		name string
		rig  func(p *puppet)
		do   func(a *peer, session, chat ahp.URI)
		want string
	}{
		{"Close", func(p *puppet) { p.onClose = boom }, func(a *peer, _, chat ahp.URI) { a.result("disposeChat", `{"channel":"`+chat+`"}`) }, ""},
		{"SetConfig", func(p *puppet) {
			p.setConfig = func(string, jsontext.Value) (map[string]jsontext.Value, error) { panic("boom") }
		}, func(a *peer, session, _ ahp.URI) {
			a.dispatch(session, `{"type":"session/configChanged","config":{"mode":"wild"}}`)
		}, "[agentExited: the agent ended in the middle of the turn]"},
		{"Steer", func(p *puppet) {
			p.describe.Steering = true
			p.steer = func(context.Context, *ahp.Message) bool { panic("boom") }
		}, func(a *peer, _, chat ahp.URI) { a.dispatch(chat, pend("steering", "s", "left")) }, "[agentExited: the agent ended in the middle of the turn]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &puppet{turn: holdTurns}
			tc.rig(p)
			start(t, p, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
				a.dispatch(chat, startTurn("t1", "x"))
				tc.do(a, session, chat)
				synctest.Wait()
				if tc.want != "" {
					if got := w.transcript(chat, "t1"); got != tc.want {
						t.Errorf("transcript %q", got)
					}
				}
				for _, s := range p.sessions() {
					s.die() // Close panicked before it did
				}
			})
		})
	}
}

func TestAgentPanicsAtItsOpening(t *testing.T) {
	p := &puppet{}
	p.open = func(context.Context, agent.Spec, agent.Host) error { panic("boom") }
	bubble(t, p, Options{}, func(w *world) {
		a := w.dial("a")
		a.result("createSession", `{"channel":"ahp-session:/s"}`)
		s := w.state("ahp-session:/s")
		if s.Lifecycle != ahp.LifecycleFailed || s.CreationError.Message != "the agent failed to start" {
			t.Errorf("%s: %+v", s.Lifecycle, s.CreationError)
		}
	})
}

// An agent that dies in mid-turn ends it as an error once, at each phase, and
// the next turn gets a new agent (cases 9).
func TestAgentDies(t *testing.T) {
	for _, tc := range []struct {
		name string
		turn func(context.Context, *puppetSession, agent.Prompt) agent.Outcome
		text string
	}{
		{"before the first word", holdTurns, "[agentExited: the agent ended in the middle of the turn]"},
		{"while confirming", asks, "[agentExited: the agent ended in the middle of the turn]"},
		{"while asking", inquires, "[agentExited: the agent ended in the middle of the turn]"},
		{"with a reason", func(_ context.Context, s *puppetSession, _ agent.Prompt) agent.Outcome {
			<-s.done
			return agent.Outcome{Result: agent.Failed, Err: &ahp.ErrorInfo{ErrorType: "agentExited", Message: "exit status 3"}}
		}, "[agentExited: exit status 3]"},
		{"after it said all", func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
			<-s.done
			s.say(ctx, p.TurnID, "bye")
			return agent.Outcome{}
		}, "bye"},
		{"and its prompt never returns by itself", func(ctx context.Context, _ *puppetSession, _ agent.Prompt) agent.Outcome {
			<-ctx.Done()
			return agent.Outcome{Result: agent.Failed}
		}, "[agentExited: the agent ended in the middle of the turn]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &puppet{turn: tc.turn}
			start(t, p, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
				a.dispatch(chat, startTurn("t1", "x"))
				p.sessions()[0].die()
				time.Sleep(w.f.opts.Limits.DrainTimeout + time.Second)
				synctest.Wait()
				if got := w.transcript(chat, "t1"); !strings.HasSuffix(got, tc.text) {
					t.Errorf("transcript %q, want %q", got, tc.text)
				}
				if w.state(session).InputNeeded != nil {
					t.Error("something is still needed")
				}
				p.turn = nil
				a.dispatch(chat, startTurn("t2", "again"))
				if got := w.transcript(chat, "t2"); got != "ok: again" || len(p.sessions()) != 2 {
					t.Errorf("transcript %q of agent %d", got, len(p.sessions()))
				}
			})
		})
	}
}

// An agent that died while idle is replaced when it is needed.
func TestAgentDiesWhileIdle(t *testing.T) {
	p := &puppet{}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		p.sessions()[0].die()
		synctest.Wait()
		if n := len(p.sessions()); n != 1 {
			t.Fatalf("%d agents", n)
		}
		a.dispatch(chat, startTurn("t2", "x"))
		equal(t, "turns", w.turns(chat), "t1=complete", "t2=complete")
		if spec := p.sessions()[1].spec; spec.Turns != 1 || string(spec.ResumeToken) != "token" {
			t.Errorf("opened anew with %+v", spec)
		}
	})
}

// A turn whose agent cannot be opened again ends with a readable error; the next
// one tries anew.
func TestAgentCannotBeOpenedAgain(t *testing.T) {
	p := &puppet{}
	fail := false
	p.open = func(context.Context, agent.Spec, agent.Host) error {
		if fail {
			return &agent.StartError{Type: "authRequired", Message: "sign in first"}
		}
		return nil
	}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		p.sessions()[0].die()
		fail = true
		a.dispatch(chat, startTurn("t1", "x"))
		if got := w.transcript(chat, "t1"); got != "[authRequired: sign in first]" {
			t.Errorf("transcript %q", got)
		}
		fail = false
		a.dispatch(chat, startTurn("t2", "x"))
		equal(t, "turns", w.turns(chat), "t1=error", "t2=complete")
	})
}

func TestCreationFails(t *testing.T) {
	for _, tc := range []struct {
		name          string
		err           error
		kind, message string
	}{
		{"start error", &agent.StartError{Type: "authRequired", Message: "sign in first", Err: errors.New("secret")}, "authRequired", "sign in first"},
		{"wire error", ahp.ErrPermissionDenied, "creationFailed", ahp.ErrPermissionDenied.Message},
		{"any error", errors.New("secret path"), "agentStartFailed", "the agent could not be started; the host's log says why"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &puppet{}
			p.open = func(context.Context, agent.Spec, agent.Host) error { return tc.err }
			bubble(t, p, Options{}, func(w *world) {
				a := w.dial("a")
				a.result("createSession", `{"channel":"ahp-session:/s"}`)
				s := w.state("ahp-session:/s")
				if s.Lifecycle != ahp.LifecycleFailed || len(s.Chats) != 0 {
					t.Fatalf("%s with %d chats", s.Lifecycle, len(s.Chats))
				}
				if got := s.CreationError; got.ErrorType != tc.kind || got.Message != tc.message {
					t.Errorf("error %+v", got)
				}
				a.refused(-32602, "createChat", `{"channel":"ahp-session:/s","chat":"ahp-chat:/c"}`)
				p.open = nil
				w.session(a) // a later one is fine
				a.result("disposeSession", `{"channel":"ahp-session:/s"}`)
			})
		})
	}
}
