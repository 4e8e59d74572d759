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

// asks is an agent that wants consent to one tool call and tells what it heard.
func asks(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
	_ = s.host.Emit(ctx, agent.ToolStarted{TurnID: p.TurnID, ToolCallID: "c", ToolName: "shell", DisplayName: "Shell"})
	d, err := s.host.Confirm(ctx, agent.Confirmation{
		TurnID: p.TurnID, ToolCallID: "c", Message: ahp.Plain("run"), Input: ahp.InlineInput("ls"), Editable: true,
		Options: []ahp.ConfirmationOption{
			{ID: "yes", Label: "Y", Kind: ahp.OptionApprove}, {ID: "no", Label: "N", Kind: ahp.OptionDeny},
		},
	})
	if err != nil || d.Withdrawn {
		return agent.Outcome{Result: agent.Cancelled}
	}
	if d.Approved {
		_ = s.host.Emit(ctx, agent.ToolFinished{TurnID: p.TurnID, ToolCallID: "c", Result: ahp.ToolCallResult{Success: true, PastTenseMessage: ahp.Plain("ran")}})
	}
	edited := "-"
	if d.EditedInput != nil {
		edited = *d.EditedInput
	}
	s.say(ctx, p.TurnID, fmt.Sprintf("approved=%t option=%s edited=%s reason=%s", d.Approved, d.OptionID, edited, d.Reason))
	return agent.Outcome{Result: agent.Completed}
}

func toolStatus(s *ahp.ChatState, turnID string) string {
	if i, ok := s.Turns.Find(turnID); ok {
		return s.Turns.At(i).ResponseParts.At(0).Part.(*ahp.ToolCallPart).ToolCall.Status
	}
	return s.ToolCallByID(turnID, "c").Status
}

func TestConfirmation(t *testing.T) {
	for _, tc := range []struct{ name, answer, heard, status string }{
		{"approved", approve("t1", "c", ""), "approved=true option= edited=- reason=", ahp.ToolCompleted},
		{"with option", approve("t1", "c", `,"selectedOptionId":"yes"`), "approved=true option=yes edited=- reason=", ahp.ToolCompleted},
		{"edited", approve("t1", "c", `,"editedToolInput":"pwd"`), "approved=true option= edited=pwd reason=", ahp.ToolCompleted},
		{"denied", deny("t1", "c", ""), "approved=false option= edited=- reason=denied", ahp.ToolCancelled},
		{"denied with option", deny("t1", "c", `,"selectedOptionId":"no"`), "approved=false option=no edited=- reason=denied", ahp.ToolCancelled},
		{"denied with an edit", deny("t1", "c", `,"editedToolInput":"pwd"`), "approved=false option= edited=- reason=denied", ahp.ToolCancelled},
		{"skipped", strings.Replace(deny("t1", "c", ""), `"denied"`, `"skipped"`, 1), "approved=false option= edited=- reason=skipped", ahp.ToolCancelled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start(t, &puppet{turn: asks}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
				a.dispatch(chat, startTurn("t1", "x"))
				if got := toolStatus(w.chat(chat), "t1"); got != ahp.ToolPendingConfirmation {
					t.Fatalf("the call is %s", got)
				}
				a.dispatch(chat, tc.answer)
				equal(t, "turns", w.turns(chat), "t1=complete")
				if got := w.transcript(chat, "t1"); got != tc.heard {
					t.Errorf("the agent heard %q, want %q", got, tc.heard)
				}
				if got := toolStatus(w.chat(chat), "t1"); got != tc.status {
					t.Errorf("the call is %s, want %s", got, tc.status)
				}
			})
		})
	}
}

// Of two clients that answer at once the first sequenced wins and the other is
// told so (AHP core, 6.3).
func TestFirstConfirmationWins(t *testing.T) {
	start(t, &puppet{turn: asks}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		b := w.dial("b", chat)
		a.dispatch(chat, startTurn("t1", "x"))
		a.post(chat, deny("t1", "c", ""))
		b.post(chat, approve("t1", "c", ""))
		refused := 0
		for _, p := range []*peer{a, b} {
			for _, m := range p.taken("action", "chat/toolCallConfirmed", `"rejectionReason"`) {
				refused++
				if got := rejection(m); got != "the tool call does not wait for confirmation" {
					t.Errorf("refused with %q", got)
				}
			}
		}
		if refused != 1 {
			t.Errorf("%d answers were refused, want 1", refused)
		}
		equal(t, "turns", w.turns(chat), "t1=complete")
	})
}

// A client answers without being subscribed to the chat (AHP channels, 2.2).
func TestConfirmationFromOutside(t *testing.T) {
	start(t, &puppet{turn: asks}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		b := w.dial("b", session)
		a.dispatch(chat, startTurn("t1", "x"))
		b.dispatch(chat, approve("t1", "c", ""))
		equal(t, "turns", w.turns(chat), "t1=complete")
	})
}

// What a session waits for stands in its state from question to answer.
func TestInputNeededFollowsAConfirmation(t *testing.T) {
	start(t, &puppet{turn: asks}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		needed := w.state(session).InputNeeded
		if len(needed) != 1 || needed[0].Kind != ahp.InputKindConfirmation || needed[0].Chat != chat || *needed[0].TurnID != "t1" {
			t.Fatalf("input needed: %+v", needed)
		}
		if got := w.state(session).Status; !got.Has(ahp.StatusInputNeeded) {
			t.Errorf("status %d", got)
		}
		a.dispatch(chat, approve("t1", "c", ""))
		if needed := w.state(session).InputNeeded; needed != nil {
			t.Errorf("still needed: %+v", needed)
		}
	})
}

// An agent that puts the same question again gets the answer to the later one.
func TestQuestionPutAgain(t *testing.T) {
	var first agent.Decision
	p := &puppet{turn: func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
		_ = s.host.Emit(ctx, agent.ToolStarted{TurnID: p.TurnID, ToolCallID: "c", ToolName: "n", DisplayName: "n"})
		done := make(chan struct{})
		go func() {
			defer close(done)
			first, _ = s.host.Confirm(ctx, agent.Confirmation{TurnID: p.TurnID, ToolCallID: "c", Message: ahp.Plain("one")})
		}()
		time.Sleep(time.Second)
		d, _ := s.host.Confirm(ctx, agent.Confirmation{TurnID: p.TurnID, ToolCallID: "c", Message: ahp.Plain("two")})
		<-done
		s.say(ctx, p.TurnID, fmt.Sprint(d.Approved))
		return agent.Outcome{}
	}}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		time.Sleep(2 * time.Second)
		a.dispatch(chat, approve("t1", "c", ""))
		if !first.Withdrawn {
			t.Errorf("the first question was answered: %+v", first)
		}
		if got := w.transcript(chat, "t1"); got != "true" {
			t.Errorf("transcript %q", got)
		}
	})
}

// A question about a call that was never announced is withdrawn at once.
func TestQuestionAboutAnUnknownCall(t *testing.T) {
	p := &puppet{turn: func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
		d, err := s.host.Confirm(ctx, agent.Confirmation{TurnID: p.TurnID, ToolCallID: "ghost", Message: ahp.Plain("?")})
		s.say(ctx, p.TurnID, fmt.Sprint(d.Withdrawn, err))
		return agent.Outcome{}
	}}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		if got := w.transcript(chat, "t1"); got != "true <nil>" {
			t.Errorf("transcript %q", got)
		}
	})
}

// Nobody need be connected while a question waits.
func TestQuestionWaitsForAClient(t *testing.T) {
	start(t, &puppet{turn: asks}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		a.cut()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		b := w.dial("b", chat)
		b.dispatch(chat, approve("t1", "c", ""))
		equal(t, "turns", w.turns(chat), "t1=complete")
	})
}

// A prompt that returns while its question is open withdraws it; the call is
// skipped.
func TestPromptReturnsBeforeItsQuestion(t *testing.T) {
	withdrawn := false
	p := &puppet{turn: func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
		_ = s.host.Emit(ctx, agent.ToolStarted{TurnID: p.TurnID, ToolCallID: "c", ToolName: "n", DisplayName: "n"})
		go func() {
			d, _ := s.host.Confirm(ctx, agent.Confirmation{TurnID: p.TurnID, ToolCallID: "c", Message: ahp.Plain("?")})
			withdrawn = d.Withdrawn
		}()
		time.Sleep(time.Second)
		return agent.Outcome{}
	}}
	start(t, p, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !withdrawn {
			t.Error("the question was answered")
		}
		equal(t, "turns", w.turns(chat), "t1=complete")
		if got := toolStatus(w.chat(chat), "t1"); got != ahp.ToolCancelled {
			t.Errorf("the call is %s", got)
		}
		if needed := w.state(session).InputNeeded; needed != nil {
			t.Errorf("still needed: %+v", needed)
		}
	})
}

// The end of another turn withdraws no question of this one.
func TestEndOfAnotherTurn(t *testing.T) {
	start(t, &puppet{turn: asks}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		w.f.roster.chat(chat).cancelled("t0") // an effect that comes late
		a.dispatch(chat, approve("t1", "c", ""))
		if got := w.transcript(chat, "t1"); got != "approved=true option= edited=- reason=" {
			t.Errorf("the agent heard %q", got)
		}
	})
}
