package session

import (
	"context"
	"fmt"
	"testing"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// inquires is an agent that puts two questions and tells what it heard.
func inquires(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
	r, err := s.host.Ask(ctx, p.TurnID, &ahp.ChatInputRequest{ID: "r", Questions: []ahp.ChatInputQuestion{
		{Kind: ahp.QuestionText, ID: "name", Message: "name?", Required: new(true)},
		{Kind: ahp.QuestionBoolean, ID: "sure", Message: "sure?"},
	}})
	if err != nil || r.Withdrawn {
		return agent.Outcome{Result: agent.Cancelled}
	}
	value := func(id string) string { return string(r.Values[id].Value) }
	s.say(ctx, p.TurnID, fmt.Sprintf("%s name=%s sure=%s", r.Response, value("name"), value("sure")))
	return agent.Outcome{}
}

const (
	answerName = `{"type":"chat/inputAnswerChanged","requestId":"r","questionId":"name","answer":{"state":"draft","value":{"kind":"text","value":"Ann"}}}`
	answerSure = `"sure":{"state":"submitted","value":{"kind":"boolean","value":true}}`
	otherName  = `"name":{"state":"submitted","value":{"kind":"text","value":"Bob"}}`
)

func TestInputRequests(t *testing.T) {
	complete := func(response, answers string) string {
		return `{"type":"chat/inputCompleted","requestId":"r","response":"` + response + `","answers":{` + answers + `}}`
	}
	for _, tc := range []struct {
		name    string
		actions []string
		heard   string
	}{
		{"accepted", on(complete("accept", otherName)), `accept name={"kind":"text","value":"Bob"} sure=`},
		{"answered before", on(answerName, complete("accept", "")), `accept name={"kind":"text","value":"Ann"} sure=`},
		{"overlaid", on(answerName, complete("accept", answerSure)), `accept name={"kind":"text","value":"Ann"} sure={"kind":"boolean","value":true}`},
		{"changed at last", on(answerName, complete("accept", otherName)), `accept name={"kind":"text","value":"Bob"} sure=`},
		{"declined", on(complete("decline", "")), `decline name= sure=`},
		{"cancelled", on(answerName, complete("cancel", "")), `cancel name={"kind":"text","value":"Ann"} sure=`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start(t, &puppet{turn: inquires}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
				a.dispatch(chat, startTurn("t1", "x"))
				needed := w.state(session).InputNeeded
				if len(needed) != 1 || needed[0].Kind != ahp.InputKindChat || needed[0].Request.ID != "r" {
					t.Fatalf("input needed: %+v", needed)
				}
				for _, action := range tc.actions {
					a.dispatch(chat, action)
				}
				if got := w.transcript(chat, "t1"); got != tc.heard {
					t.Errorf("the agent heard %q, want %q", got, tc.heard)
				}
				if needed := w.state(session).InputNeeded; needed != nil {
					t.Errorf("still needed: %+v", needed)
				}
			})
		})
	}
}

func TestAcceptWithoutTheRequiredAnswer(t *testing.T) {
	start(t, &puppet{turn: inquires}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		if got := a.try(chat, `{"type":"chat/inputCompleted","requestId":"r","response":"accept"}`); got != "a required question is not answered" {
			t.Errorf("refused with %q", got)
		}
		if s := w.chat(chat); s.ActiveTurn == nil || !s.Status.Has(ahp.StatusInputNeeded) {
			t.Error("the question no longer waits")
		}
	})
}

// An id that an agent uses twice in a turn names the later question.
func TestRequestIDUsedAgain(t *testing.T) {
	p := &puppet{turn: func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
		inquires(ctx, s, p)
		return inquires(ctx, s, p)
	}}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		a.dispatch(chat, `{"type":"chat/inputCompleted","requestId":"r","response":"decline"}`)
		a.dispatch(chat, `{"type":"chat/inputCompleted","requestId":"r","response":"accept","answers":{`+otherName+`}}`)
		want := `decline name= sure=accept name={"kind":"text","value":"Bob"} sure=`
		if got := w.transcript(chat, "t1"); got != want {
			t.Errorf("the agent heard %q, want %q", got, want)
		}
	})
}

// A question that comes after the end of its turn ends up in no other turn, also
// if the driver has not yet heard of the end: input requests do not name theirs.
func TestLateQuestionIsNotPutInTheNextTurn(t *testing.T) {
	start(t, &puppet{turn: holdTurns}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		w.h.Apply(chat, decode(t, cancelTurn("t1")))
		w.h.Apply(chat, decode(t, startTurn("t2", "y")))
		s := w.puppet.sessions()[0]
		r, err := s.host.Ask(t.Context(), "t1", &ahp.ChatInputRequest{ID: "r"})
		if !r.Withdrawn || err != nil {
			t.Errorf("the late question was put: %+v, %v", r, err)
		}
		if n := w.chat(chat).ActiveTurn.ResponseParts.Len(); n != 0 {
			t.Errorf("the next turn has %d parts", n)
		}
	})
}
