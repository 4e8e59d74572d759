package shell

import (
	"fmt"
	"strings"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// questions are one of each kind (AHP channels, 2.3). Only the first needs an
// answer.
func questions() []ahp.ChatInputQuestion {
	colours := []ahp.ChatInputOption{
		{ID: "red", Label: "Red"},
		{ID: "green", Label: "Green", Recommended: new(true)},
		{ID: "blue", Label: "Blue"},
	}
	return []ahp.ChatInputQuestion{
		{Kind: ahp.QuestionText, ID: "name", Title: new("Name"), Message: "What shall I call you?", Required: new(true), Max: new(200.0)},
		{Kind: ahp.QuestionNumber, ID: "ratio", Title: new("Ratio"), Message: "A number from 0 to 1?", Min: new(0.0), Max: new(1.0), DefaultValue: jsontext.Value("0.5")},
		{Kind: ahp.QuestionInteger, ID: "count", Title: new("Count"), Message: "A whole number from 1 to 10?", Min: new(1.0), Max: new(10.0)},
		{Kind: ahp.QuestionBoolean, ID: "sure", Title: new("Sure"), Message: "Are you sure?", DefaultValue: jsontext.Value("true")},
		{Kind: ahp.QuestionSingleSelect, ID: "colour", Title: new("Colour"), Message: "Which colour?", Options: colours, AllowFree: new(true)},
		{Kind: ahp.QuestionMultiSelect, ID: "colours", Title: new("Colours"), Message: "Which others?", Options: colours, Max: new(2.0)},
	}
}

// ask puts the questions and repeats the answers.
func (t *turn) ask(string) agent.Outcome {
	asked := questions()
	request := &ahp.ChatInputRequest{ID: t.id + "-ask", Message: new("One question of each kind"), Questions: asked}
	answers, err := t.s.host.Ask(t.ctx, t.id, request)
	switch {
	case err != nil:
		return t.interrupted(fmt.Errorf("ask: %w", err))
	case answers.Withdrawn:
		return t.interrupted(errCancelled)
	case answers.Response != ahp.InputAccept:
		return t.say("No answers: " + codeSpan(answers.Response) + ".\n")
	}
	return t.say(listAnswers(asked, answers.Values))
}

// listAnswers writes the answers as a markdown list, in the order of the
// questions.
func listAnswers(asked []ahp.ChatInputQuestion, values map[string]ahp.ChatInputAnswer) string {
	var list strings.Builder
	for _, q := range asked {
		fmt.Fprintf(&list, "- **%s**: %s\n", *q.Title, showAnswer(values[q.ID]))
	}
	return list.String()
}

// showAnswer writes one answer in markdown. What a client sent is quoted.
func showAnswer(a ahp.ChatInputAnswer) string {
	v, ok := ahp.ParseAnswer(a)
	if !ok || a.State == ahp.AnswerSkipped {
		return "no answer"
	}
	shown := append(plainValues(v.Value), v.FreeformValues...)
	for i, text := range shown {
		shown[i] = codeSpan(text)
	}
	if len(shown) == 0 {
		return "nothing"
	}
	return strings.Join(shown, ", ")
}

// plainValues are the strings of a string or a list of them, and the JSON of
// anything else.
func plainValues(value jsontext.Value) []string {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(value, &many) == nil {
		return many
	}
	return []string{string(value)}
}
