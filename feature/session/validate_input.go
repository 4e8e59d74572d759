package session

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

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
	q := question(r, a.QuestionID)
	if q == nil {
		return noSuchQuestion
	}
	if a.Answer == nil { // takes an answer back
		return ""
	}
	return checkAnswer(q, *a.Answer)
}

const noSuchQuestion = "no such question"

func question(r *ahp.ChatInputRequest, id string) *ahp.ChatInputQuestion {
	for i := range r.Questions {
		if r.Questions[i].ID == id {
			return &r.Questions[i]
		}
	}
	return nil
}

func checkAnswer(q *ahp.ChatInputQuestion, a ahp.ChatInputAnswer) string {
	switch a.State {
	case ahp.AnswerSkipped:
		return ""
	case ahp.AnswerDraft, ahp.AnswerSubmitted:
		v, ok := ahp.ParseAnswer(a)
		if !ok {
			return "the answer has no value"
		}
		want, known := answerForms[q.Kind]
		return when(known && (v.Kind != want.kind || !want.fits(v.Value.Kind())), "the answer does not fit the question")
	}
	return "unknown state of an answer"
}

// answerForm is the value that answers a kind of question.
type answerForm struct {
	kind string
	json []jsontext.Kind
}

var answerForms = map[string]answerForm{
	ahp.QuestionText:         {"text", []jsontext.Kind{'"'}},
	ahp.QuestionNumber:       {"number", []jsontext.Kind{'0'}},
	ahp.QuestionInteger:      {"number", []jsontext.Kind{'0'}},
	ahp.QuestionBoolean:      {"boolean", []jsontext.Kind{'t', 'f'}},
	ahp.QuestionSingleSelect: {"selected", []jsontext.Kind{'"'}},
	ahp.QuestionMultiSelect:  {"selected-many", []jsontext.Kind{'['}},
}

func (f answerForm) fits(kind jsontext.Kind) bool {
	for _, k := range f.json {
		if k == kind {
			return true
		}
	}
	return false
}

func validateInput(s *ahp.ChatState, a *ahp.ChatInputCompleted) string {
	r := openRequest(s, a.RequestID)
	if r == nil {
		return "no such open request"
	}
	for id, answer := range a.Answers {
		q := question(r, id)
		if q == nil {
			return noSuchQuestion
		}
		if reason := checkAnswer(q, answer); reason != "" {
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

// unanswered reports whether a required question has no value, neither among the
// answers given now nor among those given before.
func unanswered(r *ahp.ChatInputRequest, given map[string]ahp.ChatInputAnswer) bool {
	for i := range r.Questions {
		q := &r.Questions[i]
		if q.Required == nil || !*q.Required {
			continue
		}
		a, ok := given[q.ID]
		if !ok {
			a = r.Answers[q.ID]
		}
		if _, has := ahp.ParseAnswer(a); !has || a.State == ahp.AnswerSkipped {
			return true
		}
	}
	return false
}
