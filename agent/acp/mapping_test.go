package acp

import (
	"testing"

	"github.com/causeway-ahp/causeway/agent"
)

// The rows of the mapping from ACP to events (agents.md, 4.1 and 4.4).
func TestUpdatesBecomeEvents(t *testing.T) {
	tool := func(kind, members string) func(a *fakeAgent) {
		return func(a *fakeAgent) { a.tool(kind, members) }
	}
	update := func(u string) func(a *fakeAgent) { return func(a *fakeAgent) { a.update(u) } }
	for _, tt := range []struct {
		name string
		says []func(a *fakeAgent)
		want []string
	}{
		{"text and thoughts", []func(a *fakeAgent){
			update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`),
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"so \ud800"}}`),
		}, []string{"thought hm", "text so \ufffd"}},
		{"a message id that changes ends the run", []func(a *fakeAgent){
			update(`{"sessionUpdate":"agent_message_chunk","messageId":"1","content":{"type":"text","text":"a"}}`),
			update(`{"sessionUpdate":"agent_message_chunk","messageId":"1","content":{"type":"text","text":"b"}}`),
			update(`{"sessionUpdate":"agent_message_chunk","messageId":"2","content":{"type":"text","text":"c"}}`),
		}, []string{"text a", "text b", "break", "text c"}},
		{"content that is not text", []func(a *fakeAgent){
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","mimeType":"image/png","data":"AAAA"}}`),
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","uri":"file:///a","name":"a"}}`),
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"x:","text":"body"}}}`),
		}, []string{"content data:image%2Fpng;base64,AAAA", "text [a](file:///a)", "text \n```\nbody\n```\n"}},
		{"a call with every step", []func(a *fakeAgent){
			tool("tool_call", `"toolCallId":"c","title":"Read `+"`x`"+`","kind":"read","status":"pending","rawInput":{"path":"x"}`),
			tool("tool_call_update", `"toolCallId":"c","status":"in_progress"`),
			tool("tool_call_update", `"toolCallId":"c","content":[{"type":"content","content":{"type":"text","text":"1"}}]`),
			tool("tool_call_update", `"toolCallId":"c","status":"completed","rawOutput":{"n":1}`),
		}, []string{`start 1.c read "Read x"`, `run 1.c "Read x" {"path":"x"}`, "show 1.c 1", "end 1.c ok 1"}},
		{"a call that is never in progress", []func(a *fakeAgent){
			tool("tool_call", `"toolCallId":"c","title":"Read"`),
			tool("tool_call_update", `"toolCallId":"c","status":"completed","rawOutput":"text"`),
		}, []string{`start 1.c tool "Read"`, `run 1.c "Read"`, "end 1.c ok text"}},
		{"an update of an unknown call", []func(a *fakeAgent){
			tool("tool_call_update", `"toolCallId":"c","status":"in_progress"`),
		}, []string{`start 1.c tool "Tool"`, `run 1.c "Tool"`}},
		{"a call that fails", []func(a *fakeAgent){
			tool("tool_call", `"toolCallId":"c","title":"Run","kind":"execute","status":"failed","rawInput":{"command":"ls","description":"d"},`+
				`"content":[{"type":"content","content":{"type":"text","text":"no\nmore"}}]`),
		}, []string{`start 1.c execute "Run"`, `run 1.c "Run" ls`, "end 1.c failed(no) no\nmore"}},
		{"completed twice, and late updates", []func(a *fakeAgent){
			tool("tool_call", `"toolCallId":"c","title":"Read","status":"completed"`),
			tool("tool_call_update", `"toolCallId":"c","status":"completed"`),
			tool("tool_call_update", `"toolCallId":"c","status":"in_progress"`),
		}, []string{`start 1.c tool "Read"`, `run 1.c "Read"`, "end 1.c ok "}},
		{"an id used again in the turn", []func(a *fakeAgent){
			tool("tool_call", `"toolCallId":"c","title":"Read","status":"completed"`),
			tool("tool_call", `"toolCallId":"c","title":"Write","status":"completed"`),
		}, []string{`start 1.c tool "Read"`, `run 1.c "Read"`, "end 1.c ok ", `start 1.c#1 tool "Write"`, `run 1.c#1 "Write"`, "end 1.c#1 ok "}},
		{"the title becomes clear later", []func(a *fakeAgent){
			tool("tool_call", `"toolCallId":"c","title":"Terminal","status":"in_progress"`),
			tool("tool_call_update", `"toolCallId":"c","title":"ls -l"`),
		}, []string{`start 1.c tool "Terminal"`, `run 1.c "Terminal"`, `run 1.c "ls -l"`}},
		{"a diff", []func(a *fakeAgent){
			tool("tool_call", `"toolCallId":"c","title":"Edit","status":"completed","content":[`+
				`{"type":"diff","path":"/a b","oldText":"1\n2\n3\n","newText":"1\n3\n4\n5\n"},{"type":"diff","path":"/n","newText":"x"}]`),
		}, []string{`start 1.c tool "Edit"`, `run 1.c "Edit"`, "end 1.c ok edit(file:///a%20b +2 -1)|edit(file:///n +1 -0)"}},
		{"a plan", []func(a *fakeAgent){
			update(`{"sessionUpdate":"plan","entries":[{"content":"one","priority":"high","status":"in_progress"},{"content":"two","status":"pending"}]}`),
			update(`{"sessionUpdate":"plan","entries":[{"content":"one","status":"completed"},{"content":"two","status":"completed"}]}`),
		}, []string{`start 1.plan plan "Plan"`, `run 1.plan "Plan"`, "show 1.plan - [ ] one (in progress)\n- [ ] two\n", "activity one",
			"show 1.plan - [x] one\n- [x] two\n", "activity "}},
		{"usage", []func(a *fakeAgent){
			update(`{"sessionUpdate":"usage_update","used":10,"size":100,"cost":{"amount":1,"currency":"USD"}}`),
		}, []string{`usage {"acp":{"used":10,"size":100,"cost":{"amount":1,"currency":"USD"}}}`}},
		{"what belongs to the session", []func(a *fakeAgent){
			update(`{"sessionUpdate":"session_info_update","title":"A\ntitle"}`),
			update(`{"sessionUpdate":"session_info_update","title":null}`),
			update(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"plan","description":"d","input":{"hint":"h"}}]}`),
		}, []string{"title A title", "commands 1"}},
		{"the user's own words are not repeated", []func(a *fakeAgent){
			update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hi"}}`),
		}, nil},
		{"unknown words", []func(a *fakeAgent){
			update(`{"sessionUpdate":"state_update","state":"running"}`),
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"hologram"}}`),
			tool("tool_call", `"toolCallId":"c","title":"T","status":"completed","content":[{"type":"smell"}]`),
			update(`{"sessionUpdate":"tool_call","toolCallId":7}`),
			update(`7`),
		}, []string{`start 1.c tool "T"`, `run 1.c "T"`, "end 1.c ok "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			with(t, func(w *world) {
				r := w.turn("t1")
				for _, say := range tt.says {
					say(w.agent)
				}
				w.told(tt.want...)
				w.result(r.stop("end_turn"), agent.Completed, "")
			})
		})
	}
}

// The rows of how a prompt ends (agents.md, 4.1).
func TestStopReasons(t *testing.T) {
	for _, tt := range []struct {
		reason string
		want   agent.Result
		text   string
	}{
		{"end_turn", agent.Completed, ""},
		{"max_tokens", agent.Truncated, "limit of tokens"},
		{"max_turn_requests", agent.Truncated, "limit of requests"},
		{"refusal", agent.Refused, "refusal: Fake refused"},
		{"cancelled", agent.Cancelled, ""},
		{"something new", agent.Completed, ""},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			with(t, func(w *world) { w.result(w.turn("t1").stop(tt.reason), tt.want, tt.text) })
		})
	}
}

func TestPromptThatFails(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.agent.say(`{"jsonrpc":"2.0","id":` + r.prompt.ID.String() + `,"error":{"code":-32603,"message":"Internal error","data":{"message":"stream of key=abcd1234efgh broke"}}}`)
		w.result(<-r.outcome, agent.Failed, "agentError: Fake reported an error: Internal error: stream of key=… broke")
		r = w.turn("t2")
		w.agent.refuse(r.prompt, codeAuthRequired, "log in first")
		w.result(<-r.outcome, agent.Failed, "authRequired: Fake needs you to sign in: log in first")
		r = w.turn("t3")
		w.agent.reply(r.prompt, `7`)
		w.result(<-r.outcome, agent.Failed, "agentFailed")
	})
}

func TestUsageAtTheEnd(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.agent.reply(r.prompt, `{"stopReason":"end_turn","usage":{"totalTokens":9,"inputTokens":5,"outputTokens":4}}`)
		if o := <-r.outcome; o.Usage == nil || *o.Usage.InputTokens != 5 || *o.Usage.OutputTokens != 4 {
			t.Errorf("usage %+v", o.Usage)
		}
	})
}

// A call that ran and was left open is completed with the turn; one that was
// never decided on is left alone (agents.md, 4.4).
func TestOpenCallsAtTheEndOfATurn(t *testing.T) {
	for _, tt := range []struct{ reason, want string }{
		{"end_turn", "end 1.ran ok so far"},
		{"refusal", "end 1.ran failed(the turn ended before the tool did) so far"},
	} {
		with(t, func(w *world) {
			r := w.turn("t1")
			w.agent.tool("tool_call", `"toolCallId":"ran","title":"R","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"so far"}}]`)
			w.agent.tool("tool_call", `"toolCallId":"idle","title":"I","status":"pending"`)
			w.host.take()
			r.stop(tt.reason)
			w.told(tt.want)
		})
	}
}
