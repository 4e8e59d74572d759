package acp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Ids of the options made of what older agents offer instead of options.
const (
	modeOption  = "mode"
	modelOption = "model"
)

// Categories and types of an option that mean something here.
const (
	categoryModel = "model"
	optionSelect  = "select"
	optionBoolean = "boolean"
)

// maxOptions bounds what is kept of the options an agent lists.
const maxOptions = 200

// option is something about a session that can be chosen.
type option struct {
	configOption
	method string // that sets it
}

// options are what an agent offers, in its order.
type options []option

// offered are the options of a session. Who lists options has modes only for
// clients that know none (agents.md, 1.4, 4).
func offered(r *sessionResult) options {
	if len(r.ConfigOptions) > 0 {
		return listed(r.ConfigOptions)
	}
	var list options
	if r.Modes != nil && len(r.Modes.AvailableModes) > 0 {
		list = append(list, modesAsOption(r.Modes))
	}
	if r.Models != nil && len(r.Models.AvailableModels) > 0 {
		list = append(list, modelsAsOption(r.Models))
	}
	return list
}

func modesAsOption(m *modeState) option {
	o := option{method: methodSetMode, configOption: configOption{
		ID: modeOption, Name: "Mode", Category: modeOption, Type: optionSelect, CurrentValue: quote(m.CurrentModeID),
	}}
	for _, c := range m.AvailableModes {
		o.Options = append(o.Options, selectOption{Value: c.ID, Name: c.Name, Description: c.Description})
	}
	return o
}

func modelsAsOption(m *modelState) option {
	o := option{method: methodSetModel, configOption: configOption{
		ID: modelOption, Name: "Model", Category: categoryModel, Type: optionSelect, CurrentValue: quote(m.CurrentModelID),
	}}
	for _, c := range m.AvailableModels {
		o.Options = append(o.Options, selectOption{Value: c.ModelID, Name: c.Name, Description: c.Description})
	}
	return o
}

func quote(text string) jsontext.Value {
	v, err := jsontext.AppendQuote(nil, text)
	if err != nil { // what is ill-formed in it was replaced
		return v
	}
	return v
}

// listed takes over the options of types that are understood.
func listed(list []configOption) options {
	out := make(options, 0, len(list))
	for _, c := range list[:min(len(list), maxOptions)] {
		if c.Type != optionSelect && c.Type != optionBoolean || c.ID == "" {
			continue
		}
		out = append(out, option{configOption: c, method: methodSetConfigOption})
	}
	return out
}

func (list options) find(id string) *option {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}

// set notes the value of an option; it is false if there is no such option.
func (list options) set(id string, value jsontext.Value) bool {
	o := list.find(id)
	if o == nil || len(value) == 0 {
		return false
	}
	o.CurrentValue = value
	return true
}

// within reports whether a configuration knows all options: it was made of them.
func (list options) within(config map[string]jsontext.Value) bool {
	for i := range list {
		if _, ok := config[list[i].ID]; !ok {
			return false
		}
	}
	return true
}

// values are the current values by id.
func (list options) values() map[string]jsontext.Value {
	values := make(map[string]jsontext.Value, len(list))
	for i := range list {
		if len(list[i].CurrentValue) > 0 {
			values[list[i].ID] = list[i].CurrentValue
		}
	}
	return values
}

// schema describes the options as configuration of a session.
func (list options) schema() map[string]ahp.ConfigPropertySchema {
	properties := make(map[string]ahp.ConfigPropertySchema, len(list))
	for i := range list {
		properties[list[i].ID] = list[i].schema()
	}
	return properties
}

func (o *option) schema() ahp.ConfigPropertySchema {
	p := ahp.ConfigPropertySchema{Type: "string", Title: o.Name, Default: o.CurrentValue, SessionMutable: new(true)}
	if o.Description != "" {
		p.Description = &o.Description
	}
	if o.Type == optionBoolean {
		p.Type = "boolean"
		return p
	}
	described := false
	for _, c := range o.choices() {
		p.Enum = append(p.Enum, quote(c.Value))
		p.EnumLabels = append(p.EnumLabels, c.Name)
		p.EnumDescriptions = append(p.EnumDescriptions, c.Description)
		described = described || c.Description != ""
	}
	if !described {
		p.EnumDescriptions = nil
	}
	return p
}

// choices are the choices of a select, out of their groups.
func (o *option) choices() []selectOption {
	var flat []selectOption
	for _, c := range o.Options {
		if c.Options != nil {
			flat = append(flat, c.Options...)
		} else {
			flat = append(flat, c)
		}
	}
	return flat
}

// check returns why a value is none of the option's, "" if it is one.
func (o *option) check(value jsontext.Value) string {
	if o.Type == optionBoolean {
		if k := value.Kind(); k != jsontext.KindTrue && k != jsontext.KindFalse {
			return "must be true or false"
		}
		return ""
	}
	text, ok := jsonrpc.StringValue(value)
	if !ok {
		return "must be a string"
	}
	if !slices.ContainsFunc(o.choices(), func(c selectOption) bool { return c.Value == text }) {
		return fmt.Sprintf("cannot be %q", oneLine(text))
	}
	return ""
}

// models are the choices of the model option as models of the provider.
func (list options) models(provider string) []ahp.SessionModelInfo {
	var models []ahp.SessionModelInfo
	for i := range list {
		if list[i].Category != categoryModel && list[i].ID != modelOption || list[i].Type != optionSelect {
			continue
		}
		for _, c := range list[i].choices() {
			models = append(models, ahp.SessionModelInfo{ID: c.Value, Provider: provider, Name: c.Name})
		}
		break
	}
	return models
}

// modelOption is the option by which the model is chosen, nil for none.
func (list options) model() *option {
	for i := range list {
		if list[i].Category == categoryModel && list[i].Type == optionSelect {
			return &list[i]
		}
	}
	return nil
}

// adoptOptions takes over a new complete list and tells what it says. The lock is
// held.
func (s *session) adoptOptions(list []configOption) {
	s.options = listed(list)
	s.tellOptions()
}

// tellOptions tells the values and the models. The schema of a session cannot
// change once it is made; when the agent offers something else by now, the whole
// list is told beside it (agents.md, 4.6, 5). The lock is held.
func (s *session) tellOptions() {
	s.provider.learn(s.options)
	if len(s.options) == 0 {
		return
	}
	s.tell(agent.ConfigValues{Values: s.options.values()})
	if models := s.options.models(s.provider.opts.Name); models != nil {
		s.tell(agent.Models{Models: models})
	}
	if s.host == nil || s.options.shape() == s.shape {
		return
	}
	s.shape = s.options.shape()
	all := make([]configOption, 0, len(s.options))
	for i := range s.options {
		all = append(all, s.options[i].configOption)
	}
	raw, err := json.Marshal(all)
	if err == nil && len(raw) <= maxStructBytes {
		s.tell(agent.Meta{Name: "acp.configOptions", Value: raw})
	}
}

// shape is what there is to choose, apart from what is chosen.
func (list options) shape() string {
	var b strings.Builder
	for i := range list {
		fmt.Fprintf(&b, "%q %s", list[i].ID, list[i].Type)
		for _, c := range list[i].choices() {
			fmt.Fprintf(&b, " %q", c.Value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// SetConfig implements agent.Session.
func (s *session) SetConfig(ctx context.Context, id string, value jsontext.Value) (map[string]jsontext.Value, error) {
	s.mu.Lock()
	o := s.options.find(id)
	if o == nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("%s has no option %q", s.name(), id)
	}
	chosen := *o
	s.mu.Unlock()
	if reason := chosen.check(value); reason != "" {
		return nil, fmt.Errorf("option %s %s", id, reason)
	}
	list, err := s.setOption(ctx, &chosen, value)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if list != nil {
		s.options = listed(list)
	} else {
		s.options.set(id, value)
	}
	return s.options.values(), nil
}

// setOption asks the agent; the list is nil when it answers with none.
func (s *session) setOption(ctx context.Context, o *option, value jsontext.Value) ([]configOption, error) {
	switch o.method {
	case methodSetMode:
		return nil, s.conn.call(ctx, methodSetMode, map[string]any{"sessionId": s.id, "modeId": value}, nil)
	case methodSetModel:
		return nil, s.conn.call(ctx, methodSetModel, map[string]any{"sessionId": s.id, "modelId": value}, nil)
	}
	p := setConfigParams{SessionID: s.id, ConfigID: o.ID, Value: value}
	if o.Type == optionBoolean {
		p.Type = optionBoolean
	}
	var r struct {
		ConfigOptions []configOption `json:"configOptions"`
	}
	err := s.conn.call(ctx, methodSetConfigOption, p, &r)
	return r.ConfigOptions, err
}

// selectModel has the agent use the model a message asks for, if it knows it.
func (s *session) selectModel(ctx context.Context, m *ahp.ModelSelection) {
	if m == nil {
		return
	}
	s.mu.Lock()
	o := s.options.model()
	wanted := quote(m.ID)
	if o == nil || string(o.CurrentValue) == string(wanted) || o.check(wanted) != "" {
		s.mu.Unlock()
		return
	}
	id := o.ID
	s.mu.Unlock()
	if _, err := s.SetConfig(ctx, id, wanted); err != nil {
		s.log.Warn("agent did not change its model", "err", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(agent.ConfigValues{Values: s.options.values()})
}

// applyConfig brings a new session to the values asked for.
func (s *session) applyConfig(ctx context.Context, config map[string]jsontext.Value) {
	for _, id := range slices.Sorted(maps.Keys(config)) {
		s.mu.Lock()
		o := s.options.find(id)
		same := o == nil || string(o.CurrentValue) == string(config[id])
		s.mu.Unlock()
		if same {
			continue
		}
		if _, err := s.SetConfig(ctx, id, config[id]); err != nil {
			s.log.Warn("agent refused a configuration value", "property", id, "err", err)
		}
	}
}
