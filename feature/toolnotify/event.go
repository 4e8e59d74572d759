package toolnotify

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json/jsontext"
)

// wants selects the actions that begin, move or end tool calls. It runs under the
// sequencer's lock.
func wants(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.ChatToolCallStart, *ahp.ChatToolCallConfirmed, *ahp.ChatToolCallContentChanged, *ahp.ChatToolCallComplete,
		*ahp.ChatToolCallResultConfirmed, *ahp.ChatToolCallAuthRequired, *ahp.ChatTurnComplete, *ahp.ChatTurnCancelled, *ahp.ChatError:
		return true
	}
	return false
}

// happening is what an action means for one tool call (tool-call notifications, 12.4).
type happening struct {
	turn     string
	call     *ahp.ToolCall
	trigger  notify.Trigger // "" when it only begins
	end      notify.End     // of a terminal trigger
	progress jsontext.Value // of streaming
}

// happenings reads them from the confirmed states before and after an action. What an
// action has changed counts, not what it is called: a call that was over, or is not
// there, means nothing.
func happenings(a ahp.Action, before, after *ahp.ChatState) []happening {
	switch a := a.(type) {
	case *ahp.ChatToolCallStart:
		return onCall(a.ToolCallRef, before, after, "")
	case *ahp.ChatToolCallConfirmed:
		return onCall(a.ToolCallRef, before, after, "")
	case *ahp.ChatToolCallComplete:
		return onCall(a.ToolCallRef, before, after, "")
	case *ahp.ChatToolCallResultConfirmed:
		return onCall(a.ToolCallRef, before, after, "")
	case *ahp.ChatToolCallContentChanged:
		return onCall(a.ToolCallRef, before, after, notify.Streaming)
	case *ahp.ChatToolCallAuthRequired:
		return onCall(a.ToolCallRef, before, after, notify.AuthRequired)
	case *ahp.ChatTurnComplete:
		return onTurn(a.TurnID, before, after)
	case *ahp.ChatTurnCancelled:
		return onTurn(a.TurnID, before, after)
	case *ahp.ChatError:
		return onTurn(a.TurnID, before, after)
	}
	return nil
}

// onCall is what an action about one call means. Otherwise is the trigger of an
// action that did not end it.
func onCall(ref ahp.ToolCallRef, before, after *ahp.ChatState, otherwise notify.Trigger) []happening {
	was, is := find(before, ref.TurnID, ref.ToolCallID), find(after, ref.TurnID, ref.ToolCallID)
	switch {
	case is == nil || is == was || was != nil && was.Ended():
		return nil
	case is.Ended():
		return []happening{ended(ref.TurnID, is)}
	}
	h := happening{turn: ref.TurnID, call: is, trigger: otherwise}
	if otherwise == notify.Streaming {
		h.progress = marshal(struct {
			Content []ahp.ToolResultContent `json:"content"`
		}{is.Content})
	}
	return []happening{h}
}

// onTurn is what the end of a turn means for its calls: the reducer has cancelled
// those that were not over.
func onTurn(turn string, before, after *ahp.ChatState) (list []happening) {
	if before.ActiveTurn == nil || before.ActiveTurn.ID != turn {
		return nil
	}
	for _, p := range before.ActiveTurn.ResponseParts.All() {
		part, ok := p.Part.(*ahp.ToolCallPart)
		if !ok || part.ToolCall == nil || part.ToolCall.Ended() {
			continue
		}
		if is := find(after, turn, part.ToolCall.ToolCallID); is != nil && is.Ended() {
			list = append(list, ended(turn, is))
		}
	}
	return list
}

// ended is the terminal happening of a call that is over.
func ended(turn string, call *ahp.ToolCall) happening {
	h := happening{turn: turn, call: call}
	h.trigger, h.end = outcome(call)
	h.end.Trigger = h.trigger
	if call.Status == ahp.ToolCompleted || len(call.Content) > 0 {
		h.end.Result = result(call)
	}
	return h
}

// outcome maps the end of a call to a trigger.
func outcome(call *ahp.ToolCall) (notify.Trigger, notify.End) {
	fail := func(category, message string) notify.End {
		return notify.End{Error: &notify.CallError{Category: category, Message: message}}
	}
	if call.Status == ahp.ToolCancelled {
		if call.Reason != nil && (*call.Reason == "denied" || *call.Reason == "result-denied") {
			return notify.Cancelled, fail(notify.ErrorDenied, *call.Reason)
		}
		return notify.Cancelled, fail(notify.ErrorCancelled, "")
	}
	if call.Success != nil && *call.Success {
		return notify.Completed, notify.End{}
	}
	code, message := "", ""
	if call.Error != nil {
		message = call.Error.Message
		if call.Error.Code != nil {
			code = *call.Error.Code
		}
	}
	switch code {
	case "cancelled":
		return notify.Cancelled, fail(notify.ErrorCancelled, message)
	case "timeout":
		return notify.TimedOut, fail(notify.ErrorTimeout, message)
	}
	return notify.Failed, fail(notify.ErrorTool, message)
}

// result is the result of a call in the form of MCP.
func result(call *ahp.ToolCall) jsontext.Value {
	return marshal(struct {
		Content    []ahp.ToolResultContent `json:"content"`
		Structured jsontext.Value          `json:"structuredContent,omitzero"`
		IsError    bool                    `json:"isError,omitzero"`
	}{orEmpty(call.Content), call.StructuredContent, call.Success != nil && !*call.Success})
}

// find returns a tool call of a turn, also of one that is over.
func find(s *ahp.ChatState, turn, id string) *ahp.ToolCall {
	if s == nil {
		return nil
	}
	if call := s.ToolCallByID(turn, id); call != nil {
		return call
	}
	i, ok := s.Turns.Find(turn)
	if !ok {
		return nil
	}
	for _, p := range s.Turns.At(i).ResponseParts.All() {
		if part, ok := p.Part.(*ahp.ToolCallPart); ok && part.ToolCall != nil && part.ToolCall.ToolCallID == id {
			return part.ToolCall
		}
	}
	return nil
}
