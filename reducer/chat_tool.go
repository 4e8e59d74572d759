package reducer

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// startCall appends a call whose input begins to stream. That the id is new is
// not checked, and the status is not derived (AHP channels, 2.3).
func startCall(s *ahp.ChatState, a *ahp.ChatToolCallStart) *ahp.ChatState {
	if !isActive(s, a.TurnID) {
		return s
	}
	call := &ahp.ToolCall{
		Status: ahp.ToolStreaming, ToolCallID: a.ToolCallID, ToolName: a.ToolName,
		DisplayName: a.DisplayName, Intention: a.Intention, Contributor: a.Contributor,
	}
	if given(a.Meta) {
		call.Meta = a.Meta
	}
	part := ahp.ResponsePart{Part: &ahp.ToolCallPart{ToolCall: call}}
	return withParts(s, s.ActiveTurn.ResponseParts.Append(part))
}

// eachCall replaces every call with the id by what step makes of it; step
// returns the call itself to leave it. It begins at the first part with the id,
// so a call at the end of a long turn costs no more than in a short one.
func eachCall[A any](s *ahp.ChatState, ref *ahp.ToolCallRef, a A, step func(*ahp.ToolCall, A) *ahp.ToolCall) *ahp.ChatState {
	first, ok := activePart(s, ref.TurnID, ref.ToolCallID)
	if !ok {
		return s
	}
	parts, changed := s.ActiveTurn.ResponseParts, false
	for i := first; i < parts.Len(); i++ {
		part, ok := parts.At(i).Part.(*ahp.ToolCallPart)
		if !ok || part.ToolCall == nil || part.ToolCall.ToolCallID != ref.ToolCallID {
			continue
		}
		if next := step(part.ToolCall, a); next != part.ToolCall {
			parts, changed = setCall(parts, i, part, next), true
		}
	}
	if !changed {
		return s
	}
	return withParts(s, parts)
}

func setCall(parts ahp.List[ahp.ResponsePart], i int, part *ahp.ToolCallPart, call *ahp.ToolCall) ahp.List[ahp.ResponsePart] {
	next := *part
	next.ToolCall = call
	return parts.Set(i, ahp.ResponsePart{Part: &next})
}

// cancelCalls cancels every call that is neither completed nor cancelled,
// whatever its status, also one this build does not know (AHP channels, 4.11).
func cancelCalls(parts ahp.List[ahp.ResponsePart]) ahp.List[ahp.ResponsePart] {
	next := parts
	for i, p := range parts.All() {
		part, ok := p.Part.(*ahp.ToolCallPart)
		if ok && part.ToolCall != nil && !part.ToolCall.Ended() {
			next = setCall(next, i, part, skipped(part.ToolCall))
		}
	}
	return next
}

// skipped is the call cancelled by the end of its turn. Only the base members,
// the message and the input are kept (AHP channels, 4.12).
func skipped(t *ahp.ToolCall) *ahp.ToolCall {
	n := t.Base(ahp.ToolCancelled)
	n.Reason = new(ahp.ReasonSkipped)
	n.InvocationMessage, n.ToolInput = t.InvocationMessage, t.ToolInput
	if t.Status == ahp.ToolStreaming {
		n.ToolInput = nil
		if t.InvocationMessage == nil {
			n.InvocationMessage = new(ahp.Plain(""))
		}
	}
	return n
}

// advanced is the call in another status with the members that all statuses
// after streaming share. The action's _meta replaces the call's, its absence
// keeps it (AHP channels, 4.17).
func advanced(t *ahp.ToolCall, status string, meta jsontext.Value) *ahp.ToolCall {
	n := t.Base(status)
	n.InvocationMessage, n.ToolInput = t.InvocationMessage, t.ToolInput
	replaceMeta(n, meta)
	return n
}

func replaceMeta(t *ahp.ToolCall, meta jsontext.Value) {
	if given(meta) {
		t.Meta = meta
	}
}
