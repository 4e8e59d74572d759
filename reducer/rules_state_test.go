package reducer

import (
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// The rules from 19 on: order and keys, absent and empty, unknown things, and
// what reducers leave to the host.

func TestRule19_UpsertsKeepTheirPlace(t *testing.T) {
	s := do(t, sessionAt(t, chatsABC), `{"type":"session/chatAdded","summary":`+chatB+`}`,
		`{"type":"session/chatAdded","summary":{"resource":"d","title":"D","status":1,"modifiedAt":""}}`)
	if got := s.Chats[1].Resource + s.Chats[3].Resource; len(s.Chats) != 4 || got != "bd" {
		t.Errorf("%d chats, second and fourth %s, want 4, bd", len(s.Chats), got)
	}
	c := do(t, chatAt(t, `{"turns":[`+turn("c", "complete", "")+`]}`),
		`{"type":"chat/turnsLoaded","turns":[`+turn("a", "complete", "")+`,`+turn("b", "complete", "")+`,`+turn("c", "complete", "")+`]}`)
	order := ""
	for _, t := range c.Turns.All() {
		order += t.ID
	}
	if order != "abc" {
		t.Errorf("turns %s, want abc", order)
	}
}

func TestRule20_AnotherTurnReplacesTheActiveOne(t *testing.T) {
	s := do(t, chatAt(t, waiting(asked("", ""))), `{"type":"chat/turnStarted","turnId":"u","startedAt":"s","message":`+message+`}`)
	if s.ActiveTurn.ID != "u" || s.Turns.Len() != 0 || s.ActiveTurn.ResponseParts.Len() != 0 {
		t.Errorf("active turn %s, %d finished, want u and none", s.ActiveTurn.ID, s.Turns.Len())
	}
	checkStatus(t, "the question is gone", s.Status, 8)
}

func TestRule21_AnyOtherKindIsQueued(t *testing.T) {
	for _, kind := range []string{"queued", "future", "Steering", ""} {
		s := do(t, chatAt(t, ``), `{"type":"chat/pendingMessageSet","kind":"`+kind+`","id":"a","message":`+message+`}`)
		if len(s.QueuedMessages) != 1 || s.SteeringMessage != nil {
			t.Errorf("kind %q: %d queued, steering %v", kind, len(s.QueuedMessages), s.SteeringMessage)
		}
		if s = do(t, s, `{"type":"chat/pendingMessageRemoved","kind":"`+kind+`","id":"a"}`); s.QueuedMessages != nil {
			t.Errorf("kind %q: the message is still queued", kind)
		}
	}
}

func TestRule22_ReorderNeitherDropsNorDuplicates(t *testing.T) {
	s := do(t, chatAt(t, queued("a", "b", "a", "c")), `{"type":"chat/queuedMessagesReordered","order":["c","a","c","z"]}`)
	order := ""
	for _, m := range s.QueuedMessages {
		order += m.ID
	}
	if order != "caab" {
		t.Errorf("order %s, want caab", order)
	}
}

func TestRule23_TopLevelWins(t *testing.T) {
	child := `{"type":"mcpServer","id":"i","uri":"u","name":"M","state":{"kind":"ready"}}`
	s := sessionAt(t, `{"customizations":[{"type":"plugin","id":"p","uri":"u","name":"P","children":[`+child+`]},{"type":"directory","id":"i","uri":"u","name":"D"}]}`)
	for _, name := range []string{"mcpServerStopRequested", "mcpServerStartRequested", "mcpServerBackgroundRequested"} {
		if do(t, s, `{"type":"session/`+name+`","id":"i"}`) != s {
			t.Errorf("%s went below a top-level entry with the id", name)
		}
	}
	toggled := do(t, s, `{"type":"session/customizationToggled","id":"i","enabled":false}`)
	if e := toggled.Customizations[1].Enabled; e == nil || *e {
		t.Error("the top-level entry was not toggled")
	}
	check(t, "the child", toggled.Customizations[0].Children[0], child)
}

func TestRule24_RemoveFromAllToggleTheFirst(t *testing.T) {
	child := `{"type":"skill","id":"s","uri":"u","name":"S"}`
	other := `{"type":"skill","id":"o","uri":"u","name":"O"}`
	s := sessionAt(t, `{"customizations":[
		{"type":"plugin","id":"p","uri":"u","name":"P","children":[`+child+`]},
		{"type":"directory","id":"d","uri":"u","name":"D","children":[`+other+`,`+child+`]}]}`)
	removed := do(t, s, `{"type":"session/customizationRemoved","id":"s"}`)
	check(t, "the first", removed.Customizations[0].Children, `[]`)
	check(t, "the second", removed.Customizations[1].Children, `[`+other+`]`)
	toggled := do(t, s, `{"type":"session/customizationToggled","id":"s","enablement":[{"kind":"session","enabled":false}]}`)
	check(t, "the first", toggled.Customizations[0].Children, `[{"type":"skill","id":"s","uri":"u","name":"S","enabled":false}]`)
	check(t, "the second", toggled.Customizations[1].Children, `[`+other+`,`+child+`]`)
}

func TestRule25_ZeroIsAValue(t *testing.T) {
	s := do(t, at[*ahp.AnnotationsState](t, ahp.KindAnnotations, `{"annotations":[{"id":"a","resource":"f","resolved":true,"entries":[]}]}`),
		`{"type":"annotations/updated","annotationId":"a","resolved":false,"resource":""}`)
	check(t, "resolved", s, `{"annotations":[{"id":"a","resource":"","resolved":false,"entries":[]}],"unknownMember":1}`)
	term := do(t, at[*ahp.TerminalState](t, ahp.KindTerminal, ``), `{"type":"terminal/exited","exitCode":0}`)
	check(t, "exit code", term.Lifecycle, `{"status":"exited","exitCode":0}`)
}

func TestRule26_NullIsNeverSent(t *testing.T) {
	for kind, rows := range tables {
		for _, r := range rows {
			start := patch(t, tree(t, jsontext.Value(base[kind])), r.given)
			s := Apply(mustDecode(t, kind, encode(t, start)), mustAction(t, r.action))
			if raw := encode(t, s); hasNull(rawTree(t, string(raw))) && r.name != "a part of an unknown kind" {
				t.Errorf("%s/%s: a null in %s", kind, r.name, raw)
			}
		}
	}
}

func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, m := range v {
			if hasNull(m) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if hasNull(e) {
				return true
			}
		}
	}
	return false
}

func TestRule27_AbsentAndEmptyDiffer(t *testing.T) {
	s := do(t, chatAt(t, `{"workingDirectories":["a"],"queuedMessages":[{"id":"q","message":`+message+`}]}`),
		`{"type":"chat/workingDirectoryRemoved","directory":"a"}`,
		`{"type":"chat/changesetsChanged","changesets":[]}`,
		`{"type":"chat/pendingMessageRemoved","kind":"queued","id":"q"}`)
	if s.WorkingDirectories == nil || s.Changesets == nil {
		t.Error("an empty list became absent")
	}
	if s.QueuedMessages != nil {
		t.Error("an empty queue was kept")
	}
	child := sessionAt(t, `{"customizations":[{"type":"plugin","id":"p","uri":"u","name":"P","children":[{"type":"hook","id":"h","uri":"u","name":"H"}]}]}`)
	if do(t, child, `{"type":"session/customizationRemoved","id":"h"}`).Customizations[0].Children == nil {
		t.Error("parsed and empty became not parsed")
	}
}

func TestRule28_PartialUpdateCannotClear(t *testing.T) {
	s := sessionAt(t, `{"chats":[{"resource":"a","title":"A","status":1,"modifiedAt":"m","activity":"x","workingDirectories":["d"]}]}`)
	got := do(t, s, `{"type":"session/chatUpdated","chat":"a","changes":{"activity":null,"workingDirectories":null}}`)
	check(t, "nulls", got.Chats, `[{"resource":"a","title":"A","status":1,"modifiedAt":"m","activity":"x","workingDirectories":["d"]}]`)
}

func TestRule29_ConfigNeedsConfig(t *testing.T) {
	s := sessionAt(t, ``)
	if do(t, s, `{"type":"session/configChanged","config":{"a":1},"replace":true}`) != s {
		t.Error("a configuration came from nowhere")
	}
	s = sessionAt(t, `{"config":{"schema":{"type":"object"},"values":{"a":{"x":1},"b":2}}}`)
	merged := do(t, s, `{"type":"session/configChanged","config":{"a":{"y":2},"b":null}}`)
	if v := merged.Config.Values; string(v["a"]) != `{"y":2}` || string(v["b"]) != `null` || len(v) != 2 {
		t.Errorf("values %s, want a shallow merge that removes nothing", v)
	}
	check(t, "schema", merged.Config.Schema, `{"type":"object"}`)
}

func TestRule30_UnknownActionChangesNothing(t *testing.T) {
	for kind := range base {
		s := mustDecode(t, kind, jsontext.Value(base[kind]))
		for _, a := range []string{`{"type":"` + string(kind) + `/future","turnId":"t"}`, `{"type":""}`} {
			if Apply(s, mustAction(t, a)) != s {
				t.Errorf("kind %s: unknown action %s changed the state", kind, a)
			}
		}
	}
}

func TestRule31_UnknownVariantsPassThrough(t *testing.T) {
	part := `{"kind":"future","id":"f","deep":{"x":[1]}}`
	s := do(t, chatAt(t, active(part)),
		`{"type":"chat/responsePart","turnId":"t","part":{"kind":"other","y":2}}`, endOfTurn)
	check(t, "parts", s.Turns.At(0).ResponseParts, `[`+part+`,{"kind":"other","y":2}]`)
	sess := do(t, sessionAt(t, allCustomizations), `{"type":"session/customizationRemoved","id":"d"}`)
	check(t, "customizations", sess.Customizations, `[`+plugin+`,`+server+`,`+future+`]`)
	check(t, "unknown members of the state", sess.Extra, `{"unknownMember":1}`)
}

func TestRule32_OpenStringsAreKept(t *testing.T) {
	sets := `[{"label":"L","uriTemplate":"u","changeKind":"future"}]`
	s := do(t, chatAt(t, ``), `{"type":"chat/changesetsChanged","changesets":`+sets+`}`,
		`{"type":"chat/draftChanged","draft":{"text":"","origin":{"kind":"future"},"attachments":[{"type":"simple","label":"","displayKind":"future"}]}}`)
	check(t, "changesets", s.Changesets, sets)
	check(t, "draft", s.Draft, `{"text":"","origin":{"kind":"future"},"attachments":[{"type":"simple","label":"","displayKind":"future"}]}`)
}

func TestRule34_ReducersAskNobody(t *testing.T) {
	s := do(t, at[*ahp.TerminalState](t, ahp.KindTerminal, ``), `{"type":"terminal/claimed","claim":{"kind":"client","clientId":"thief"}}`)
	if *s.Claim.ClientID != "thief" {
		t.Error("the reducer judged a claim, which is for the host")
	}
}

func TestRule35_RequestsChangeNothing(t *testing.T) {
	term := at[*ahp.TerminalState](t, ahp.KindTerminal, `{"content":[`+openCmd+`]}`)
	if do(t, term, `{"type":"terminal/input","data":"x"}`) != term {
		t.Error("input became output")
	}
	watch := at[*ahp.ResourceWatchState](t, ahp.KindResourceWatch, ``)
	if do(t, watch, `{"type":"resourceWatch/changed","changes":{"items":[{"uri":"u","type":"deleted"}]}}`) != watch {
		t.Error("a watch changed")
	}
}

func TestRule36_MirrorsAreTheHostsDuty(t *testing.T) {
	s := do(t, sessionAt(t, `{"chats":[`+chatA+`]}`), `{"type":"session/chatUpdated","chat":"a","changes":{"status":24}}`)
	checkStatus(t, "the session of a chat that waits", s.Status, 1)
}

func TestRule37_WhatDidNotChangeIsShared(t *testing.T) {
	s := chatAt(t, active(markdown("p", "a")))
	next := do(t, s, `{"type":"chat/delta","turnId":"t","partId":"p","content":"b"}`)
	if next == s || next.ActiveTurn == s.ActiveTurn {
		t.Error("the state was changed in place")
	}
	if next.ChatHeader != s.ChatHeader {
		t.Error("a delta copied the header")
	}
	draft := do(t, s, `{"type":"chat/draftChanged","draft":`+message+`}`)
	if draft.ActiveTurn != s.ActiveTurn || draft.Turns.Len() != s.Turns.Len() {
		t.Error("a draft copied more than the header")
	}
	check(t, "the old state", s.ActiveTurn.ResponseParts, `[`+markdown("p", "a")+`]`)
}
