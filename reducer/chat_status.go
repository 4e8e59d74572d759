package reducer

import "github.com/causeway-ahp/causeway/ahp"

// editHeader returns a copy of the state with its own copy of the header, to be
// changed before anybody else sees it.
func editHeader(s *ahp.ChatState) (*ahp.ChatState, *ahp.ChatHeader) {
	c, h := *s, *s.ChatHeader
	c.ChatHeader = &h
	return &c, &h
}

// withStatus keeps s, and with it its header, if the status stays.
func withStatus(s *ahp.ChatState, status ahp.Status) *ahp.ChatState {
	if status == s.Status {
		return s
	}
	c, header := editHeader(s)
	header.Status = status
	return c
}

// derived writes the status that follows from the active turn. The six tool-call
// actions that lead here do so even if they matched nothing (AHP channels, 4.4),
// which also takes an Error away (4.5).
func derived(s *ahp.ChatState) *ahp.ChatState {
	return withStatus(s, s.Status.WithActivity(activity(s.ActiveTurn)))
}

// activity is InputNeeded while the user is waited for, InProgress while a turn
// runs, else Idle. It looks at each part, so streamed deltas must not derive
// (AHP channels, 4.6).
func activity(t *ahp.ActiveTurn) ahp.Status {
	if t == nil {
		return ahp.StatusIdle
	}
	for _, p := range t.ResponseParts.All() {
		switch p := p.Part.(type) {
		case *ahp.InputRequestPart:
			if p.Response == nil {
				return ahp.StatusInputNeeded
			}
		case *ahp.ToolCallPart:
			if p.ToolCall != nil && p.ToolCall.WaitsForUser() {
				return ahp.StatusInputNeeded
			}
		}
	}
	return ahp.StatusInProgress
}
