package reducer

import "github.com/causeway-ahp/causeway/ahp"

// Chat reduces an action of a chat channel (AHP channels, 2.3). It returns s
// itself if the action changes nothing; s.ChatHeader must not be nil.
func Chat(s *ahp.ChatState, a ahp.Action) *ahp.ChatState {
	switch a := a.(type) {
	case *ahp.ChatDelta:
		return markdownDelta(s, a)
	case *ahp.ChatReasoning:
		return reasoningDelta(s, a)
	case *ahp.ChatResponsePart:
		return responsePart(s, a)
	case *ahp.ChatUsage:
		return usage(s, a)
	case *ahp.ChatTurnStarted:
		return startTurn(s, a)
	case *ahp.ChatTurnComplete:
		return endTurn(s, a.TurnID, turnEnd{state: ahp.TurnComplete, duration: a.Duration})
	case *ahp.ChatTurnCancelled:
		return endTurn(s, a.TurnID, turnEnd{state: ahp.TurnCancelled, duration: a.Duration})
	case *ahp.ChatError:
		return endTurn(s, a.TurnID, turnEnd{state: ahp.TurnError, duration: a.Duration, part: a.Part})
	case *ahp.ChatTurnResume:
		return resumeTurn(s, a)
	case *ahp.ChatTruncated:
		return truncate(s, a)
	case *ahp.ChatTurnsLoaded:
		return loadTurns(s, a)
	case *ahp.ChatToolCallStart:
		return startCall(s, a)
	case *ahp.ChatToolCallDelta:
		return eachCall(s, &a.ToolCallRef, a, streamInput)
	case *ahp.ChatToolCallContentChanged:
		return eachCall(s, &a.ToolCallRef, a, changeContent)
	case *ahp.ChatToolCallReady:
		return derived(eachCall(s, &a.ToolCallRef, a, readyCall))
	case *ahp.ChatToolCallConfirmed:
		return derived(eachCall(s, &a.ToolCallRef, a, confirmCall))
	case *ahp.ChatToolCallComplete:
		return derived(eachCall(s, &a.ToolCallRef, a, completeCall))
	case *ahp.ChatToolCallResultConfirmed:
		return derived(eachCall(s, &a.ToolCallRef, a, confirmResult))
	case *ahp.ChatToolCallAuthRequired:
		return derived(eachCall(s, &a.ToolCallRef, a, requireAuth))
	case *ahp.ChatToolCallAuthResolved:
		return derived(eachCall(s, &a.ToolCallRef, a, resolveAuth))
	case *ahp.ChatInputRequested:
		return requestInput(s, a)
	case *ahp.ChatInputAnswerChanged:
		return changeAnswer(s, a)
	case *ahp.ChatInputCompleted:
		return completeInput(s, a)
	}
	e := headerEdit{chat: s}
	e.reduce(a)
	return e.chat
}
