package reducer

import (
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// One test for each rule of AHP channels, part 4, that concerns reducers, named
// by its number there. What a table of actions shows better stands in that.

// at returns the base state of its type with a patch.
func at[S any](t *testing.T, kind ahp.Kind, given string) S {
	t.Helper()
	s, ok := mustDecode(t, kind, encode(t, patch(t, tree(t, jsontext.Value(base[kind])), given))).(S)
	if !ok {
		t.Fatalf("kind %s has another type", kind)
	}
	return s
}

func chatAt(t *testing.T, given string) *ahp.ChatState {
	t.Helper()
	return at[*ahp.ChatState](t, ahp.KindChat, given)
}

func sessionAt(t *testing.T, given string) *ahp.SessionState {
	t.Helper()
	return at[*ahp.SessionState](t, ahp.KindSession, given)
}

// do applies the actions, given as JSON, in order.
func do[S any](t *testing.T, s S, actions ...string) S {
	t.Helper()
	for _, a := range actions {
		s = Apply(s, mustAction(t, a)).(S)
	}
	return s
}

// check compares a state, or a part of one, with JSON.
func check(t *testing.T, what string, got any, want string) {
	t.Helper()
	if d := cmp.Diff(tree(t, jsontext.Value(want)), tree(t, encode(t, got))); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func checkStatus(t *testing.T, what string, got, want ahp.Status) {
	t.Helper()
	if got != want {
		t.Errorf("%s: status %d, want %d", what, got, want)
	}
}

// activeCall is the first tool call of the active turn.
func activeCall(t *testing.T, s *ahp.ChatState) *ahp.ToolCall {
	t.Helper()
	if s.ActiveTurn == nil {
		t.Fatal("no active turn")
	}
	call := s.ToolCallByID(s.ActiveTurn.ID, "x")
	if call == nil {
		t.Fatal("no call x")
	}
	return call
}

const (
	endOfTurn   = `{"type":"chat/turnComplete","turnId":"t","duration":1500}`
	inputGone   = `{"type":"session/inputNeededRemoved","id":"i"}`
	startOfTurn = `{"type":"chat/turnStarted","turnId":"t","startedAt":"2026-01-01T00:00:01.000Z","message":` + message + `}`
)

func TestRule01_ActivityIsMasked(t *testing.T) {
	for before, want := range map[string]ahp.Status{"97": 72 + 32, "4": 8, "1056": 1064} {
		s := do(t, chatAt(t, `{"status":`+before+`}`), startOfTurn, `{"type":"chat/isReadChanged","isRead":true}`)
		checkStatus(t, "turn started from "+before, s.Status, want|ahp.StatusIsRead)
	}
	one := `,"inputNeeded":[` + inputChat + `]`
	for before, want := range map[string]ahp.Status{"56": 40, "33": 33, "24": 8, "2": 2} {
		s := do(t, sessionAt(t, `{"status":`+before+one+`}`), inputGone)
		checkStatus(t, "last input removed from "+before, s.Status, want)
	}
}

func TestRule02_StatusIsUnsigned(t *testing.T) {
	s := do(t, chatAt(t, `{"status":2147483720}`), startOfTurn)
	checkStatus(t, "unknown bits", s.Status, 2147483720)
	s = do(t, s, endOfTurn)
	checkStatus(t, "unknown bits", s.Status, 2147483713)
}

func TestRule03_LifecycleLeavesStatus(t *testing.T) {
	for _, action := range []string{`{"type":"session/ready"}`, `{"type":"session/creationFailed","error":{"errorType":"e","message":"m"}}`} {
		s := do(t, sessionAt(t, `{"status":24}`), action)
		checkStatus(t, action, s.Status, 24)
	}
}

func TestRule04_ToolActionsDeriveEvenWithoutMatch(t *testing.T) {
	deriving := []string{
		tool("Ready", `"invocationMessage":"I"`), tool("Confirmed", `"approved":true`),
		tool("Complete", `"result":{`+result+`}`), tool("ResultConfirmed", `"approved":true`),
		tool("AuthRequired", auth), tool("AuthResolved", ""),
	}
	for _, action := range deriving {
		s := do(t, chatAt(t, `{"status":98}`), action)
		checkStatus(t, action, s.Status, 97)
		if again := do(t, s, action); again != s {
			t.Errorf("%s: status is derived already, want the same pointer", action)
		}
		wrong := chatAt(t, `{"status":2,`+activeTurn(call("completed", running+","+result))+`}`)
		checkStatus(t, action, do(t, wrong, action).Status, 8)
	}
	quiet := []string{tool("ContentChanged", output), tool("Delta", `"content":"c"`), tool("Start", `"toolName":"n","displayName":"N"`)}
	for _, action := range quiet {
		s := chatAt(t, `{"status":2}`)
		if do(t, s, action) != s {
			t.Errorf("%s matched nothing, want the same pointer", action)
		}
	}
}

func TestRule05_ErrorLastsUntilTheNextDerivation(t *testing.T) {
	s := chatAt(t, `{"status":66}`)
	checkStatus(t, "activity", do(t, s, `{"type":"chat/activityChanged","activity":"a"}`).Status, 66)
	checkStatus(t, "truncated", do(t, s, `{"type":"chat/truncated"}`).Status, 65)
}

func TestRule06_PartsAndDeltasDeriveNothing(t *testing.T) {
	s := do(t, chatAt(t, active(markdown("p", ""))),
		`{"type":"chat/responsePart","turnId":"t","part":`+asked("", "")+`}`,
		tool("Start", `"toolName":"n","displayName":"N"`), tool("Delta", `"content":"c"`),
		`{"type":"chat/delta","turnId":"t","partId":"p","content":"c"}`,
		`{"type":"chat/usage","turnId":"t","usage":{}}`)
	checkStatus(t, "an open question among the parts", s.Status, 8)
	s = do(t, s, tool("Confirmed", `"approved":true`))
	checkStatus(t, "the next derivation", s.Status, 24)
}

func TestRule07_WhatClearsIsRead(t *testing.T) {
	failed := `{"status":98,"turns":[` + turn("t", "error", errorPart) + `]}`
	open := `{"status":120,` + activeTurn(call("pending-confirmation", pending), asked("", "")) + `}`
	for _, c := range []struct {
		given, action string
		read          bool
	}{
		{`{"status":97}`, startOfTurn, false},
		{open, `{"type":"chat/inputRequested","request":{"id":"other"}}`, false},
		{failed, `{"type":"chat/turnResume","turnId":"t"}`, false},
		{open, endOfTurn, true},
		{open, `{"type":"chat/error","turnId":"t","duration":1,"part":` + errorPart + `}`, true},
		{open, tool("Confirmed", `"approved":true`), true},
		{open, `{"type":"chat/inputCompleted","requestId":"r","response":"accept"}`, true},
		{open, `{"type":"chat/truncated"}`, true},
	} {
		if s := do(t, chatAt(t, c.given), c.action); s.Status.Has(ahp.StatusIsRead) != c.read {
			t.Errorf("after %s: status %d, want read %t", c.action, s.Status, c.read)
		}
	}
}

func TestRule08_TimeComesFromActions(t *testing.T) {
	for _, c := range []struct{ startedAt, duration, want string }{
		{"2026-01-01T00:00:01.000Z", "1500", "2026-01-01T00:00:02.500Z"},
		{"2026-01-01T00:00:01Z", "0", "2026-01-01T00:00:01.000Z"},
		{"2026-01-01T01:00:01.2345678+01:00", "0.9", "2026-01-01T00:00:01.234Z"},
		{"2026-02-28T23:59:59.999Z", "1", "2026-03-01T00:00:00.000Z"},
		{"1969-12-31T23:59:59.999Z", "1", "1970-01-01T00:00:00.000Z"},
		{"9999-12-31T23:59:59.999Z", "0", "9999-12-31T23:59:59.999Z"},
		{"9999-12-31T23:59:59.999Z", "1", "before"}, // no form of four digits
		{"2026-01-01T00:00:01.000Z", "1e300", "before"},
		{"yesterday", "1", "before"},
		{"", "1", "before"},
	} {
		s := chatAt(t, `{"modifiedAt":"before","activeTurn":{"id":"t","startedAt":"`+c.startedAt+`","responseParts":[]}}`)
		s = do(t, s, `{"type":"chat/turnComplete","turnId":"t","duration":`+c.duration+`}`)
		if s.ModifiedAt != c.want {
			t.Errorf("%s after %q: modified at %s, want %s", c.duration, c.startedAt, s.ModifiedAt, c.want)
		}
	}
	s := do(t, chatAt(t, ``), `{"type":"chat/turnStarted","turnId":"t","message":`+message+`}`)
	if s.ModifiedAt != "2026-01-01T00:00:00.000Z" {
		t.Errorf("a turn without a start modified the chat at %q", s.ModifiedAt)
	}
}

func TestRule09_DurationIsClamped(t *testing.T) {
	s := do(t, chatAt(t, active()), `{"type":"chat/turnCancelled","turnId":"t","duration":-1000.5}`)
	if got := *s.Turns.At(0).Duration; got != 0 {
		t.Errorf("duration %v, want 0", got)
	}
	if s.ModifiedAt != "2026-01-01T00:00:01.000Z" {
		t.Errorf("modified at %s, want the start", s.ModifiedAt)
	}
}

func TestRule10_WhatDoesNotMoveModifiedAt(t *testing.T) {
	s := chatAt(t, waiting(markdown("p", ""), call("pending-confirmation", pending), asked("", "")))
	moved := do(t, s,
		`{"type":"chat/delta","turnId":"t","partId":"p","content":"c"}`,
		tool("Confirmed", `"approved":true`), tool("Complete", `"result":{`+result+`}`),
		`{"type":"chat/inputRequested","request":{"id":"other"}}`,
		`{"type":"chat/inputAnswerChanged","requestId":"r","questionId":"q","answer":`+draftQ+`}`,
		`{"type":"chat/inputCompleted","requestId":"r","response":"accept"}`,
		`{"type":"chat/pendingMessageSet","kind":"queued","id":"a","message":`+message+`}`,
		`{"type":"chat/draftChanged","draft":`+message+`}`,
		`{"type":"chat/turnsLoaded","turns":[`+turn("old", "complete", "")+`]}`,
		`{"type":"chat/truncated"}`)
	if moved.ModifiedAt != s.ModifiedAt {
		t.Errorf("modified at %s, want %s", moved.ModifiedAt, s.ModifiedAt)
	}
}

func TestRule11_EndOfTurnCancelsWhateverIsOpen(t *testing.T) {
	for _, status := range []string{"streaming", "pending-confirmation", "running", "auth-required", "pending-result-confirmation", "future", ""} {
		s := do(t, chatAt(t, active(call(status, `"toolInput":"in","invocationMessage":"I"`))), endOfTurn)
		part := s.Turns.At(0).ResponseParts.At(0).Part.(*ahp.ToolCallPart)
		if c := part.ToolCall; c.Status != ahp.ToolCancelled || *c.Reason != ahp.ReasonSkipped {
			t.Errorf("a call in %q is %s after the turn, want cancelled", status, c.Status)
		}
	}
	for _, ended := range []string{call("completed", running+","+result), call("cancelled", `"reason":"denied"`)} {
		s := do(t, chatAt(t, active(ended)), endOfTurn)
		check(t, "an ended call after the turn", s.Turns.At(0).ResponseParts.At(0), ended)
	}
}

func TestRule12_ForcedCancellationKeepsLittle(t *testing.T) {
	rest := `,` + chosen + `,` + output + `,` + options + `,` + auth + `,"partialInput":"p","confirmed":"setting","unknownMember":1`
	kept := `"intention":"i","_meta":{"m":1},` + mcp
	for status, want := range map[string]string{
		"running":   `,"invocationMessage":"I","toolInput":"in"`,
		"future":    `,"invocationMessage":"I","toolInput":"in"`,
		"streaming": `,"invocationMessage":"I"`,
	} {
		s := do(t, chatAt(t, active(call(status, kept+`,"invocationMessage":"I","toolInput":"in"`+rest))), endOfTurn)
		check(t, "a call in "+status, s.Turns.At(0).ResponseParts.At(0), call("cancelled", kept+want+`,"reason":"skipped"`))
	}
	s := do(t, chatAt(t, active(call("streaming", ""))), endOfTurn)
	check(t, "a call without a message", s.Turns.At(0).ResponseParts.At(0), call("cancelled", `"invocationMessage":"","reason":"skipped"`))
}

func TestRule13_CompleteFromWhere(t *testing.T) {
	complete := tool("Complete", `"result":{`+result+`}`)
	s := do(t, chatAt(t, waiting(call("pending-confirmation", pending))), complete)
	check(t, "from pending", s.ActiveTurn.ResponseParts.At(0), call("completed", `"invocationMessage":"I","toolInput":"in","confirmed":"not-needed",`+result))
	streaming := chatAt(t, active(call("streaming", "")))
	if do(t, streaming, complete) != streaming {
		t.Error("a streaming call was completed")
	}
	s = do(t, chatAt(t, active(call("running", running+","+output))), complete)
	check(t, "the output of a running call", s.ActiveTurn.ResponseParts.At(0), call("completed", running+","+result))
}

func TestRule14_FromAuthOnlyFailureCompletes(t *testing.T) {
	s := chatAt(t, waiting(call("auth-required", running+","+mcp+","+output+","+auth)))
	if do(t, s, tool("Complete", `"result":{`+result+`}`)) != s {
		t.Error("a success completed a call that waits for a sign-in")
	}
	failed := do(t, s, tool("Complete", `"result":{`+failure+`},"requiresResultConfirmation":true`))
	check(t, "a failure keeps the output", failed.ActiveTurn.ResponseParts.At(0), call("completed", running+","+mcp+","+failure+","+output))
	failed = do(t, s, tool("Complete", `"result":{`+failure+`,"content":[]}`))
	check(t, "a failure with its own output", failed.ActiveTurn.ResponseParts.At(0), call("completed", running+","+mcp+","+failure+`,"content":[]`))
}

func TestRule15_ReadyIsTheWayBack(t *testing.T) {
	s := chatAt(t, active(call("running", running+","+chosen+","+output)))
	back := do(t, s, tool("Ready", `"invocationMessage":"J","confirmationTitle":"T"`))
	check(t, "back to pending", back.ActiveTurn.ResponseParts.At(0), call("pending-confirmation", `"invocationMessage":"J","confirmationTitle":"T","toolInput":"in"`))
	checkStatus(t, "back to pending", back.Status, 24)
	on := do(t, back, tool("Ready", `"invocationMessage":"K","confirmed":"setting","editable":true`))
	check(t, "confirmed at once", on.ActiveTurn.ResponseParts.At(0), call("running", `"invocationMessage":"K","toolInput":"in","confirmed":"setting"`))
}

func TestRule16_SelectedOptionIsResolved(t *testing.T) {
	s := chatAt(t, waiting(call("pending-confirmation", pending)))
	c := activeCall(t, do(t, s, tool("Confirmed", `"approved":true,"selectedOptionId":"yes"`)))
	if c.SelectedOption == nil || c.SelectedOption.Label != "Y" {
		t.Errorf("selected option %v, want the one with label Y", c.SelectedOption)
	}
	c = activeCall(t, do(t, s, tool("Confirmed", `"approved":true,"selectedOptionId":"maybe"`)))
	if c.SelectedOption != nil || c.Status != ahp.ToolRunning {
		t.Errorf("an unknown option gave %v in status %s", c.SelectedOption, c.Status)
	}
}

func TestRule17_MetaReplacesOrStays(t *testing.T) {
	s := chatAt(t, active(call("streaming", `"_meta":{"old":1}`)))
	for _, c := range []struct{ action, want string }{
		{tool("Delta", `"content":"c"`), `{"old":1}`},
		{tool("Delta", `"content":"c","_meta":null`), `{"old":1}`},
		{tool("Delta", `"content":"c","_meta":{"new":2}`), `{"new":2}`},
		{tool("Ready", `"invocationMessage":"I","_meta":{}`), `{}`},
	} {
		check(t, c.action, activeCall(t, do(t, s, c.action)).Meta, c.want)
	}
	started := do(t, chatAt(t, ``), `{"type":"chat/turnStarted","turnId":"t","startedAt":"s","message":`+message+`,"_meta":{"m":1}}`)
	check(t, "a turn", started.ActiveTurn, `{"id":"t","startedAt":"s","message":`+message+`,"responseParts":[]}`)
}

func TestRule18_DeltaStopsAtTheFirstPart(t *testing.T) {
	s := chatAt(t, active(`{"kind":"reasoning","id":"p","content":"r"}`, markdown("p", "m")))
	if do(t, s, `{"type":"chat/delta","turnId":"t","partId":"p","content":"x"}`) != s {
		t.Error("a delta passed over the first part with its id")
	}
	s = chatAt(t, active(call("running", running), markdown("x", "m")))
	if do(t, s, `{"type":"chat/delta","turnId":"t","partId":"x","content":"x"}`) != s {
		t.Error("a delta passed over a call with its id")
	}
	s = do(t, chatAt(t, active(markdown("p", "1"), markdown("p", "2"))), `{"type":"chat/delta","turnId":"t","partId":"p","content":"x"}`)
	check(t, "two parts", s.ActiveTurn.ResponseParts, `[`+markdown("p", "1x")+`,`+markdown("p", "2")+`]`)
}
