package session

import (
	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/google/uuid"
)

// partWriter turns the events of one turn into actions. Text that follows text
// goes to the same part; anything else in between begins a new one.
type partWriter struct {
	kind string // of the open part, "" for none
	id   string
}

// interrupt closes the open part.
func (w *partWriter) interrupt() { w.kind = "" }

// action returns what an event means for the chat, nil for nothing.
func (w *partWriter) action(e agent.Event) ahp.Action {
	switch e := e.(type) {
	case agent.Text:
		if e.Text == "" {
			return nil
		}
		return w.text(e)
	case agent.Thought:
		if e.Text == "" {
			return nil
		}
		return w.thought(e)
	case agent.Usage:
		return &ahp.ChatUsage{TurnID: e.TurnID, Usage: e.Usage}
	}
	w.interrupt()
	switch e := e.(type) {
	case agent.ToolStarted:
		return toolStart(e)
	case agent.ToolRunning:
		return &ahp.ChatToolCallReady{
			ToolCallRef: ref(e.TurnID, e.ToolCallID), InvocationMessage: e.Message, ToolInput: e.Input, Confirmed: &e.Confirmed,
		}
	case agent.ToolContent:
		a := &ahp.ChatToolCallContentChanged{ToolCallRef: ref(e.TurnID, e.ToolCallID), Content: e.Content}
		a.Meta = e.Meta
		return a
	case agent.ToolFinished:
		return &ahp.ChatToolCallComplete{ToolCallRef: ref(e.TurnID, e.ToolCallID), Result: e.Result}
	case agent.Notice:
		return notice(e.TurnID, e.Text)
	case agent.Content:
		return part(e.TurnID, &ahp.ContentRefPart{ContentRef: e.Ref})
	}
	return nil
}

func ref(turnID, toolCallID string) ahp.ToolCallRef {
	return ahp.ToolCallRef{TurnID: turnID, ToolCallID: toolCallID}
}

func (w *partWriter) text(e agent.Text) ahp.Action {
	if w.kind == ahp.PartMarkdown {
		return &ahp.ChatDelta{TurnID: e.TurnID, PartID: w.id, Content: e.Text}
	}
	w.kind, w.id = ahp.PartMarkdown, uuid.NewString()
	return part(e.TurnID, &ahp.MarkdownPart{ID: w.id, Content: ahp.NewText(e.Text)})
}

func (w *partWriter) thought(e agent.Thought) ahp.Action {
	if w.kind == ahp.PartReasoning {
		return &ahp.ChatReasoning{TurnID: e.TurnID, PartID: w.id, Content: e.Text}
	}
	w.kind, w.id = ahp.PartReasoning, uuid.NewString()
	return part(e.TurnID, &ahp.ReasoningPart{ID: w.id, Content: ahp.NewText(e.Text)})
}

func part(turnID string, p ahp.Part) ahp.Action {
	return &ahp.ChatResponsePart{TurnID: turnID, Part: ahp.ResponsePart{Part: p}}
}

func notice(turnID string, text ahp.StringOrMarkdown) ahp.Action {
	return part(turnID, &ahp.SystemNotificationPart{Content: text})
}

func toolStart(e agent.ToolStarted) ahp.Action {
	a := &ahp.ChatToolCallStart{ToolCallRef: ref(e.TurnID, e.ToolCallID), ToolName: e.ToolName, DisplayName: e.DisplayName}
	a.Meta = e.Meta
	if e.Intention != "" {
		a.Intention = &e.Intention
	}
	return a
}
