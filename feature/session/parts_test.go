package session

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// emits is an agent whose turn is a list of events.
func emits(events ...agent.Event) func(context.Context, *puppetSession, agent.Prompt) agent.Outcome {
	return func(ctx context.Context, s *puppetSession, _ agent.Prompt) agent.Outcome {
		for _, e := range events {
			_ = s.host.Emit(ctx, e)
		}
		return agent.Outcome{}
	}
}

// outline lists the parts of a finished turn.
func (w *world) outline(chat ahp.URI, turnID string) (list []string) {
	w.t.Helper()
	s := w.chat(chat)
	i, _ := s.Turns.Find(turnID)
	for _, p := range s.Turns.At(i).ResponseParts.All() {
		switch p := p.Part.(type) {
		case *ahp.MarkdownPart:
			list = append(list, "text "+p.Content.String())
		case *ahp.ReasoningPart:
			list = append(list, "thought "+p.Content.String())
		case *ahp.ToolCallPart:
			var content []string
			for _, c := range p.ToolCall.Content {
				content = append(content, *c.Text)
			}
			list = append(list, fmt.Sprintf("tool %s %s %s", p.ToolCall.ToolCallID, p.ToolCall.Status, strings.Join(content, ",")))
		case *ahp.SystemNotificationPart:
			list = append(list, "notice "+p.Content.Text)
		}
	}
	return list
}

func TestEventsBecomeParts(t *testing.T) {
	text := func(s string) agent.Event { return agent.Text{TurnID: "t1", Text: s} }
	thought := func(s string) agent.Event { return agent.Thought{TurnID: "t1", Text: s} }
	tool := agent.ToolStarted{TurnID: "t1", ToolCallID: "c", ToolName: "n", DisplayName: "n", Intention: "why"}
	runs := agent.ToolRunning{TurnID: "t1", ToolCallID: "c", Message: ahp.Plain("m"), Confirmed: ahp.ConfirmedSetting}
	shows := func(s string) agent.Event {
		return agent.ToolContent{TurnID: "t1", ToolCallID: "c", Content: []ahp.ToolResultContent{ahp.TextContent(s)}}
	}
	ends := agent.ToolFinished{TurnID: "t1", ToolCallID: "c", Result: ahp.ToolCallResult{
		Success: true, PastTenseMessage: ahp.Plain("p"), Content: []ahp.ToolResultContent{ahp.TextContent("all")}}}
	notice := agent.Notice{TurnID: "t1", Text: ahp.Plain("note")}
	usage := agent.Usage{TurnID: "t1", Usage: &ahp.UsageInfo{}}
	for _, tc := range []struct {
		name   string
		events []agent.Event
		want   []string
	}{
		{"text joins", []agent.Event{text("a"), text("b"), usage, text("c")}, on("text abc")},
		{"nothing is no part", []agent.Event{text(""), thought(""), text("a"), text(""), text("b")}, on("text ab")},
		{"thoughts between", []agent.Event{text("a"), thought("b"), thought("c"), text("d")}, on("text a", "thought bc", "text d")},
		{"a notice between", []agent.Event{text("a"), notice, text("b")}, on("text a", "notice note", "text b")},
		{"a tool", []agent.Event{text("a"), tool, runs, shows("1"), shows("2"), ends, text("b")}, on("text a", "tool c completed all", "text b")},
		{"a tool that never ends", []agent.Event{tool, runs, shows("1")}, on("tool c cancelled ")},
		{"a tool that never runs", []agent.Event{tool, ends}, on("tool c cancelled ")},
		{"a tool that ends twice", []agent.Event{tool, runs, ends, ends, shows("3")}, on("tool c completed all")},
		{"a tool nobody knows", []agent.Event{runs, shows("1"), ends, text("a")}, on("text a")},
		{"a tool that cannot be told", []agent.Event{text("a"), agent.ToolStarted{TurnID: "t1", ToolCallID: "d", Meta: []byte("{")}, text("b")}, on("text a", "text b")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start(t, &puppet{turn: emits(tc.events...)}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
				a.dispatch(chat, startTurn("t1", "x"))
				equal(t, "parts", w.outline(chat, "t1"), tc.want...)
			})
		})
	}
}

// A burst is neither dropped nor reordered, and a large piece is no special case.
func TestBurst(t *testing.T) {
	var events []agent.Event
	var want strings.Builder
	for i := range 5000 {
		piece := fmt.Sprint(i, " ")
		events = append(events, agent.Text{TurnID: "t1", Text: piece})
		want.WriteString(piece)
	}
	large := strings.Repeat("x", 4<<20)
	events = append(events, agent.Text{TurnID: "t1", Text: large})
	want.WriteString(large)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &puppet{turn: emits(events...)}, Options{})
		w.audit.relax() // or it would look at the whole text for each piece
		defer w.end()
		a := w.dial("a")
		_, chat := w.session(a)
		a.dispatch(chat, startTurn("t1", "x"))
		if got := w.transcript(chat, "t1"); got != want.String() {
			t.Errorf("%d bytes arrived, want %d", len(got), want.Len())
		}
	})
}
