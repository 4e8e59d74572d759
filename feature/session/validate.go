package session

import (
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// Validators are pure: they see the state an action would be applied to, and
// return why it is refused (AHP channels, 2.3 Validation).

func (f *Feature) validateChat(state any, a ahp.Action, by host.Actor) string {
	s := state.(*ahp.ChatState)
	switch a := a.(type) {
	case *ahp.ChatTurnStarted:
		return validateTurn(s, a)
	case *ahp.ChatTurnCancelled:
		return when(s.ActiveTurn == nil || s.ActiveTurn.ID != a.TurnID, "no such active turn")
	case *ahp.ChatTurnResume:
		return validateResume(s, a)
	case *ahp.ChatToolCallConfirmed:
		return validateConfirmed(s, a)
	case *ahp.ChatToolCallResultConfirmed:
		t := s.ToolCallByID(a.TurnID, a.ToolCallID)
		return when(t == nil || t.Status != ahp.ToolPendingResultConfirmation, "the tool call's result does not wait for confirmation")
	case *ahp.ChatToolCallComplete:
		return validateToolComplete(s, a, by)
	case *ahp.ChatToolCallContentChanged:
		t := s.ToolCallByID(a.TurnID, a.ToolCallID)
		return when(!ownTool(t, by) || t.Status != ahp.ToolRunning, "not a running tool call of this client")
	case *ahp.ChatPendingMessageSet:
		return validatePending(s, a, f.opts.Limits.QueuedMessages)
	case *ahp.ChatPendingMessageRemoved:
		return when(!hasPending(s, a.Kind, a.ID), "no such pending message")
	case *ahp.ChatDraftChanged:
		return when(a.Draft != nil && a.Draft.Origin.Kind != ahp.OriginUser, notTheUsers)
	case *ahp.ChatInputAnswerChanged:
		return validateAnswer(s, a)
	case *ahp.ChatInputCompleted:
		return validateInput(s, a)
	case *ahp.ChatTruncated:
		return validateTruncated(s, a)
	case *ahp.ChatWorkingDirectorySet, *ahp.ChatWorkingDirectoryRemoved:
		return "the agent's working directories cannot be changed"
	}
	return ""
}

// Reasons that several validators give.
const (
	turnInProgress = "a turn is in progress"
	notTheUsers    = "a client may only send messages of a user"
)

// when returns the reason if the condition holds.
func when(refused bool, reason string) string {
	if refused {
		return reason
	}
	return ""
}

// validateTurn refuses a second turn while one runs, which would erase the first
// (AHP channels, 4.20), and a turn that was there before.
func validateTurn(s *ahp.ChatState, a *ahp.ChatTurnStarted) string {
	if s.ActiveTurn != nil {
		return turnInProgress
	}
	if _, used := s.Turns.Find(a.TurnID); used || a.TurnID == "" {
		return "turnId is missing or was used before"
	}
	if reason := validateMessage(a.Message); reason != "" {
		return reason
	}
	if _, err := time.Parse(time.RFC3339, a.StartedAt); err != nil {
		return "startedAt is not an ISO 8601 time"
	}
	if id := a.QueuedMessageID; id != nil && !hasPending(s, ahp.PendingQueued, *id) && !hasPending(s, ahp.PendingSteering, *id) {
		return "no such pending message"
	}
	return when(s.Interactivity != nil && *s.Interactivity != "full", "the chat is read-only")
}

func validateMessage(m *ahp.Message) string {
	switch {
	case isBlank(m):
		return "the message is empty"
	case m.Origin.Kind != ahp.OriginUser:
		return notTheUsers
	}
	return ""
}

func validateResume(s *ahp.ChatState, a *ahp.ChatTurnResume) string {
	if s.ActiveTurn != nil {
		return turnInProgress
	}
	n := s.Turns.Len()
	if n == 0 || s.Turns.At(n-1).ID != a.TurnID || s.Turns.At(n-1).State != ahp.TurnError {
		return "not the latest turn, or it did not end with an error"
	}
	parts := s.Turns.At(n - 1).ResponseParts
	if parts.Len() == 0 {
		return "the error cannot be resumed"
	}
	e, ok := parts.At(parts.Len() - 1).Part.(*ahp.ErrorPart)
	return when(!ok || e.Resumable == nil || !*e.Resumable, "the error cannot be resumed")
}

func validatePending(s *ahp.ChatState, a *ahp.ChatPendingMessageSet, limit int) string {
	switch {
	case a.Kind != ahp.PendingQueued && a.Kind != ahp.PendingSteering:
		return "kind must be queued or steering"
	case a.ID == "":
		return "id is missing"
	case a.Kind == ahp.PendingQueued && len(s.QueuedMessages) >= limit && !hasPending(s, a.Kind, a.ID):
		return "busy: the queue is full"
	}
	return validateMessage(a.Message)
}

func hasPending(s *ahp.ChatState, kind, id string) bool {
	if kind == ahp.PendingSteering {
		return s.SteeringMessage != nil && s.SteeringMessage.ID == id
	}
	for i := range s.QueuedMessages {
		if s.QueuedMessages[i].ID == id {
			return true
		}
	}
	return false
}

func validateTruncated(s *ahp.ChatState, a *ahp.ChatTruncated) string {
	if s.ActiveTurn != nil {
		return turnInProgress
	}
	if a.TurnID == nil {
		return ""
	}
	_, ok := s.Turns.Find(*a.TurnID)
	return when(!ok, "no such turn")
}
