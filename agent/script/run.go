package script

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// run is one turn being played.
type run struct {
	c      *conversation
	ctx    context.Context
	turn   *Turn
	prompt jsonrpc.ID

	at       int64 // of the line before, milliseconds
	deaf     bool  // a cancel is ignored
	answered bool  // the prompt was
	asked    *question
	saved    map[string]string
	abandon  string // the id of a call whose updates are left out
}

// question is a request of the agent's that waits for its answer.
type question struct {
	id       string // in the recording
	method   string
	params   jsontext.Value
	response <-chan jsonrpc.Message
	save     map[string]string

	done   bool
	answer string // as If has it: an option's id, an action, "cancelled"
	kind   string // of the option
}

var errCancelled = errors.New("the turn was cancelled")

// cancelled is called when the client cancels.
func (r *run) cancelled(stop context.CancelCauseFunc) {
	if !r.deaf {
		stop(errCancelled)
	}
}

// play says the turn. A turn that does not end by itself ends well.
func (r *run) play() {
	for i := range r.turn.Lines {
		if r.ctx.Err() != nil {
			break
		}
		r.line(&r.turn.Lines[i])
	}
	switch {
	case r.answered:
	case errors.Is(context.Cause(r.ctx), errCancelled):
		r.end("cancelled", nil)
	case r.ctx.Err() == nil:
		r.end("end_turn", nil)
	}
}

// line plays a line.
func (r *run) line(l *Line) {
	if l.At > 0 {
		r.c.p.wait(r.ctx, time.Duration(l.At-r.at)*time.Millisecond)
		r.at = l.At
	}
	if l.If != "" && !r.applies(l.If) || r.ctx.Err() != nil {
		return
	}
	switch {
	case l.Do != "":
		r.do(l)
	case l.Update != nil:
		r.update(l.Update)
	case l.Fail != nil:
		r.answered = true
		r.c.fail(r.prompt, l.Fail)
	case l.End != "":
		r.end(l.End, l.Usage)
	case l.Msg != nil:
		r.message(l)
	}
}

// do does what a line says.
func (r *run) do(l *Line) {
	switch l.Do {
	case DoExit:
		r.c.end(&ExitError{Code: l.Code, Text: l.Text})
	case DoRaw:
		r.c.send([]byte(l.Text))
	case DoDeaf:
		r.setDeaf()
	case DoStall:
		r.setDeaf()
		<-r.ctx.Done()
	case DoSleep:
		r.c.p.wait(r.ctx, time.Duration(l.Millis)*time.Millisecond)
	case DoPad:
		r.saved["pad"] = strings.Repeat("x", l.Bytes)
		r.update(l.Update)
	case DoRepeat:
		for n := 1; n <= l.Times && r.ctx.Err() == nil; n++ {
			r.saved["n"] = strconv.Itoa(n)
			r.update(l.Update)
			r.c.p.wait(r.ctx, time.Duration(l.Millis)*time.Millisecond)
		}
	}
}

// setDeaf makes the turn ignore a cancel.
func (r *run) setDeaf() {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.deaf = true
}

func (r *run) end(reason string, usage jsontext.Value) {
	r.answered = true
	result := jsontext.Value(`{"stopReason":"` + reason + `"`)
	if usage != nil {
		result = append(append(result, `,"usage":`...), usage...)
	}
	r.c.reply(r.prompt, append(result, '}'))
}

func (r *run) update(u jsontext.Value) {
	if id, ok := jsonrpc.Member(u, "toolCallId"); ok && r.abandon != "" && string(id) == r.abandon {
		return
	}
	session, _ := jsontext.AppendQuote(nil, r.saved["sessionId"])
	params := jsontext.Value(`{"sessionId":` + string(session) + `,"update":` + r.fill(u) + `}`)
	r.c.send(jsonrpc.AppendNotification(nil, "session/update", params))
}

// fill puts what was saved in place of its names.
func (r *run) fill(raw jsontext.Value) string {
	text := string(raw)
	if !strings.Contains(text, "${") {
		return text
	}
	for name, value := range r.saved {
		text = strings.ReplaceAll(text, "${"+name+"}", value)
	}
	return text
}

// message plays a recorded message.
func (r *run) message(l *Line) {
	m, err := jsonrpc.Scan(l.Msg)
	if err != nil {
		return // Read has looked
	}
	switch {
	case l.From == FromClient:
		if m.Kind == jsonrpc.KindResponse && r.asked != nil && r.asked.id == m.ID.String() {
			r.await()
			r.compare(m.Result)
		}
	case m.Kind == jsonrpc.KindResponse:
		r.recordedEnd(m)
	case m.Method == "session/update":
		u, _ := jsonrpc.Member(m.Params, "update")
		r.update(u)
	case m.Kind == jsonrpc.KindNotification:
		r.c.send(jsonrpc.AppendNotification(nil, m.Method, r.ours(m.Params)))
	default:
		params := r.ours(m.Params)
		r.asked = &question{id: m.ID.String(), method: m.Method, params: params, save: l.Save}
		r.asked.response = r.c.ask(m.Method, params)
		if l.Save != nil {
			r.await()
		}
	}
}

// recordedEnd answers the prompt as it was answered in the recording.
func (r *run) recordedEnd(m jsonrpc.Message) {
	if m.ID.String() != r.turn.id {
		return // of another request, which is answered where it comes
	}
	r.answered = true
	if m.Error != nil {
		r.c.fail(r.prompt, &Failure{Code: m.Error.Code, Message: m.Error.Message, Data: m.Error.Data})
		return
	}
	r.c.reply(r.prompt, m.Result)
}

// ours are recorded params with the session at hand.
func (r *run) ours(params jsontext.Value) jsontext.Value {
	out := jsontext.Value("{")
	jsonrpc.EachMember(params, func(name []byte, value jsontext.Value) bool {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, string(name))
		out = append(out, ':')
		if string(name) == "sessionId" {
			out, _ = jsontext.AppendQuote(out, r.saved["sessionId"])
		} else {
			out = append(out, r.fill(value)...)
		}
		return true
	})
	return append(out, '}')
}

// await waits for the answer to the question that was put last.
func (r *run) await() {
	q := r.asked
	if q == nil || q.done {
		return
	}
	q.done = true
	select {
	case m := <-q.response:
		q.read(m.Result)
		for name, member := range q.save {
			raw, _ := jsonrpc.Member(m.Result, member)
			if text, ok := jsonrpc.StringValue(raw); ok {
				r.saved[name] = text
			}
		}
	case <-r.ctx.Done():
	}
}

// read finds out what was answered.
func (q *question) read(result jsontext.Value) {
	var a struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
		Action string `json:"action"`
	}
	_ = json.Unmarshal(result, &a) // an answer of another form is none of these
	switch {
	case a.Outcome.OptionID != "":
		q.answer, q.kind = a.Outcome.OptionID, optionKind(q.params, a.Outcome.OptionID)
	case a.Outcome.Outcome != "":
		q.answer = a.Outcome.Outcome
	default:
		q.answer = a.Action
	}
}

// optionKind is the kind of an option of a permission.
func optionKind(params jsontext.Value, id string) string {
	var p struct {
		Options []struct {
			OptionID string `json:"optionId"`
			Kind     string `json:"kind"`
		} `json:"options"`
	}
	_ = json.Unmarshal(params, &p)
	for _, o := range p.Options {
		if o.OptionID == id {
			return o.Kind
		}
	}
	return ""
}

// applies reports whether the answer is the one a line is for.
func (r *run) applies(to string) bool {
	r.await()
	q := r.asked
	return q != nil && (q.answer == to || q.kind != "" && strings.HasPrefix(q.kind, to))
}

// compare looks whether the client answered as the recorded one did. If not, what
// became of the call in the recording is left out.
func (r *run) compare(recorded jsontext.Value) {
	then := &question{params: r.asked.params}
	then.read(recorded)
	if r.asked.method != "session/request_permission" || then.kind == r.asked.kind && (then.answer == r.asked.answer || then.kind != "") {
		return
	}
	call, _ := jsonrpc.Member(r.asked.params, "toolCall")
	id, _ := jsonrpc.Member(call, "toolCallId")
	r.abandon = string(id)
}
