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
)

func TestCancel(t *testing.T) {
	start(t, &puppet{turn: holdTurns}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		if !w.f.Busy() {
			t.Error("a turn runs and the feature is not busy")
		}
		a.dispatch(chat, cancelTurn("t1"))
		equal(t, "turns", w.turns(chat), "t1=cancelled")
		if s := w.chat(chat); s.Status.Activity() != ahp.StatusIdle || s.Activity != nil {
			t.Errorf("status %d, activity %v", s.Status, s.Activity)
		}
		if w.f.Busy() {
			t.Error("nothing runs and the feature is busy")
		}
		if got := a.try(chat, cancelTurn("t1")); got != "no such active turn" {
			t.Errorf("a second cancel: %q", got)
		}
	})
}

// slowToStop is an agent that goes on for a while after a cancel.
func slowToStop(d time.Duration) func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
	return func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
		s.say(ctx, p.TurnID, "begin "+p.Message.Text)
		s.hold(ctx, p.TurnID)
		for range int(d / (100 * time.Millisecond)) {
			time.Sleep(100 * time.Millisecond)
			s.say(ctx, p.TurnID, " late "+p.Message.Text)
			_ = s.host.Emit(ctx, agent.ToolStarted{TurnID: p.TurnID, ToolCallID: "late", ToolName: "n", DisplayName: "n"})
		}
		return agent.Outcome{Result: agent.Completed, Usage: &ahp.UsageInfo{}}
	}
}

// After a cancel the chat is idle at once, the agent drains, its late events are
// dropped and counted, and the next turn is shown but prompted only when the
// agent has let go.
func TestDraining(t *testing.T) {
	start(t, &puppet{turn: slowToStop(2 * time.Second)}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "one"))
		a.dispatch(chat, cancelTurn("t1"))
		if s := w.chat(chat); s.ActiveTurn != nil || s.Status.Activity() != ahp.StatusIdle {
			t.Error("the chat is not idle at once")
		}
		if !w.f.Busy() {
			t.Error("an agent drains and the feature is not busy")
		}
		a.dispatch(chat, startTurn("t2", "two"))
		time.Sleep(time.Second)
		synctest.Wait()
		equal(t, "prompts while draining", w.puppet.prompted(), "one")
		if s := w.chat(chat); s.ActiveTurn == nil || s.ActiveTurn.ID != "t2" || s.Activity == nil || *s.Activity != stopping {
			t.Errorf("active %v, activity %v", s.ActiveTurn, s.Activity)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		equal(t, "prompts", w.puppet.prompted(), "one", "two")
		if s := w.chat(chat); s.Activity != nil {
			t.Errorf("activity %q after the drain", *s.Activity)
		}
		if got := w.transcript(chat, "t1"); got != "begin one" {
			t.Errorf("the cancelled turn says %q", got)
		}
		if got := w.chat(chat).ActiveTurn.ResponseParts.Len(); got != 1 {
			t.Errorf("the next turn has %d parts", got)
		}
		if got := w.counted("agent_events_dropped_total"); got != 40 {
			t.Errorf("%v late events were counted, want 40", got)
		}
	})
}

// The activity of a drain never outlives it, whenever the agent lets go.
func TestStoppingIsTakenBack(t *testing.T) {
	for _, d := range []time.Duration{200, 300, 500, 600, 1000} {
		t.Run(fmt.Sprint(d), func(t *testing.T) {
			start(t, &puppet{turn: slowToStop(d * time.Millisecond)}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
				a.dispatch(chat, startTurn("t1", "x"))
				a.dispatch(chat, cancelTurn("t1"))
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if s := w.chat(chat); s.Activity != nil {
					t.Errorf("activity %q", *s.Activity)
				}
			})
		})
	}
}

// deaf is an agent that heeds no cancel.
func deaf(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
	if p.Message.Text == "fine" {
		return agent.Outcome{}
	}
	<-s.done
	return agent.Outcome{Result: agent.Completed}
}

// An agent that ignores a cancel is ended at the deadline, and the next turn
// gets a new one that takes up the old.
func TestDrainDeadline(t *testing.T) {
	start(t, &puppet{turn: deaf, ignoreCancel: true}, Options{Limits: Limits{DrainTimeout: 10 * time.Second}}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		a.dispatch(chat, cancelTurn("t1"))
		a.dispatch(chat, startTurn("t2", "fine"))
		time.Sleep(10*time.Second - time.Millisecond)
		synctest.Wait()
		if n := len(w.puppet.sessions()); n != 1 {
			t.Fatalf("%d agents before the deadline", n)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		equal(t, "turns", w.turns(chat), "t1=cancelled", "t2=complete")
		agents := w.puppet.sessions()
		if len(agents) != 2 || w.puppet.alive() != 1 {
			t.Fatalf("%d agents, %d alive", len(agents), w.puppet.alive())
		}
		if got := agents[1].spec; string(got.ResumeToken) != "token" || got.Turns != 1 || got.Chat != chat {
			t.Errorf("opened anew with %+v", got)
		}
		if got := w.counted("agents_ended_total", "deadline"); got != 1 {
			t.Errorf("%v deadlines were counted", got)
		}
	})
}

// A cancel that comes before the agent knows the turn is repeated until it does.
func TestCancelBeforeThePromptArrived(t *testing.T) {
	p := &puppet{turn: func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
		time.Sleep(600 * time.Millisecond) // before that it hears no cancel
		s.mu.Lock()
		s.cancels = map[string]chan struct{}{}
		s.mu.Unlock()
		return s.hold(ctx, p.TurnID)
	}}
	start(t, p, Options{Limits: Limits{DrainTimeout: time.Minute}}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		a.dispatch(chat, cancelTurn("t1"))
		time.Sleep(time.Second)
		synctest.Wait()
		if w.f.Busy() {
			t.Error("the agent was not asked again")
		}
		if n := w.puppet.alive(); n != 1 {
			t.Errorf("%d agents alive", n)
		}
	})
}

// A turn that is cancelled while its agent is being opened is never prompted.
func TestCancelWhileTheAgentIsOpened(t *testing.T) {
	opens := 0
	p := &puppet{}
	p.open = func(ctx context.Context, _ agent.Spec, _ agent.Host) error {
		if opens++; opens == 2 {
			time.Sleep(3 * time.Second)
		}
		return nil
	}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		p.sessions()[0].die()
		a.dispatch(chat, startTurn("t1", "x"))
		a.dispatch(chat, cancelTurn("t1"))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		equal(t, "prompts", p.prompted())
		a.dispatch(chat, startTurn("t2", "y"))
		equal(t, "prompts", p.prompted(), "y")
		equal(t, "turns", w.turns(chat), "t1=cancelled", "t2=complete")
	})
}

// An agent that cannot be opened within the deadline of a cancel is given up.
func TestCancelWhileTheAgentHangsInItsOpening(t *testing.T) {
	opens := 0
	p := &puppet{}
	p.open = func(ctx context.Context, _ agent.Spec, _ agent.Host) error {
		if opens++; opens == 2 {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		p.sessions()[0].die()
		a.dispatch(chat, startTurn("t1", "x"))
		a.dispatch(chat, cancelTurn("t1"))
		a.dispatch(chat, startTurn("t2", "y"))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		equal(t, "turns", w.turns(chat), "t1=cancelled", "t2=complete")
	})
}

func TestCancelWhileConfirming(t *testing.T) {
	start(t, &puppet{turn: asks}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		a.dispatch(chat, cancelTurn("t1"))
		equal(t, "turns", w.turns(chat), "t1=cancelled")
		if got := toolStatus(w.chat(chat), "t1"); got != ahp.ToolCancelled {
			t.Errorf("the call is %s", got)
		}
		if got := a.try(chat, approve("t1", "c", "")); got == "" {
			t.Error("an approval after the cancel was accepted")
		}
		if w.state(session).InputNeeded != nil || w.f.Busy() {
			t.Error("something still waits")
		}
	})
}

func TestCancelWhileAsking(t *testing.T) {
	start(t, &puppet{turn: inquires}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		a.dispatch(chat, cancelTurn("t1"))
		equal(t, "turns", w.turns(chat), "t1=cancelled")
		if w.state(session).InputNeeded != nil || w.f.Busy() {
			t.Error("something still waits")
		}
	})
}

// A turn that waits for a draining one can be cancelled; its agent never hears
// of it.
func TestCancelOfAWaitingTurn(t *testing.T) {
	start(t, &puppet{turn: slowToStop(2 * time.Second)}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "one"))
		a.dispatch(chat, cancelTurn("t1"))
		a.dispatch(chat, startTurn("t2", "two"))
		a.dispatch(chat, cancelTurn("t2"))
		a.dispatch(chat, startTurn("t3", "three"))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		equal(t, "prompts", w.puppet.prompted(), "one", "three")
		equal(t, "turns", w.turns(chat), "t1=cancelled", "t2=cancelled")
	})
}

// Whatever comes at once, the last turn is prompted and no other of those that
// were cancelled before their turn came.
func TestTurnsInRapidSuccession(t *testing.T) {
	start(t, &puppet{turn: holdTurns}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		for i := range 50 {
			a.post(chat, startTurn(fmt.Sprint("t", i), fmt.Sprint(i)))
			a.post(chat, cancelTurn(fmt.Sprint("t", i)))
		}
		a.dispatch(chat, startTurn("last", "last"))
		got := w.puppet.prompted()
		if len(got) == 0 || got[len(got)-1] != "last" {
			t.Errorf("prompted %q", got)
		}
		if s := w.chat(chat); s.ActiveTurn == nil || s.ActiveTurn.ID != "last" || s.Turns.Len() != 50 {
			t.Errorf("active %v, %d turns", s.ActiveTurn, s.Turns.Len())
		}
	})
}

// A late event of a turn that ended with an error changes nothing: such an
// action would take the error out of the status (AHP channels, 4.4).
func TestErrorSurvivesLateEvents(t *testing.T) {
	p := &puppet{turn: func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
		_ = s.host.Emit(ctx, agent.ToolStarted{TurnID: p.TurnID, ToolCallID: "c", ToolName: "n", DisplayName: "n"})
		go func() {
			for range 100 {
				_ = s.host.Emit(ctx, agent.ToolRunning{TurnID: p.TurnID, ToolCallID: "c", Confirmed: ahp.ConfirmedNotNeeded, Message: ahp.Plain("x")})
			}
		}()
		return agent.Outcome{Result: agent.Failed}
	}}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		for i := range 20 {
			a.dispatch(chat, startTurn(fmt.Sprint("t", i), "x"))
			if got := w.chat(chat).Status.Activity(); got != ahp.StatusError {
				t.Fatalf("status %d after an error", got)
			}
		}
	})
}

func TestEventsOfNoTurn(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		s := w.puppet.sessions()[0]
		s.say(t.Context(), "t0", "before any turn")
		a.dispatch(chat, startTurn("t1", "x"))
		s.say(t.Context(), "t1", "after the turn")
		s.say(t.Context(), "", "of none")
		if got := w.transcript(chat, "t1"); got != "ok: x" {
			t.Errorf("transcript %q", got)
		}
		if got := w.counted("agent_events_dropped_total"); got != 3 {
			t.Errorf("%v events were counted", got)
		}
		for _, m := range a.take() {
			if strings.Contains(m, "before any turn") || strings.Contains(m, "after the turn") {
				t.Errorf("sent %s", m)
			}
		}
	})
}
