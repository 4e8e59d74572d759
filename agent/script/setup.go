package script

import (
	"context"
	"fmt"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// defaultInit is what a script says of itself if it has no initialize.
const defaultInit = `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"embeddedContext":true}},` +
	`"agentInfo":{"name":"causeway-script","title":"Script","version":"1"},"authMethods":[]}`

// recorded is what the agent answered to the first request of a method before the
// first prompt, nil if there was none, and the lines that followed the answer.
func (t *Transcript) recorded(method string) (answer *jsonrpc.Message, after []Line) {
	id := ""
	for i := range t.Setup {
		if t.Setup[i].Msg == nil {
			continue
		}
		m, err := jsonrpc.Scan(t.Setup[i].Msg)
		switch {
		case err != nil:
		case t.Setup[i].From == FromClient && m.Method == method && id == "":
			id = m.ID.String()
		case t.Setup[i].From != FromClient && m.Kind == jsonrpc.KindResponse && id != "" && m.ID.String() == id:
			return &m, t.Setup[i+1:]
		}
	}
	return nil, nil
}

// answer answers a request outside of a turn, as the recording has it or as an
// agent would.
func (c *conversation) answer(ctx context.Context, m jsonrpc.Message) {
	a, after := c.p.Transcript.recorded(m.Method)
	switch {
	case a != nil && a.Error != nil:
		c.send(jsonrpc.AppendError(nil, m.ID, a.Error))
		return
	case a != nil:
		c.note(m, a.Result)
		c.reply(m.ID, a.Result)
	case !c.byItself(m):
		c.send(jsonrpc.AppendError(nil, m.ID, jsonrpc.ErrMethodNotFound))
		return
	}
	if m.Method == "session/new" || m.Method == "session/load" {
		c.announce(ctx, after)
	}
}

// note remembers the session's id.
func (c *conversation) note(m jsonrpc.Message, result jsontext.Value) {
	from := result
	if m.Method == "session/load" || m.Method == "session/resume" {
		from = m.Params
	}
	if raw, ok := jsonrpc.Member(from, "sessionId"); ok {
		c.session, _ = jsonrpc.StringValue(raw)
	}
}

// byItself answers what every agent answers; it is false for a method that is not
// known.
func (c *conversation) byItself(m jsonrpc.Message) bool {
	result := jsontext.Value("{}")
	switch m.Method {
	case "initialize":
		result = jsontext.Value(defaultInit)
	case "session/new":
		result = jsontext.Value(fmt.Sprintf(`{"sessionId":"script-%d"%s}`, c.played+1, c.options.member()))
	case "session/load", "session/resume":
		result = jsontext.Value("{" + trimComma(c.options.member()) + "}")
	case "session/set_config_option":
		result = c.options.set(m.Params)
	case "authenticate", "session/set_mode", "session/set_model", "session/close":
	default:
		return false
	}
	c.note(m, result)
	c.reply(m.ID, result)
	return true
}

func trimComma(member string) string {
	if member == "" {
		return ""
	}
	return member[1:]
}

// announce says what the agent said right after it had opened the session.
func (c *conversation) announce(ctx context.Context, lines []Line) {
	r := &run{c: c, ctx: ctx, turn: &Turn{}, saved: map[string]string{"sessionId": c.session}}
	for i := range lines {
		if lines[i].From == FromClient {
			return
		}
		r.line(&lines[i])
	}
	if lines == nil { // a script written by hand says its updates at the start
		for i := range c.p.Transcript.Setup {
			r.line(&c.p.Transcript.Setup[i])
		}
	}
}

// options are the configuration options of a script, of which it keeps the values.
type options struct{ list []map[string]jsontext.Value }

// options are those of the recorded session/new.
func (t *Transcript) options() *options {
	o := &options{}
	if a, _ := t.recorded("session/new"); a != nil {
		raw, _ := jsonrpc.Member(a.Result, "configOptions")
		_ = json.Unmarshal(raw, &o.list) // what is no list stays empty
	}
	return o
}

func (o *options) member() string {
	if o.list == nil {
		return ""
	}
	return `,"configOptions":` + string(o.encode())
}

func (o *options) encode() jsontext.Value {
	raw, err := json.Marshal(o.list, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("[]") // values that were read encode again
	}
	return raw
}

// set changes a value and returns the complete list.
func (o *options) set(params jsontext.Value) jsontext.Value {
	id, _ := jsonrpc.Member(params, "configId")
	value, _ := jsonrpc.Member(params, "value")
	for _, option := range o.list {
		if string(option["id"]) == string(id) {
			option["currentValue"] = value.Clone()
		}
	}
	return jsontext.Value(`{"configOptions":` + string(o.encode()) + `}`)
}
