package reducer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// TestChatHistory runs random actions over states chosen at random among all
// that came before, as confirmed and optimistic states branch off each other.
// At the end each state must still encode as it did when it was new.
func TestChatHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := []*ahp.ChatState{New(ahp.KindChat).(*ahp.ChatState)}
		texts := []jsontext.Value{encodeState(t, states[0])}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			from := max(0, len(states)-1-rapid.IntRange(0, 3).Draw(t, "back"))
			a := drawAction(t)
			next := Chat(states[from], a)
			checkChat(t, states[from], next, a)
			states = append(states, next)
			texts = append(texts, encodeState(t, next))
		}
		for i, s := range states {
			if got := encodeState(t, s); string(got) != string(texts[i]) {
				t.Fatalf("state %d changed afterwards:\n%s\n%s", i, texts[i], got)
			}
		}
	})
}

// TestFoldIsApplyInTurn folds random actions over a state and over another that
// branched off it, which must stay as they were.
func TestFoldIsApplyInTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := New(ahp.KindChat)
		either := rapid.OneOf(rapid.Custom(drawAction), rapid.Custom(drawHeaderAction))
		for _, a := range rapid.SliceOfN(either, 0, 10).Draw(t, "before") {
			start = Apply(start, a)
		}
		actions := rapid.SliceOfN(either, 0, 12).Draw(t, "actions")
		text := encodeState(t, start.(*ahp.ChatState))
		want := start
		for _, a := range actions {
			want = Apply(want, a)
		}
		got := Fold(start, slices.Values(actions))
		if got, want := encodeState(t, got.(*ahp.ChatState)), encodeState(t, want.(*ahp.ChatState)); string(got) != string(want) {
			t.Fatalf("folded:\n%s\nin turn:\n%s", got, want)
		}
		if now := encodeState(t, start.(*ahp.ChatState)); string(now) != string(text) {
			t.Fatalf("the state that was folded over changed:\n%s\n%s", text, now)
		}
	})
}

// TestChatText compares streamed text with plain concatenation.
func TestChatText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Chat(New(ahp.KindChat).(*ahp.ChatState), &ahp.ChatTurnStarted{TurnID: "t"})
		var model [3]string
		for i := range model {
			part := &ahp.MarkdownPart{ID: fmt.Sprint(i)}
			s = Chat(s, &ahp.ChatResponsePart{TurnID: "t", Part: ahp.ResponsePart{Part: part}})
		}
		for range rapid.IntRange(1, 50).Draw(t, "deltas") {
			i := rapid.IntRange(0, len(model)-1).Draw(t, "part")
			text := rapid.StringN(0, 40, -1).Draw(t, "text")
			model[i] += text
			s = Chat(s, &ahp.ChatDelta{TurnID: "t", PartID: fmt.Sprint(i), Content: text})
		}
		for i, want := range model {
			if got := s.ActiveTurn.ResponseParts.At(i).Part.(*ahp.MarkdownPart).Content.String(); got != want {
				t.Fatalf("part %d is %q, want %q", i, got, want)
			}
		}
	})
}

// encodeState is deterministic: no action drawn here has a map of two entries.
func encodeState(t *rapid.T, s *ahp.ChatState) jsontext.Value {
	raw, err := ahp.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// checkChat checks what holds after any action.
func checkChat(t *rapid.T, before, after *ahp.ChatState, a ahp.Action) {
	name := a.ActionType()
	streams := name == "chat/delta" || name == "chat/reasoning" || name == "chat/usage" || name == "chat/responsePart"
	if streams && after.ChatHeader != before.ChatHeader {
		t.Fatalf("%s copied the header", name)
	}
	flags := ^ahp.Status(31 | 32)
	if before.Status&flags != after.Status&flags {
		t.Fatalf("%s changed the flags: %d to %d", name, before.Status, after.Status)
	}
	if after.QueuedMessages != nil && len(after.QueuedMessages) == 0 {
		t.Fatalf("%s kept an empty queue", name)
	}
	derives := strings.HasPrefix(name, "chat/toolCall") && name != "chat/toolCallStart" &&
		name != "chat/toolCallDelta" && name != "chat/toolCallContentChanged"
	if derives && after.Status.Activity() != activity(after.ActiveTurn) {
		t.Fatalf("%s left the activity %d, derived %d", name, after.Status.Activity(), activity(after.ActiveTurn))
	}
}

// drawAction draws an action over small pools of ids, so that most find what
// they name.
func drawAction(t *rapid.T) ahp.Action {
	turn := rapid.SampledFrom([]string{"t", "u"}).Draw(t, "turn")
	id := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "id")
	yes := rapid.Bool().Draw(t, "yes")
	text := rapid.SampledFrom([]string{"", "a", "long enough for the end of a buffer"}).Draw(t, "text")
	ref := ahp.ToolCallRef{TurnID: turn, ToolCallID: id}
	mcp := &ahp.ToolCallContributor{Kind: ahp.ContributorMCP}
	pool := []ahp.Action{
		&ahp.ChatTurnStarted{TurnID: turn, StartedAt: "2026-01-01T00:00:00.000Z", QueuedMessageID: &id},
		&ahp.ChatTurnComplete{TurnID: turn, Duration: 1},
		&ahp.ChatError{TurnID: turn, Part: ahp.ResponsePart{Part: &ahp.ErrorPart{Resumable: &yes}}},
		&ahp.ChatTurnResume{TurnID: turn},
		&ahp.ChatTruncated{TurnID: &turn},
		&ahp.ChatTurnsLoaded{Turns: []*ahp.Turn{{ID: id, State: ahp.TurnComplete}}},
		&ahp.ChatActivityChanged{Activity: &text},
		&ahp.ChatResponsePart{TurnID: turn, Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: id, Content: ahp.NewText(text)}}},
		&ahp.ChatResponsePart{TurnID: turn, Part: ahp.ResponsePart{Part: &ahp.ReasoningPart{ID: id}}},
		&ahp.ChatDelta{TurnID: turn, PartID: id, Content: text},
		&ahp.ChatDelta{TurnID: turn, PartID: id, Content: text},
		&ahp.ChatReasoning{TurnID: turn, PartID: id, Content: text},
		&ahp.ChatToolCallStart{ToolCallRef: ref, Contributor: mcp},
		&ahp.ChatToolCallDelta{ToolCallRef: ref, Content: &text},
		&ahp.ChatToolCallReady{ToolCallRef: ref, Options: []ahp.ConfirmationOption{{ID: id}}},
		&ahp.ChatToolCallReady{ToolCallRef: ref, Confirmed: &text, ToolInput: ahp.InlineInput(text)},
		&ahp.ChatToolCallConfirmed{ToolCallRef: ref, Approved: yes, SelectedOptionID: &id},
		&ahp.ChatToolCallContentChanged{ToolCallRef: ref, Content: []ahp.ToolResultContent{ahp.TextContent(text)}},
		&ahp.ChatToolCallComplete{ToolCallRef: ref, Result: ahp.ToolCallResult{Success: yes}, RequiresResultConfirmation: &yes},
		&ahp.ChatToolCallResultConfirmed{ToolCallRef: ref, Approved: yes},
		&ahp.ChatToolCallAuthRequired{ToolCallRef: ref, Auth: &ahp.MCPAuthRequirement{}},
		&ahp.ChatToolCallAuthResolved{ToolCallRef: ref},
		&ahp.ChatInputRequested{Request: &ahp.ChatInputRequest{ID: id}},
		&ahp.ChatInputAnswerChanged{RequestID: id, QuestionID: "q", Answer: &ahp.ChatInputAnswer{State: text}},
		&ahp.ChatInputCompleted{RequestID: id, Response: text},
		&ahp.ChatPendingMessageSet{Kind: ahp.PendingQueued, ID: id},
		&ahp.ChatPendingMessageRemoved{Kind: ahp.PendingQueued, ID: id},
		&ahp.ChatQueuedMessagesReordered{Order: []string{id, "z", "x"}},
	}
	return rapid.SampledFrom(pool).Draw(t, "action")
}

// drawHeaderAction draws an action that concerns nothing but a chat's header.
func drawHeaderAction(t *rapid.T) ahp.Action {
	id := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "id")
	kind := rapid.SampledFrom([]string{ahp.PendingQueued, ahp.PendingSteering}).Draw(t, "kind")
	yes := rapid.Bool().Draw(t, "yes")
	pool := []ahp.Action{
		&ahp.ChatActivityChanged{Activity: &id},
		&ahp.ChatMovableChanged{Movable: yes},
		&ahp.ChatIsReadChanged{IsRead: yes},
		&ahp.ChatIsArchivedChanged{IsArchived: yes},
		&ahp.ChatDraftChanged{Draft: ahp.UserMessage(id)},
		&ahp.ChatChangesetsChanged{Changesets: []ahp.Changeset{{}}},
		&ahp.ChatCanvasesChanged{Canvases: []ahp.CanvasRef{{}}},
		&ahp.ChatBackgroundWorkSet{Work: ahp.BackgroundWork{ID: id}},
		&ahp.ChatBackgroundWorkRemoved{ID: id},
		&ahp.ChatWorkingDirectorySet{Directory: "file:///" + id},
		&ahp.ChatWorkingDirectoryRemoved{Directory: "file:///" + id},
		&ahp.ChatPendingMessageSet{Kind: kind, ID: id, Message: ahp.UserMessage(id)},
		&ahp.ChatPendingMessageRemoved{Kind: kind, ID: id},
		&ahp.ChatQueuedMessagesReordered{Order: []string{id}},
	}
	return rapid.SampledFrom(pool).Draw(t, "header action")
}
