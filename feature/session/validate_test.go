package session

import (
	"bytes"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/reducer"
)

// chatWith is a chat in the state the actions lead to.
func chatWith(t *testing.T, actions ...string) *ahp.ChatState {
	t.Helper()
	s := reducer.New(ahp.KindChat)
	for _, raw := range actions {
		s = reducer.Apply(s, decode(t, raw))
	}
	return s.(*ahp.ChatState)
}

func decode(t *testing.T, raw string) ahp.Action {
	t.Helper()
	a, err := ahp.DecodeAction([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return a
}

// Actions that lead to the states of the tables below.
const (
	turn1    = `{"type":"chat/turnStarted","turnId":"t1","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"x","origin":{"kind":"user"}}}`
	end1     = `{"type":"chat/turnComplete","turnId":"t1","duration":1}`
	fail1    = `{"type":"chat/error","turnId":"t1","duration":1,"part":{"kind":"error","error":{"errorType":"e","message":"m"}}}`
	retry1   = `{"type":"chat/error","turnId":"t1","duration":1,"part":{"kind":"error","resumable":true,"error":{"errorType":"e","message":"m"}}}`
	call1    = `{"type":"chat/toolCallStart","turnId":"t1","toolCallId":"c","toolName":"n","displayName":"N"}`
	mine1    = `{"type":"chat/toolCallStart","turnId":"t1","toolCallId":"c","toolName":"n","displayName":"N","contributor":{"kind":"client","clientId":"me"}}`
	mcp1     = `{"type":"chat/toolCallStart","turnId":"t1","toolCallId":"c","toolName":"n","displayName":"N","contributor":{"kind":"mcp","customizationId":"m"}}`
	run1     = `{"type":"chat/toolCallReady","turnId":"t1","toolCallId":"c","invocationMessage":"i","confirmed":"not-needed"}`
	confirm1 = `{"type":"chat/toolCallReady","turnId":"t1","toolCallId":"c","invocationMessage":"i","toolInput":"ls","editable":true,"options":[{"id":"yes","label":"Y","kind":"approve"},{"id":"no","label":"N","kind":"deny"}]}`
	fixed1   = `{"type":"chat/toolCallReady","turnId":"t1","toolCallId":"c","invocationMessage":"i","toolInput":"ls"}`
	review1  = `{"type":"chat/toolCallComplete","turnId":"t1","toolCallId":"c","result":{"success":true,"pastTenseMessage":"p"},"requiresResultConfirmation":true}`
	auth1    = `{"type":"chat/toolCallAuthRequired","turnId":"t1","toolCallId":"c","auth":{"reason":"required","resource":{"resource":"https://r"}}}`
	done1    = `{"type":"chat/toolCallComplete","turnId":"t1","toolCallId":"c","result":{"success":true,"pastTenseMessage":"p"}}`
	queued1  = `{"type":"chat/pendingMessageSet","kind":"queued","id":"q1","message":{"text":"x","origin":{"kind":"user"}}}`
	queued2  = `{"type":"chat/pendingMessageSet","kind":"queued","id":"q2","message":{"text":"x","origin":{"kind":"user"}}}`
	steer1   = `{"type":"chat/pendingMessageSet","kind":"steering","id":"s1","message":{"text":"x","origin":{"kind":"user"}}}`
	asked1   = `{"type":"chat/inputRequested","request":{"id":"r","questions":[` +
		`{"kind":"text","id":"text","message":"m","required":true},{"kind":"number","id":"number","message":"m"},` +
		`{"kind":"integer","id":"integer","message":"m"},{"kind":"boolean","id":"boolean","message":"m"},` +
		`{"kind":"single-select","id":"one","message":"m","options":[]},{"kind":"multi-select","id":"many","message":"m","options":[]},` +
		`{"kind":"x-new","id":"new","message":"m"}]}}`
	answered1 = `{"type":"chat/inputAnswerChanged","requestId":"r","questionId":"text","answer":{"state":"submitted","value":{"kind":"text","value":"a"}}}`
	closed1   = `{"type":"chat/inputCompleted","requestId":"r","response":"cancel"}`
)

// on is a list of actions.
func on(actions ...string) []string { return actions }

func TestChatValidation(t *testing.T) {
	for _, tc := range []struct {
		name   string
		state  []string
		action string
		want   string // "" accepts
	}{
		{"turn", nil, startTurn("t1", "x"), ""},
		{"turn after another", on(turn1, end1), startTurn("t2", "x"), ""},
		{"turn while one runs", on(turn1), startTurn("t2", "x"), "a turn is in progress"},
		{"same turn while it runs", on(turn1), startTurn("t1", "x"), "a turn is in progress"},
		{"turn again", on(turn1, end1), startTurn("t1", "x"), "turnId is missing or was used before"},
		{"turn without id", nil, startTurn("", "x"), "turnId is missing or was used before"},
		{"turn without text", nil, startTurn("t1", " \n"), "the message is empty"},
		{"turn without message", nil, `{"type":"chat/turnStarted","turnId":"t1","startedAt":"2026-01-01T00:00:00.000Z"}`, "the message is empty"},
		{"turn with only an attachment", nil, `{"type":"chat/turnStarted","turnId":"t1","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"","origin":{"kind":"user"},"attachments":[{"type":"simple","label":"a"}]}}`, ""},
		{"turn of an agent", nil, `{"type":"chat/turnStarted","turnId":"t1","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"x","origin":{"kind":"agent"}}}`, notTheUsers},
		{"turn without time", nil, `{"type":"chat/turnStarted","turnId":"t1","startedAt":"yesterday","message":{"text":"x","origin":{"kind":"user"}}}`, "startedAt is not an ISO 8601 time"},
		{"turn of a queued message", on(queued1), `{"type":"chat/turnStarted","turnId":"t1","startedAt":"2026-01-01T00:00:00.000Z","queuedMessageId":"q1","message":{"text":"x","origin":{"kind":"user"}}}`, ""},
		{"turn of the steering message", on(steer1), `{"type":"chat/turnStarted","turnId":"t1","startedAt":"2026-01-01T00:00:00.000Z","queuedMessageId":"s1","message":{"text":"x","origin":{"kind":"user"}}}`, ""},
		{"turn of no message", on(queued1), `{"type":"chat/turnStarted","turnId":"t1","startedAt":"2026-01-01T00:00:00.000Z","queuedMessageId":"q2","message":{"text":"x","origin":{"kind":"user"}}}`, "no such pending message"},

		{"cancel", on(turn1), cancelTurn("t1"), ""},
		{"cancel without turn", nil, cancelTurn("t1"), "no such active turn"},
		{"cancel another", on(turn1), cancelTurn("t2"), "no such active turn"},
		{"cancel again", on(turn1, cancelTurn("t1")), cancelTurn("t1"), "no such active turn"},

		{"resume", on(turn1, retry1), `{"type":"chat/turnResume","turnId":"t1"}`, ""},
		{"resume without turns", nil, `{"type":"chat/turnResume","turnId":"t1"}`, "not the latest turn, or it did not end with an error"},
		{"resume while a turn runs", on(turn1), `{"type":"chat/turnResume","turnId":"t1"}`, "a turn is in progress"},
		{"resume what completed", on(turn1, end1), `{"type":"chat/turnResume","turnId":"t1"}`, "not the latest turn, or it did not end with an error"},
		{"resume another", on(turn1, retry1), `{"type":"chat/turnResume","turnId":"t2"}`, "not the latest turn, or it did not end with an error"},
		{"resume a final error", on(turn1, fail1), `{"type":"chat/turnResume","turnId":"t1"}`, "the error cannot be resumed"},

		{"approve", on(turn1, call1, confirm1), approve("t1", "c", ""), ""},
		{"approve with option", on(turn1, call1, confirm1), approve("t1", "c", `,"selectedOptionId":"yes"`), ""},
		{"approve edited", on(turn1, call1, confirm1), approve("t1", "c", `,"editedToolInput":"pwd"`), ""},
		{"approve edited what is not editable", on(turn1, call1, fixed1), approve("t1", "c", `,"editedToolInput":"pwd"`), "the tool call's input cannot be edited"},
		{"approve with unknown option", on(turn1, call1, confirm1), approve("t1", "c", `,"selectedOptionId":"maybe"`), "no such option"},
		{"approve with an option that denies", on(turn1, call1, confirm1), approve("t1", "c", `,"selectedOptionId":"no"`), "the selected option says otherwise"},
		{"approve without saying how", on(turn1, call1, confirm1), `{"type":"chat/toolCallConfirmed","turnId":"t1","toolCallId":"c","approved":true}`, "confirmed is missing"},
		{"approve again", on(turn1, call1, confirm1, approve("t1", "c", "")), approve("t1", "c", ""), "the tool call does not wait for confirmation"},
		{"approve what streams", on(turn1, call1), approve("t1", "c", ""), "the tool call does not wait for confirmation"},
		{"approve an unknown call", on(turn1, call1, confirm1), approve("t1", "d", ""), "the tool call does not wait for confirmation"},
		{"approve in another turn", on(turn1, call1, confirm1), approve("t2", "c", ""), "the tool call does not wait for confirmation"},
		{"approve after the turn", on(turn1, call1, confirm1, cancelTurn("t1")), approve("t1", "c", ""), "the tool call does not wait for confirmation"},
		{"deny", on(turn1, call1, confirm1), deny("t1", "c", ""), ""},
		{"deny with option", on(turn1, call1, confirm1), deny("t1", "c", `,"selectedOptionId":"no"`), ""},
		{"deny with an option that approves", on(turn1, call1, confirm1), deny("t1", "c", `,"selectedOptionId":"yes"`), "the selected option says otherwise"},
		{"deny without reason", on(turn1, call1, confirm1), `{"type":"chat/toolCallConfirmed","turnId":"t1","toolCallId":"c","approved":false}`, "reason must be denied or skipped"},
		{"deny with a foreign reason", on(turn1, call1, confirm1), `{"type":"chat/toolCallConfirmed","turnId":"t1","toolCallId":"c","approved":false,"reason":"result-denied"}`, "reason must be denied or skipped"},
		{"deny with a suggestion", on(turn1, call1, confirm1), deny("t1", "c", `,"userSuggestion":`+message("do")), ""},
		{"deny with an agent's suggestion", on(turn1, call1, confirm1), deny("t1", "c", `,"userSuggestion":{"text":"x","origin":{"kind":"agent"}}`), notTheUsers},

		{"confirm result", on(turn1, call1, run1, review1), `{"type":"chat/toolCallResultConfirmed","turnId":"t1","toolCallId":"c","approved":true}`, ""},
		{"confirm result of a running call", on(turn1, call1, run1), `{"type":"chat/toolCallResultConfirmed","turnId":"t1","toolCallId":"c","approved":true}`, "the tool call's result does not wait for confirmation"},
		{"confirm result of no call", on(turn1), `{"type":"chat/toolCallResultConfirmed","turnId":"t1","toolCallId":"c","approved":true}`, "the tool call's result does not wait for confirmation"},

		{"complete own", on(turn1, mine1, run1), done1, ""},
		{"complete own that does not run", on(turn1, mine1), done1, "not a running tool call of this client"},
		{"complete the host's", on(turn1, call1, run1), done1, "not a running tool call of this client"},
		{"complete what is done", on(turn1, mine1, run1, done1), done1, "not a running tool call of this client"},
		{"give up a sign-in", on(turn1, mcp1, run1, auth1), `{"type":"chat/toolCallComplete","turnId":"t1","toolCallId":"c","result":{"success":false,"pastTenseMessage":"p"}}`, ""},
		{"succeed without a sign-in", on(turn1, mcp1, run1, auth1), done1, "a call that waits for a sign-in can only fail"},
		{"content of own", on(turn1, mine1, run1), `{"type":"chat/toolCallContentChanged","turnId":"t1","toolCallId":"c","content":[]}`, ""},
		{"content of the host's", on(turn1, call1, run1), `{"type":"chat/toolCallContentChanged","turnId":"t1","toolCallId":"c","content":[]}`, "not a running tool call of this client"},
		{"content of no call", on(turn1), `{"type":"chat/toolCallContentChanged","turnId":"t1","toolCallId":"c","content":[]}`, "not a running tool call of this client"},

		{"queue", nil, queued1, ""},
		{"queue over the bound", on(queued1, queued2), queue("q3", "x"), "busy: the queue is full"},
		{"change at the bound", on(queued1, queued2), queue("q2", "y"), ""},
		{"steer at the bound", on(queued1, queued2), steer1, ""},
		{"queue without id", nil, queue("", "x"), "id is missing"},
		{"queue nothing", nil, queue("q1", ""), "the message is empty"},
		{"pend elsewhere", nil, pend("later", "q1", "x"), "kind must be queued or steering"},
		{"remove queued", on(queued1), `{"type":"chat/pendingMessageRemoved","kind":"queued","id":"q1"}`, ""},
		{"remove steering", on(steer1), `{"type":"chat/pendingMessageRemoved","kind":"steering","id":"s1"}`, ""},
		{"remove unknown", on(queued1), `{"type":"chat/pendingMessageRemoved","kind":"queued","id":"q2"}`, "no such pending message"},
		{"remove from the wrong place", on(queued1), `{"type":"chat/pendingMessageRemoved","kind":"steering","id":"q1"}`, "no such pending message"},
		{"reorder", on(queued1, queued2), `{"type":"chat/queuedMessagesReordered","order":["q2"]}`, ""},

		{"draft", nil, `{"type":"chat/draftChanged","draft":{"text":"","origin":{"kind":"user"}}}`, ""},
		{"no draft", nil, `{"type":"chat/draftChanged"}`, ""},
		{"draft of a tool", nil, `{"type":"chat/draftChanged","draft":{"text":"x","origin":{"kind":"tool"}}}`, notTheUsers},
		{"read", nil, `{"type":"chat/isReadChanged","isRead":true}`, ""},
		{"archive", nil, `{"type":"chat/isArchivedChanged","isArchived":true}`, ""},
		{"directory", nil, `{"type":"chat/workingDirectorySet","directory":"file:///x"}`, "the agent's working directories cannot be changed"},
		{"no directory", nil, `{"type":"chat/workingDirectoryRemoved","directory":"file:///x"}`, "the agent's working directories cannot be changed"},

		{"truncate", on(turn1, end1), `{"type":"chat/truncated"}`, ""},
		{"truncate behind", on(turn1, end1), `{"type":"chat/truncated","turnId":"t1"}`, ""},
		{"truncate behind nothing", on(turn1, end1), `{"type":"chat/truncated","turnId":"t2"}`, "no such turn"},
		{"truncate a running turn", on(turn1), `{"type":"chat/truncated"}`, "a turn is in progress"},
	} {
		t.Run(tc.name, func(t *testing.T) { checkValidation(t, chatWith(t, tc.state...), tc.action, tc.want) })
	}
}

func checkValidation(t *testing.T, s *ahp.ChatState, action, want string) {
	t.Helper()
	f := New(Options{Limits: Limits{QueuedMessages: 2}})
	before := canonical(s)
	if got := f.validateChat(s, decode(t, action), host.Actor{ClientID: "me"}); got != want {
		t.Errorf("%s: %q, want %q", action, got, want)
	}
	if !bytes.Equal(before, canonical(s)) {
		t.Error("the validator changed the state")
	}
}

func TestReadOnlyChatTakesNoTurn(t *testing.T) {
	s := chatWith(t)
	s.Interactivity = new("read-only")
	checkValidation(t, s, startTurn("t1", "x"), "the chat is read-only")
}

func TestInputValidation(t *testing.T) {
	answer := func(question, answer string) string {
		return `{"type":"chat/inputAnswerChanged","requestId":"r","questionId":"` + question + `","answer":` + answer + `}`
	}
	submit := func(kind, value string) string {
		return `{"state":"submitted","value":{"kind":"` + kind + `","value":` + value + `}}`
	}
	complete := func(response, answers string) string {
		return `{"type":"chat/inputCompleted","requestId":"r","response":"` + response + `","answers":` + answers + `}`
	}
	const (
		misfit     = "the answer does not fit the question"
		unanswered = "a required question is not answered"
	)
	open := on(turn1, asked1)
	for _, tc := range []struct {
		name   string
		state  []string
		action string
		want   string
	}{
		{"text", open, answer("text", submit("text", `"a"`)), ""},
		{"draft", open, answer("text", `{"state":"draft","value":{"kind":"text","value":"a"}}`), ""},
		{"number", open, answer("number", submit("number", "1.5")), ""},
		{"integer", open, answer("integer", submit("number", "1")), ""},
		{"boolean", open, answer("boolean", submit("boolean", "false")), ""},
		{"one", open, answer("one", submit("selected", `"x"`)), ""},
		{"many", open, answer("many", submit("selected-many", `["x"]`)), ""},
		{"a question of the future", open, answer("new", submit("x-new", `{}`)), ""},
		{"skipped", open, answer("text", `{"state":"skipped"}`), ""},
		{"taken back", open, `{"type":"chat/inputAnswerChanged","requestId":"r","questionId":"text"}`, ""},
		{"text for a number", open, answer("number", submit("text", `"1"`)), misfit},
		{"a number that is text", open, answer("number", submit("number", `"1"`)), misfit},
		{"null", open, answer("boolean", submit("boolean", "null")), misfit},
		{"one for many", open, answer("many", submit("selected-many", `"x"`)), misfit},
		{"without value", open, answer("text", `{"state":"submitted"}`), "the answer has no value"},
		{"draft without value", open, answer("text", `{"state":"draft"}`), "the answer has no value"},
		{"unknown state", open, answer("text", `{"state":"perhaps"}`), "unknown state of an answer"},
		{"unknown question", open, answer("other", submit("text", `"a"`)), noSuchQuestion},
		{"unknown question taken back", open, `{"type":"chat/inputAnswerChanged","requestId":"r","questionId":"other"}`, noSuchQuestion},
		{"unknown request", on(turn1), answer("text", submit("text", `"a"`)), "no such open request"},
		{"no turn", nil, answer("text", submit("text", `"a"`)), "no such open request"},
		{"closed request", on(turn1, asked1, closed1), answer("text", submit("text", `"a"`)), "no such open request"},

		{"accept", open, complete("accept", `{"text":`+submit("text", `"a"`)+`}`), ""},
		{"accept what was answered", on(turn1, asked1, answered1), complete("accept", `{}`), ""},
		{"accept without the required", open, complete("accept", `{}`), unanswered},
		{"accept with the required skipped", open, complete("accept", `{"text":{"state":"skipped"}}`), unanswered},
		{"accept with the required skipped at last", on(turn1, asked1, answered1), complete("accept", `{"text":{"state":"skipped"}}`), unanswered},
		{"accept with a misfit", open, complete("accept", `{"text":`+submit("number", "1")+`}`), misfit},
		{"accept an unknown question", open, complete("accept", `{"other":`+submit("text", `"a"`)+`}`), noSuchQuestion},
		{"decline", open, complete("decline", `{}`), ""},
		{"cancel", open, complete("cancel", `{}`), ""},
		{"unknown response", open, complete("ignore", `{}`), "unknown response"},
		{"complete twice", on(turn1, asked1, closed1), complete("decline", `{}`), "no such open request"},
		{"complete after the turn", on(turn1, asked1, end1), complete("decline", `{}`), "no such open request"},
	} {
		t.Run(tc.name, func(t *testing.T) { checkValidation(t, chatWith(t, tc.state...), tc.action, tc.want) })
	}
}

func TestSessionValidation(t *testing.T) {
	const (
		config = `{"schema":{"type":"object","properties":{"mode":{"type":"string","title":"M","sessionMutable":true},"fixed":{"type":"string","title":"F"}}},"values":{"mode":"a","fixed":"x"}}`
		plain  = `{"provider":"p","title":"t","status":1,"lifecycle":"ready","activeClients":[],"chats":[]}`
		full   = `{"provider":"p","title":"t","status":1,"lifecycle":"ready","activeClients":[],"chats":[],"config":` + config +
			`,"customizations":[{"type":"plugin","id":"p","uri":"x:p","name":"P","children":[{"type":"mcpServer","id":"m","uri":"x:m","name":"M","state":{"kind":"stopped"}}]}]}`
		broken = `{"provider":"p","title":"t","status":1,"lifecycle":"ready","activeClients":[],"chats":[],"config":{"schema":7,"values":{}}}`
	)
	for _, tc := range []struct{ name, state, action, want string }{
		{"title", plain, `{"type":"session/titleChanged","title":"x"}`, ""},
		{"join", plain, `{"type":"session/activeClientSet","activeClient":{"clientId":"me","tools":[]}}`, ""},
		{"join for another", plain, `{"type":"session/activeClientSet","activeClient":{"clientId":"you","tools":[]}}`, notYourself},
		{"leave", plain, `{"type":"session/activeClientRemoved","clientId":"me"}`, ""},
		{"throw another out", plain, `{"type":"session/activeClientRemoved","clientId":"you"}`, notYourself},
		{"config", full, `{"type":"session/configChanged","config":{"mode":"b"}}`, ""},
		{"nothing of the config", full, `{"type":"session/configChanged","config":{}}`, ""},
		{"fixed config", full, `{"type":"session/configChanged","config":{"fixed":"y"}}`, "property fixed cannot be changed"},
		{"fixed config as it is", full, `{"type":"session/configChanged","config":{"fixed":"x"}}`, "property fixed cannot be changed"},
		{"unknown config", full, `{"type":"session/configChanged","config":{"other":"y"}}`, "property other cannot be changed"},
		{"replaced", full, `{"type":"session/configChanged","replace":true,"config":{"mode":"b","fixed":"x"}}`, ""},
		{"replaced with another fixed", full, `{"type":"session/configChanged","replace":true,"config":{"mode":"b","fixed":"y"}}`, "property fixed cannot be changed"},
		{"replaced without mode", full, `{"type":"session/configChanged","replace":true,"config":{"fixed":"x"}}`, "property mode cannot be removed"},
		{"no config", plain, `{"type":"session/configChanged","config":{}}`, "the session has no configuration"},
		{"no schema", broken, `{"type":"session/configChanged","config":{}}`, "the session's configuration cannot be changed"},
		{"toggle", full, `{"type":"session/customizationToggled","id":"p","enablement":[]}`, ""},
		{"toggle a child", full, `{"type":"session/customizationToggled","id":"m","enablement":[]}`, ""},
		{"toggle nothing", full, `{"type":"session/customizationToggled","id":"q","enablement":[]}`, "no such customization"},
		{"start", full, `{"type":"session/mcpServerStartRequested","id":"m"}`, ""},
		{"start nothing", plain, `{"type":"session/mcpServerStartRequested","id":"m"}`, noSuchServer},
		{"stop nothing", plain, `{"type":"session/mcpServerStopRequested","id":"m"}`, noSuchServer},
		{"send nothing to the background", plain, `{"type":"session/mcpServerBackgroundRequested","id":"m"}`, noSuchServer},
		{"directory", plain, `{"type":"session/workingDirectorySet","directory":"file:///x"}`, "the agent's working directories cannot be changed"},
		{"no directory", plain, `{"type":"session/workingDirectoryRemoved","directory":"file:///x"}`, "the agent's working directories cannot be changed"},
		{"other directory", plain, `{"type":"session/workingDirectoryReplaced","directory":"file:///x","replacement":"file:///y"}`, "the agent's working directories cannot be changed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s ahp.SessionState
			if err := ahp.Unmarshal([]byte(tc.state), &s); err != nil {
				t.Fatal(err)
			}
			before := canonical(&s)
			if got := validateSession(&s, decode(t, tc.action), host.Actor{ClientID: "me"}); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if !bytes.Equal(before, canonical(&s)) {
				t.Error("the validator changed the state")
			}
		})
	}
}

// Every action a client may dispatch to a chat or a session is looked at by the
// validator, or it is listed here as one that is right in an empty state.
func TestEveryClientActionIsConsidered(t *testing.T) {
	right := map[string]bool{
		"chat/queuedMessagesReordered": true, "chat/isReadChanged": true, "chat/isArchivedChanged": true,
		"chat/draftChanged": true, "chat/truncated": true,
		"session/titleChanged": true, "session/isReadChanged": true, "session/isArchivedChanged": true,
	}
	f, n := New(Options{}), 0
	for _, name := range ahp.ActionTypes() {
		if !ahp.ClientMayDispatch(name) {
			continue
		}
		var reason string
		switch a := decode(t, `{"type":"`+name+`"}`); {
		case ahp.BelongsTo(name, ahp.KindChat):
			reason = f.validateChat(chatWith(t), a, host.Actor{ClientID: "me"})
		case ahp.BelongsTo(name, ahp.KindSession):
			reason = validateSession(&ahp.SessionState{}, a, host.Actor{ClientID: "me"})
		default:
			continue
		}
		n++
		if (reason == "") != right[name] {
			t.Errorf("%s without members: %q", name, reason)
		}
	}
	if n < 25 {
		t.Errorf("only %d actions were considered", n)
	}
}
