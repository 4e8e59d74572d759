package reducer

import (
	"maps"

	"github.com/causeway-ahp/causeway/ahp"
)

// Input requests have no part id: they are found by the request's id, among
// those of the active turn that have no response yet. None of the actions moves
// modifiedAt (AHP channels, 2.3, since 0.9).

// requestInput asks the user. An open request with the id is replaced in place
// and keeps the answers given so far, unless the new one brings its own.
func requestInput(s *ahp.ChatState, a *ahp.ChatInputRequested) *ahp.ChatState {
	if s.ActiveTurn == nil || a.Request == nil {
		return s
	}
	if i, part := openRequest(s, a.Request.ID); part != nil {
		request := *a.Request
		if request.Answers == nil {
			request.Answers = part.Request.Answers
		}
		s = withRequest(s, i, part, request)
	} else {
		fresh := &ahp.InputRequestPart{Request: a.Request}
		s = withParts(s, s.ActiveTurn.ResponseParts.Append(ahp.ResponsePart{Part: fresh}))
	}
	status := s.Status.WithActivity(ahp.StatusInputNeeded)
	return withStatus(s, status.With(ahp.StatusIsRead, false))
}

// changeAnswer sets one answer of an open request, or deletes it.
func changeAnswer(s *ahp.ChatState, a *ahp.ChatInputAnswerChanged) *ahp.ChatState {
	i, part := openRequest(s, a.RequestID)
	if part == nil {
		return s
	}
	request := *part.Request
	answers := maps.Clone(request.Answers)
	if a.Answer == nil {
		delete(answers, a.QuestionID)
	} else {
		answers = overlaid(answers, map[string]ahp.ChatInputAnswer{a.QuestionID: *a.Answer})
	}
	request.Answers = nil // an empty map becomes absent (AHP channels, 4.27)
	if len(answers) > 0 {
		request.Answers = answers
	}
	return withRequest(s, i, part, request)
}

// completeInput closes an open request with the response and the last answers.
func completeInput(s *ahp.ChatState, a *ahp.ChatInputCompleted) *ahp.ChatState {
	i, part := openRequest(s, a.RequestID)
	if part == nil {
		return s
	}
	request := *part.Request
	if len(a.Answers) > 0 {
		request.Answers = overlaid(maps.Clone(request.Answers), a.Answers)
	}
	closed := *part
	closed.Request, closed.Response = &request, &a.Response
	return derived(withPart(s, i, &closed))
}

// overlaid adds the new answers to old, which belongs to the caller.
func overlaid(old, answers map[string]ahp.ChatInputAnswer) map[string]ahp.ChatInputAnswer {
	if old == nil {
		return maps.Clone(answers)
	}
	maps.Copy(old, answers)
	return old
}

func withRequest(s *ahp.ChatState, i int, part *ahp.InputRequestPart, request ahp.ChatInputRequest) *ahp.ChatState {
	next := *part
	next.Request = &request
	return withPart(s, i, &next)
}

// openRequest finds the first open request with the id in the active turn; part
// is nil if there is none.
func openRequest(s *ahp.ChatState, id string) (i int, part *ahp.InputRequestPart) {
	if s.ActiveTurn == nil {
		return 0, nil
	}
	for i, p := range s.ActiveTurn.ResponseParts.All() {
		p, ok := p.Part.(*ahp.InputRequestPart)
		if ok && p.Response == nil && p.Request != nil && p.Request.ID == id {
			return i, p
		}
	}
	return 0, nil
}
