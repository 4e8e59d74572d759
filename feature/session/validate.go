package session

import (
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/go-json-experiment/json/jsontext"
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
		return f.validatePending(s, a)
	case *ahp.ChatPendingMessageRemoved:
		return when(!hasPending(s, a.Kind, a.ID), "no such pending message")
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

// when returns the reason if the condition holds.
func when(refused bool, reason string) string {
	if refused {
		return reason
	}
	return ""
}

func validateTurn(s *ahp.ChatState, a *ahp.ChatTurnStarted) string {
	if s.ActiveTurn != nil {
		return "a turn is in progress"
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
	if a.QueuedMessageID != nil && !hasPending(s, ahp.PendingQueued, *a.QueuedMessageID) && !hasPending(s, ahp.PendingSteering, *a.QueuedMessageID) {
		return "no such pending message"
	}
	return when(s.Interactivity != nil && *s.Interactivity != "full", "the chat is read-only")
}

func validateMessage(m *ahp.Message) string {
	switch {
	case isBlank(m):
		return "the message is empty"
	case m.Origin.Kind != ahp.OriginUser:
		return "a client may only send messages of a user"
	}
	return ""
}

func validateResume(s *ahp.ChatState, a *ahp.ChatTurnResume) string {
	if s.ActiveTurn != nil {
		return "a turn is in progress"
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

func validateConfirmed(s *ahp.ChatState, a *ahp.ChatToolCallConfirmed) string {
	t := s.ToolCallByID(a.TurnID, a.ToolCallID)
	if t == nil || t.Status != ahp.ToolPendingConfirmation {
		return "the tool call does not wait for confirmation"
	}
	if a.EditedToolInput != nil && (t.Editable == nil || !*t.Editable) {
		return "the tool call's input cannot be edited"
	}
	if a.SelectedOptionID == nil {
		return ""
	}
	for _, o := range t.Options {
		if o.ID == *a.SelectedOptionID {
			return when((o.Kind == ahp.OptionApprove) != a.Approved, "the selected option says otherwise")
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

func (f *Feature) validatePending(s *ahp.ChatState, a *ahp.ChatPendingMessageSet) string {
	if a.Kind != ahp.PendingQueued && a.Kind != ahp.PendingSteering {
		return "kind must be queued or steering"
	}
	if a.ID == "" {
		return "id is missing"
	}
	if len(s.QueuedMessages) >= f.opts.QueueLimit && a.Kind == ahp.PendingQueued && !hasPending(s, a.Kind, a.ID) {
		return "busy: the queue is full"
	}
	return validateMessage(a.Message)
}

func hasPending(s *ahp.ChatState, kind, id string) bool {
	if kind == ahp.PendingSteering {
		return s.SteeringMessage != nil && s.SteeringMessage.ID == id
	}
	for _, m := range s.QueuedMessages {
		if m.ID == id {
			return true
		}
	}
	return false
}

// openRequest returns the open input request of the active turn.
func openRequest(s *ahp.ChatState, id string) *ahp.ChatInputRequest {
	if s.ActiveTurn == nil {
		return nil
	}
	for _, p := range s.ActiveTurn.ResponseParts.All() {
		if r, ok := p.Part.(*ahp.InputRequestPart); ok && r.Response == nil && r.Request != nil && r.Request.ID == id {
			return r.Request
		}
	}
	return nil
}

func validateAnswer(s *ahp.ChatState, a *ahp.ChatInputAnswerChanged) string {
	r := openRequest(s, a.RequestID)
	if r == nil {
		return "no such open request"
	}
	if a.Answer == nil {
		return ""
	}
	return checkAnswer(r, a.QuestionID, *a.Answer)
}

func checkAnswer(r *ahp.ChatInputRequest, question string, a ahp.ChatInputAnswer) string {
	known := false
	for _, q := range r.Questions {
		known = known || q.ID == question
	}
	if !known {
		return "no such question"
	}
	switch a.State {
	case ahp.AnswerSkipped:
		return ""
	case ahp.AnswerDraft, ahp.AnswerSubmitted:
		_, ok := ahp.ParseAnswer(a)
		return when(!ok, "the answer has no value")
	}
	return "unknown state of an answer"
}

func validateInput(s *ahp.ChatState, a *ahp.ChatInputCompleted) string {
	r := openRequest(s, a.RequestID)
	if r == nil {
		return "no such open request"
	}
	for id, answer := range a.Answers {
		if reason := checkAnswer(r, id, answer); reason != "" {
			return reason
		}
	}
	switch a.Response {
	case ahp.InputDecline, ahp.InputCancel:
		return ""
	case ahp.InputAccept:
		return when(unanswered(r, a.Answers), "a required question is not answered")
	}
	return "unknown response"
}

func unanswered(r *ahp.ChatInputRequest, given map[string]ahp.ChatInputAnswer) bool {
	for _, q := range r.Questions {
		if q.Required == nil || !*q.Required {
			continue
		}
		a, ok := given[q.ID]
		if !ok {
			a, ok = r.Answers[q.ID]
		}
		if _, has := ahp.ParseAnswer(a); !ok || !has || a.State == ahp.AnswerSkipped {
			return true
		}
	}
	return false
}

func validateTruncated(s *ahp.ChatState, a *ahp.ChatTruncated) string {
	if s.ActiveTurn != nil {
		return "a turn is in progress"
	}
	if a.TurnID == nil {
		return ""
	}
	_, ok := s.Turns.Find(*a.TurnID)
	return when(!ok, "no such turn")
}

func validateSession(state any, a ahp.Action, by host.Actor) string {
	s := state.(*ahp.SessionState)
	switch a := a.(type) {
	case *ahp.SessionActiveClientSet:
		return when(a.ActiveClient.ClientID != by.ClientID, "a client may only speak for itself")
	case *ahp.SessionActiveClientRemoved:
		return when(a.ClientID != by.ClientID, "a client may only speak for itself")
	case *ahp.SessionConfigChanged:
		return validateConfig(s, a)
	case *ahp.SessionCustomizationToggled:
		return when(!hasCustomization(s, a.ID), "no such customization")
	case *ahp.SessionMCPServerStartRequested:
		return when(!hasCustomization(s, a.ID), "no such MCP server")
	case *ahp.SessionMCPServerStopRequested:
		return when(!hasCustomization(s, a.ID), "no such MCP server")
	case *ahp.SessionMCPServerBackgroundRequested:
		return when(!hasCustomization(s, a.ID), "no such MCP server")
	case *ahp.SessionWorkingDirectorySet, *ahp.SessionWorkingDirectoryRemoved, *ahp.SessionWorkingDirectoryReplaced:
		return "the agent's working directories cannot be changed"
	}
	return ""
}

func hasCustomization(s *ahp.SessionState, id string) bool {
	for i := range s.Customizations {
		if s.Customizations[i].ID == id {
			return true
		}
		for j := range s.Customizations[i].Children {
			if s.Customizations[i].Children[j].ID == id {
				return true
			}
		}
	}
	return false
}

// validateConfig refuses properties that are unknown or fixed once the session
// exists (AHP channels, 2.2).
func validateConfig(s *ahp.SessionState, a *ahp.SessionConfigChanged) string {
	if s.Config == nil {
		return "the session has no configuration"
	}
	mutable, ok := mutableProperties(s.Config.Schema)
	if !ok {
		return "the session's configuration cannot be changed"
	}
	for name := range a.Config {
		if !mutable[name] {
			return "property " + name + " cannot be changed"
		}
	}
	if a.Replace != nil && *a.Replace {
		for name := range s.Config.Values {
			if _, kept := a.Config[name]; !kept && !mutable[name] {
				return "property " + name + " cannot be removed"
			}
		}
	}
	return ""
}

func mutableProperties(schema jsontext.Value) (map[string]bool, bool) {
	var c ahp.ConfigSchema
	if ahp.Unmarshal(schema, &c) != nil {
		return nil, false
	}
	mutable := make(map[string]bool)
	for name, p := range c.Properties {
		mutable[name] = p.SessionMutable != nil && *p.SessionMutable
	}
	return mutable, true
}
