package reducer

import "github.com/causeway-ahp/causeway/ahp"

// The functions here run for each token of each answer. They allocate the state
// with its active turn, and the part; they copy no list and no text.

// markdownDelta appends to the first part with the id. If that is no markdown
// part nothing happens, even if a later one is (AHP channels, 4.18).
func markdownDelta(s *ahp.ChatState, a *ahp.ChatDelta) *ahp.ChatState {
	i, ok := activePart(s, a.TurnID, a.PartID)
	if !ok {
		return s
	}
	old, ok := s.ActiveTurn.ResponseParts.At(i).Part.(*ahp.MarkdownPart)
	if !ok {
		return s
	}
	part := *old
	part.Content = part.Content.Append(a.Content)
	return withPart(s, i, &part)
}

// reasoningDelta does the same for a reasoning part.
func reasoningDelta(s *ahp.ChatState, a *ahp.ChatReasoning) *ahp.ChatState {
	i, ok := activePart(s, a.TurnID, a.PartID)
	if !ok {
		return s
	}
	old, ok := s.ActiveTurn.ResponseParts.At(i).Part.(*ahp.ReasoningPart)
	if !ok {
		return s
	}
	part := *old
	part.Content = part.Content.Append(a.Content)
	return withPart(s, i, &part)
}

// responsePart appends a part. Errors come by chat/error alone.
func responsePart(s *ahp.ChatState, a *ahp.ChatResponsePart) *ahp.ChatState {
	if !isActive(s, a.TurnID) || a.Part.Part == nil {
		return s
	}
	if _, ok := a.Part.Part.(*ahp.ErrorPart); ok {
		return s
	}
	return withParts(s, s.ActiveTurn.ResponseParts.Append(a.Part))
}

func usage(s *ahp.ChatState, a *ahp.ChatUsage) *ahp.ChatState {
	if !isActive(s, a.TurnID) {
		return s
	}
	c, t := editTurn(s)
	t.Usage = a.Usage
	return c
}

func isActive(s *ahp.ChatState, turnID string) bool {
	return s.ActiveTurn != nil && s.ActiveTurn.ID == turnID
}

// activePart finds the first part with the id in the turn, if that is active.
func activePart(s *ahp.ChatState, turnID, partID string) (i int, ok bool) {
	if !isActive(s, turnID) {
		return 0, false
	}
	return s.ActiveTurn.ResponseParts.Find(partID)
}

// chatTurn is a state and its active turn in one allocation, since a delta
// replaces both.
type chatTurn struct {
	state ahp.ChatState
	turn  ahp.ActiveTurn
}

// editTurn returns a copy of the state with its own copy of the active turn,
// which must exist, to be changed before anybody else sees it.
func editTurn(s *ahp.ChatState) (*ahp.ChatState, *ahp.ActiveTurn) {
	c := &chatTurn{*s, *s.ActiveTurn}
	c.state.ActiveTurn = &c.turn
	return &c.state, &c.turn
}

func withPart(s *ahp.ChatState, i int, p ahp.Part) *ahp.ChatState {
	c, t := editTurn(s)
	t.ResponseParts = t.ResponseParts.Set(i, ahp.ResponsePart{Part: p})
	return c
}

func withParts(s *ahp.ChatState, parts ahp.List[ahp.ResponsePart]) *ahp.ChatState {
	c, t := editTurn(s)
	t.ResponseParts = parts
	return c
}
