package acp

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// A permission is asked after the call it is about is announced, however close
// the two come (agents.md, 4.6, 3), and its answer is the agent's own option.
func TestPermissionIsAskedInOrder(t *testing.T) {
	for _, tt := range []struct {
		name     string
		decision agent.Decision
		answer   string
		then     []string
	}{
		{"approved by option", agent.Decision{Approved: true, OptionID: "always"}, "always", []string{"end 1.c ok done"}},
		{"approved without one", agent.Decision{Approved: true}, "yes", []string{"end 1.c ok done"}},
		{"approved with an unknown one", agent.Decision{Approved: true, OptionID: "x"}, "yes", []string{"end 1.c ok done"}},
		{"denied", agent.Decision{}, "no", nil},
		{"denied with an option that allows", agent.Decision{OptionID: "yes"}, "no", nil},
		{"approved with an option that denies", agent.Decision{Approved: true, OptionID: "no"}, "no",
			[]string{"end 1.c failed(approved, but with an option that denies) "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			with(t, func(w *world) {
				r := w.turn("t1")
				w.agent.tool("tool_call", `"toolCallId":"c","title":"Write","status":"pending"`)
				w.agent.permit(0, "c")
				w.told(`start 1.c tool "Write"`, "ask 1.c")
				w.host.decisions <- tt.decision
				if got, want := w.agent.answer(0), `{"outcome":{"outcome":"selected","optionId":"`+tt.answer+`"}}`; got != want {
					t.Errorf("answer %s, want %s", got, want)
				}
				w.agent.tool("tool_call_update", `"toolCallId":"c","status":"completed","rawOutput":"done"`)
				w.told(tt.then...)
				w.result(r.stop("end_turn"), agent.Completed, "")
			})
		})
	}
}

// The first option approves once, whatever the agent's order: a client that
// chooses none takes it.
func TestOptionsOfAPermission(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.agent.request(0, "session/request_permission", `"toolCall":{"toolCallId":"c","title":"Edit","content":[`+
			`{"type":"diff","path":"/f","oldText":"a\n","newText":"b\n"}]},"options":[`+
			`{"optionId":"1","name":"Always","kind":"allow_always"},{"optionId":"2","name":"No","kind":"reject_once"},`+
			`{"optionId":"3","name":"Once","kind":"allow_once"},{"optionId":"4","name":"?","kind":"new_kind"}]`)
		synctest.Wait()
		c := w.host.asked[0]
		var ids []string
		for _, o := range c.Options {
			ids = append(ids, o.ID+o.Kind)
		}
		if got := strings.Join(ids, " "); got != "3approve 1approve 2deny 4deny" {
			t.Errorf("options %s", got)
		}
		if c.Editable {
			t.Error("an edited input was offered, which ACP cannot carry")
		}
		if c.Edits == nil || len(c.Edits.Items) != 1 || c.Edits.Items[0].Before == nil {
			t.Errorf("edits %+v", c.Edits)
		}
		w.host.decisions <- agent.Decision{Approved: true}
		w.agent.answer(0)
		r.stop("end_turn")
	})
}

// "cancelled" is answered when the turn is over, never for "no" while there is an
// option for that (agents.md, 4.6, 6).
func TestCancelledIsNoWayToSayNo(t *testing.T) {
	only := func(kind string) []permissionOption {
		return []permissionOption{{OptionID: "x", Kind: allowOnce}, {OptionID: "y", Kind: kind}}
	}
	for _, tt := range []struct {
		name    string
		offered []permissionOption
		want    permissionResult
	}{
		{"reject once", only(rejectOnce), selected("y")},
		{"reject always", only(rejectAlways), selected("y")},
		{"no way to deny", only(allowAlways), withdrawn},
	} {
		if got := outcome(agent.Decision{}, tt.offered); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// Permissions that nobody can answer any more are answered with "cancelled", and
// nothing is told of them (agents.md, 4.7).
func TestPermissionOutsideOfATurn(t *testing.T) {
	const cancelled = `{"outcome":{"outcome":"cancelled"}}`
	with(t, func(w *world) {
		w.agent.permit(1, "c")
		if got := w.agent.answer(1); got != cancelled {
			t.Errorf("before a turn: %s", got)
		}
		r := w.turn("t1")
		w.agent.say(`{"jsonrpc":"2.0","id":2,"method":"session/request_permission","params":{"sessionId":"other","toolCall":{"toolCallId":"c"},"options":[]}}`)
		if got := w.agent.answer(2); got != cancelled {
			t.Errorf("of another session: %s", got)
		}
		w.told()
		r.stop("end_turn")
	})
}

// The prompt is answered while a permission is open: it is withdrawn (agents.md,
// 4.7).
func TestPromptEndsWhilePermissionIsOpen(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.agent.permit(0, "c")
		w.told(`start 1.c tool "Write"`, "ask 1.c")
		w.agent.reply(r.prompt, `{"stopReason":"end_turn"}`)
		if got := w.agent.answer(0); got != `{"outcome":{"outcome":"cancelled"}}` {
			t.Errorf("answer %s", got)
		}
		w.told("unasked 1.c")
		w.result(<-r.outcome, agent.Completed, "")
	})
}

// The agent goes on without waiting for the answer: the question is withdrawn
// before the call is told to run.
func TestCallEndsWhilePermissionIsOpen(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.agent.permit(0, "c")
		w.host.take()
		go w.agent.tool("tool_call_update", `"toolCallId":"c","status":"completed"`)
		if got := w.agent.answer(0); got != `{"outcome":{"outcome":"cancelled"}}` {
			t.Errorf("answer %s", got)
		}
		w.told("unasked 1.c", `run 1.c "Write"`, "end 1.c ok ")
		r.stop("end_turn")
	})
}

// The agent takes its own request back.
func TestAgentWithdrawsItsPermission(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.agent.permit(0, "c")
		w.host.take()
		w.agent.say(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`)
		if got := w.agent.answer(0); got != `{"outcome":{"outcome":"cancelled"}}` {
			t.Errorf("answer %s", got)
		}
		w.told("unasked 1.c")
		r.stop("end_turn")
	})
}

// A second permission for a call takes the place of the first.
func TestPermissionAskedTwice(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.agent.permit(0, "c")
		w.host.take()
		go w.agent.permit(1, "c")
		if got := w.agent.answer(0); got != `{"outcome":{"outcome":"cancelled"}}` {
			t.Errorf("answer %s", got)
		}
		w.told("unasked 1.c", "ask 1.c")
		w.host.decisions <- agent.Decision{Approved: true}
		w.agent.answer(1)
		r.stop("end_turn")
	})
}

// What a call shows while it waits for consent is shown after it (agents.md, 4.4).
func TestContentWaitsForConsent(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.agent.permit(0, "c")
		w.agent.tool("tool_call_update", `"toolCallId":"c","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"x"}}]`)
		w.told(`start 1.c tool "Write"`, "ask 1.c")
		w.host.decisions <- agent.Decision{Approved: true}
		w.agent.answer(0)
		w.told("show 1.c x")
		r.stop("end_turn")
	})
}

// A form becomes an input request, and its answers the agent's content.
func TestForm(t *testing.T) {
	const form = `"mode":"form","message":"About you","requestedSchema":{"type":"object","required":["name"],"properties":{` +
		`"name":{"type":"string","title":"Name","minLength":1,"format":"email"},"age":{"type":"integer","minimum":1},` +
		`"ok":{"type":"boolean","default":true},"one":{"type":"string","enum":["a","b"],"enumNames":["A"]},` +
		`"many":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}},"ratio":{"type":"number"}}}`
	with(t, func(w *world) {
		r := w.turn("t1")
		w.agent.request(7, "elicitation/create", form)
		synctest.Wait()
		var kinds []string
		for _, q := range w.host.forms[0].Questions {
			kinds = append(kinds, q.ID+":"+q.Kind)
		}
		if got := strings.Join(kinds, " "); got != "name:text age:integer ok:boolean one:single-select many:multi-select ratio:number" {
			t.Errorf("questions %s", got)
		}
		if q := w.host.forms[0].Questions[0]; q.Required == nil || *q.Format != "email" {
			t.Errorf("question %+v", q)
		}
		w.host.answers <- agent.Answers{Response: ahp.InputAccept, Values: map[string]ahp.ChatInputAnswer{
			"name": {State: ahp.AnswerSubmitted, Value: []byte(`{"kind":"text","value":"me"}`)},
			"many": {State: ahp.AnswerSubmitted, Value: []byte(`{"kind":"selected-many","value":["x"],"freeformValues":["y"]}`)},
			"one":  {State: ahp.AnswerSkipped},
		}}
		got := w.agent.answer(7)
		for _, part := range []string{`"action":"accept"`, `"name":"me"`, `"many":["x","y"]`} {
			if !strings.Contains(got, part) {
				t.Errorf("answer %s lacks %s", got, part)
			}
		}
		if strings.Contains(got, `"one"`) {
			t.Errorf("answer %s holds what was skipped", got)
		}
		r.stop("end_turn")
	})
}

func TestFormThatIsNotAnswered(t *testing.T) {
	const form = `"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}`
	with(t, func(w *world) {
		w.agent.request(1, "elicitation/create", form)
		if got := w.agent.answer(1); got != `{"action":"decline"}` {
			t.Errorf("outside of a turn: %s", got)
		}
		r := w.turn("t1")
		w.agent.request(2, "elicitation/create", form)
		synctest.Wait()
		w.host.answers <- agent.Answers{Response: ahp.InputDecline}
		if got := w.agent.answer(2); got != `{"action":"decline"}` {
			t.Errorf("declined: %s", got)
		}
		w.agent.request(3, "elicitation/create", `"mode":"url","message":"Go","url":"https://example.com","elicitationId":"e"`)
		synctest.Wait()
		if u := w.host.forms[1].URL; u == nil || *u != "https://example.com" {
			t.Errorf("url %v", u)
		}
		w.session.Cancel("t1")
		got := map[string]bool{}
		for range 2 { // the cancel and the answer, in either order
			m := w.agent.next()
			got[m.Method+string(m.Result)] = true
		}
		if !got[`{"action":"cancel"}`] || !got["session/cancel"] {
			t.Errorf("the agent heard %v", got)
		}
		r.stop("cancelled")
	})
}
