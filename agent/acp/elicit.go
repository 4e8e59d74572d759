package acp

import (
	"context"
	"fmt"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type elicitParams struct {
	Message         string     `json:"message"`
	Mode            string     `json:"mode"`
	RequestedSchema formSchema `json:"requestedSchema"`
	URL             string     `json:"url"`
}

type formSchema struct {
	Title      string         `json:"title"`
	Properties jsontext.Value `json:"properties"` // an object, whose order counts
	Required   []string       `json:"required"`
}

// formField is a property of any type; Type says which members are used.
type formField struct {
	Type        string         `json:"type"`
	Title       *string        `json:"title"`
	Description *string        `json:"description"`
	Format      *string        `json:"format"`
	MinLength   *float64       `json:"minLength"`
	MaxLength   *float64       `json:"maxLength"`
	Minimum     *float64       `json:"minimum"`
	Maximum     *float64       `json:"maximum"`
	MinItems    *float64       `json:"minItems"`
	MaxItems    *float64       `json:"maxItems"`
	Enum        []string       `json:"enum"`
	EnumNames   []string       `json:"enumNames"`
	OneOf       []titledConst  `json:"oneOf"`
	Items       *fieldItems    `json:"items"`
	Default     jsontext.Value `json:"default"`
}

type fieldItems struct {
	Enum  []string      `json:"enum"`
	AnyOf []titledConst `json:"anyOf"`
	OneOf []titledConst `json:"oneOf"`
}

type titledConst struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

type elicitResult struct {
	Action  string                    `json:"action"`
	Content map[string]jsontext.Value `json:"content,omitzero"`
}

// Actions of an answered form.
const (
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// elicit puts a form to the user. Outside of a turn there is nobody to ask.
func (s *session) elicit(m jsonrpc.Message) jsonrpc.Reply {
	var p elicitParams
	if err := decode(m.Params, &p); err != nil {
		return jsonrpc.Reply{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the form cannot be read")}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.live()
	if t == nil {
		return jsonrpc.Reply{Result: elicitResult{Action: actionDecline}}
	}
	request, fields := p.request(fmt.Sprintf("%s-form-%s", t.id, m.ID))
	if request == nil {
		return jsonrpc.Reply{Result: elicitResult{Action: actionDecline}}
	}
	t.forms++
	host := s.host
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) {
		defer s.answeredForm(t)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stop := context.AfterFunc(t.life, func() { cancel(context.Cause(t.life)) })
		defer stop()
		a, err := host.Ask(ctx, t.id, request)
		if err != nil || a.Withdrawn {
			return elicitResult{Action: actionCancel}, nil
		}
		return formResult(a, fields), nil
	}}
}

func (s *session) answeredForm(t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.forms--
}

// maxFields bounds a form.
const maxFields = 100

// request is the form as an input request, nil if it is of an unknown mode.
func (p *elicitParams) request(id string) (*ahp.ChatInputRequest, map[string]formField) {
	r := &ahp.ChatInputRequest{ID: id, Message: textOrNil(p.Message)}
	if p.Mode == "url" {
		r.URL = &p.URL
		return r, nil
	}
	if p.Mode != "form" && p.Mode != "" {
		return nil, nil
	}
	fields := make(map[string]formField)
	jsonrpc.EachMember(p.RequestedSchema.Properties, func(name []byte, value jsontext.Value) bool {
		var f formField
		if decode(value, &f) == nil {
			fields[string(name)] = f
			r.Questions = append(r.Questions, f.question(string(name), p.RequestedSchema.Required))
		}
		return len(fields) < maxFields
	})
	return r, fields
}

// question is a field as a question (agents.md, 4.1).
func (f *formField) question(name string, required []string) ahp.ChatInputQuestion {
	q := ahp.ChatInputQuestion{ID: name, Kind: ahp.QuestionText, Title: f.Title, Message: name, DefaultValue: f.Default}
	if f.Title != nil {
		q.Message = *f.Title
	}
	if f.Description != nil {
		q.Message = *f.Description
	}
	for _, r := range required {
		if r == name {
			q.Required = new(true)
		}
	}
	switch f.Type {
	case "number", "integer":
		q.Kind, q.Min, q.Max = ahp.QuestionNumber, f.Minimum, f.Maximum
		if f.Type == "integer" {
			q.Kind = ahp.QuestionInteger
		}
	case "boolean":
		q.Kind = ahp.QuestionBoolean
	case "array":
		q.Kind, q.Min, q.Max, q.Options = ahp.QuestionMultiSelect, f.MinItems, f.MaxItems, f.itemChoices()
	default:
		q.Format, q.Min, q.Max = f.Format, f.MinLength, f.MaxLength
		if choices := f.choices(); choices != nil {
			q.Kind, q.Options, q.Min, q.Max, q.Format = ahp.QuestionSingleSelect, choices, nil, nil, nil
		}
	}
	return q
}

func (f *formField) choices() []ahp.ChatInputOption {
	if f.OneOf != nil {
		return titled(f.OneOf)
	}
	return named(f.Enum, f.EnumNames)
}

func (f *formField) itemChoices() []ahp.ChatInputOption {
	switch {
	case f.Items == nil:
		return nil
	case f.Items.AnyOf != nil:
		return titled(f.Items.AnyOf)
	case f.Items.OneOf != nil:
		return titled(f.Items.OneOf)
	}
	return named(f.Items.Enum, nil)
}

func titled(list []titledConst) []ahp.ChatInputOption {
	var options []ahp.ChatInputOption
	for _, c := range list {
		o := ahp.ChatInputOption{ID: c.Const, Label: c.Title}
		if o.Label == "" {
			o.Label = c.Const
		}
		options = append(options, o)
	}
	return options
}

func named(values, names []string) []ahp.ChatInputOption {
	var options []ahp.ChatInputOption
	for i, v := range values {
		o := ahp.ChatInputOption{ID: v, Label: v}
		if i < len(names) && names[i] != "" {
			o.Label = names[i]
		}
		options = append(options, o)
	}
	return options
}

// formResult is what was answered in the agent's words. What was skipped is left
// out.
func formResult(a agent.Answers, fields map[string]formField) elicitResult {
	switch a.Response {
	case ahp.InputAccept:
	case ahp.InputDecline:
		return elicitResult{Action: actionDecline}
	default:
		return elicitResult{Action: actionCancel}
	}
	content := make(map[string]jsontext.Value)
	for name := range fields {
		v, ok := ahp.ParseAnswer(a.Values[name])
		if !ok || a.Values[name].State == ahp.AnswerSkipped {
			continue
		}
		content[name] = answerValue(v)
	}
	return elicitResult{Action: ahp.InputAccept, Content: content}
}

// answerValue is one answer: with what was written freely in place of a choice,
// or beside several.
func answerValue(v ahp.AnswerValue) jsontext.Value {
	if len(v.FreeformValues) == 0 {
		return v.Value
	}
	if v.Value.Kind() != jsontext.KindBeginArray {
		return quote(v.FreeformValues[0])
	}
	var chosen []string
	if json.Unmarshal(v.Value, &chosen) != nil {
		return v.Value
	}
	raw, err := json.Marshal(append(chosen, v.FreeformValues...))
	if err != nil {
		return v.Value
	}
	return raw
}
