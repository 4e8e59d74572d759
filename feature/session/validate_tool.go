package session

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// validateConfirmed lets the first answer to a waiting call through. What it
// accepts has all members that the call's next status needs.
func validateConfirmed(s *ahp.ChatState, a *ahp.ChatToolCallConfirmed) string {
	t := s.ToolCallByID(a.TurnID, a.ToolCallID)
	switch {
	case t == nil || t.Status != ahp.ToolPendingConfirmation:
		return "the tool call does not wait for confirmation"
	case a.Approved && a.Confirmed == nil:
		return "confirmed is missing"
	case !a.Approved && (a.Reason == nil || *a.Reason != ahp.ReasonDenied && *a.Reason != ahp.ReasonSkipped):
		return "reason must be denied or skipped"
	case a.UserSuggestion != nil && a.UserSuggestion.Origin.Kind != ahp.OriginUser:
		return notTheUsers
	case a.EditedToolInput != nil && (t.Editable == nil || !*t.Editable):
		return "the tool call's input cannot be edited"
	case a.SelectedOptionID == nil:
		return ""
	}
	return validateOption(t.Options, *a.SelectedOptionID, a.Approved)
}

func validateOption(options []ahp.ConfirmationOption, id string, approved bool) string {
	for i := range options {
		if options[i].ID == id {
			return when((options[i].Kind == ahp.OptionApprove) != approved, "the selected option says otherwise")
		}
	}
	return "no such option"
}

// ownTool reports whether a tool call belongs to a tool of the client.
func ownTool(t *ahp.ToolCall, by host.Actor) bool {
	return t != nil && t.Contributor != nil && t.Contributor.Kind == ahp.ContributorClient &&
		t.Contributor.ClientID != nil && *t.Contributor.ClientID == by.ClientID
}

// validateToolComplete lets a client complete its own tools, and anybody give up
// on a call that waits for a sign-in.
func validateToolComplete(s *ahp.ChatState, a *ahp.ChatToolCallComplete, by host.Actor) string {
	t := s.ToolCallByID(a.TurnID, a.ToolCallID)
	if t != nil && t.Status == ahp.ToolAuthRequired {
		return when(a.Result.Success, "a call that waits for a sign-in can only fail")
	}
	return when(!ownTool(t, by) || t.Status != ahp.ToolRunning, "not a running tool call of this client")
}
