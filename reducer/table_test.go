package reducer

import (
	"slices"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// row is one action on one state. Given is laid over the base state of the
// row's kind and Want over the state before the action, both as merge patches:
// null removes a member, lists are replaced whole. So everything a row does not
// name must stay as it was. Without Want the same pointer must come back.
type row struct {
	name   string
	given  string
	action string
	want   string
}

// base holds the state each table begins with.
var base = map[ahp.Kind]string{
	ahp.KindRoot:           `{"agents":[],"unknownMember":1}`,
	ahp.KindSession:        `{"provider":"p","title":"T","status":1,"lifecycle":"creating","activeClients":[],"chats":[],"unknownMember":1}`,
	ahp.KindChat:           `{"resource":"ahp-chat:/c","title":"T","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z","turns":[],"unknownMember":1}`,
	ahp.KindTerminal:       `{"title":"T","content":[],"claim":{"kind":"client","clientId":"c"},"lifecycle":{"status":"running"},"unknownMember":1}`,
	ahp.KindChangeset:      `{"status":"ready","files":[],"unknownMember":1}`,
	ahp.KindAnnotations:    `{"annotations":[],"unknownMember":1}`,
	ahp.KindResourceWatch:  `{"root":"file:///r","recursive":true,"unknownMember":1}`,
	ahp.KindClientServices: `{"services":[],"unknownMember":1}`,
}

// tables holds the rows of all kinds; each kind's stand in a file of their own.
var tables = map[ahp.Kind][]row{
	ahp.KindRoot:           rootRows,
	ahp.KindSession:        slices.Concat(sessionRows, sessionChatRows, customizationRows),
	ahp.KindChat:           slices.Concat(chatRows, turnRows, streamRows, toolRows, inputRows, pendingRows),
	ahp.KindTerminal:       terminalRows,
	ahp.KindChangeset:      changesetRows,
	ahp.KindAnnotations:    annotationRows,
	ahp.KindResourceWatch:  watchRows,
	ahp.KindClientServices: serviceRows,
}

func TestActions(t *testing.T) {
	for kind, rows := range tables {
		for _, r := range rows {
			t.Run(string(kind)+"/"+r.name, func(t *testing.T) { runRow(t, kind, r) })
		}
	}
}

func runRow(t *testing.T, kind ahp.Kind, r row) {
	start := patch(t, tree(t, jsontext.Value(base[kind])), r.given)
	state := mustDecode(t, kind, encode(t, start))
	action := mustAction(t, r.action)
	if _, unknown := action.(*ahp.UnknownAction); unknown {
		t.Fatalf("action %s is unknown", action.ActionType())
	}
	before := tree(t, encode(t, state))
	next := Apply(state, action)
	if r.want == "" && next != state {
		t.Error("the action changed the pointer, want the same state")
	}
	if r.want != "" && next == state {
		t.Error("the same pointer came back, want a new state")
	}
	want := patch(t, tree(t, encode(t, state)), r.want)
	if d := cmp.Diff(want, tree(t, encode(t, next))); d != "" {
		t.Errorf("state after %s (-want +got):\n%s", action.ActionType(), d)
	}
	if d := cmp.Diff(before, tree(t, encode(t, state))); d != "" {
		t.Errorf("the given state was modified (-before +after):\n%s", d)
	}
}

// patch lays a merge patch over a tree, which it may modify.
func patch(t *testing.T, target any, by string) any {
	t.Helper()
	if by == "" {
		return target
	}
	return merge(target, rawTree(t, by))
}

func merge(target, by any) any {
	members, ok := by.(map[string]any)
	if !ok {
		return by
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for k, v := range members {
		if v == nil {
			delete(object, k)
		} else {
			object[k] = merge(object[k], v)
		}
	}
	return object
}

// TestActionsComplete fails if an action type has no row of its own.
func TestActionsComplete(t *testing.T) {
	rows, total := map[string]int{}, 0
	for kind, table := range tables {
		for _, r := range table {
			name := mustAction(t, r.action).ActionType()
			if !ahp.BelongsTo(name, kind) {
				t.Errorf("row %s/%s has the action %s", kind, r.name, name)
			}
			rows[name]++
			total++
		}
	}
	types := ahp.ActionTypes()
	if len(types) == 0 {
		t.Fatal("no action types")
	}
	for _, name := range types {
		if rows[name] == 0 {
			t.Errorf("no row for %s", name)
		}
	}
	t.Logf("%d rows for %d action types", total, len(types))
}

// TestOtherChannels: the reducer is chosen by the kind of the channel, so an
// action of another kind changes nothing (AHP channels, 1.2).
func TestOtherChannels(t *testing.T) {
	for kind, state := range base {
		s := mustDecode(t, kind, jsontext.Value(state))
		for other, rows := range tables {
			for _, r := range rows {
				if a := mustAction(t, r.action); other != kind && Apply(s, a) != s {
					t.Errorf("%s changed the state of kind %s", a.ActionType(), kind)
				}
			}
		}
	}
}

func TestNewAndDecode(t *testing.T) {
	for kind, state := range base {
		fresh := mustDecode(t, kind, encode(t, New(kind)))
		decoded := mustDecode(t, kind, jsontext.Value(state))
		if got, want := typeName(fresh), typeName(decoded); got != want {
			t.Errorf("kind %s: New has type %s, Decode %s", kind, got, want)
		}
		if d := cmp.Diff(tree(t, encode(t, New(kind))), tree(t, encode(t, fresh))); d != "" {
			t.Errorf("kind %s: a new state does not survive (-want +got):\n%s", kind, d)
		}
	}
	if _, ok := New(ahp.KindUnknown).(*ahp.EmptyState); !ok {
		t.Errorf("New of an unknown kind is %T, want *ahp.EmptyState", New(ahp.KindUnknown))
	}
	for _, raw := range []string{`null`, `[]`, `"x"`, `{"turns":[null]}`, `{"turns":7}`, `{`} {
		if s, err := Decode(ahp.KindChat, jsontext.Value(raw)); err == nil {
			t.Errorf("Decode(%s) = %v, want an error", raw, s)
		}
	}
	if got := Apply(nil, mustAction(t, `{"type":"session/ready"}`)); got != nil {
		t.Errorf("Apply on nil = %v", got)
	}
}

// TestNewStates: a new state has every required member.
func TestNewStates(t *testing.T) {
	for kind, want := range map[ahp.Kind]string{
		ahp.KindRoot:          `{"agents":[]}`,
		ahp.KindSession:       `{"provider":"","title":"","status":1,"lifecycle":"creating","activeClients":[],"chats":[]}`,
		ahp.KindChat:          `{"resource":"","title":"","status":1,"modifiedAt":"","turns":[]}`,
		ahp.KindTerminal:      `{"title":"","content":[],"lifecycle":{"status":"running"},"claim":{"kind":""}}`,
		ahp.KindChangeset:     `{"status":"computing","files":[]}`,
		ahp.KindAnnotations:   `{"annotations":[]}`,
		ahp.KindResourceWatch: `{"root":"","recursive":false}`,
		ahp.KindUnknown:       `{}`,
	} {
		check(t, "a new state of kind "+string(kind), New(kind), want)
	}
	if New(ahp.KindChat).(*ahp.ChatState).Turns.IsZero() || New(ahp.KindTerminal).(*ahp.TerminalState).Content.IsZero() {
		t.Error("a list that is required is absent")
	}
}

func typeName(v any) string {
	switch v.(type) {
	case *ahp.RootState:
		return "root"
	case *ahp.SessionState:
		return "session"
	case *ahp.ChatState:
		return "chat"
	case *ahp.TerminalState:
		return "terminal"
	case *ahp.ChangesetState:
		return "changeset"
	case *ahp.AnnotationsState:
		return "annotations"
	case *ahp.ResourceWatchState:
		return "resourceWatch"
	case *ahp.ClientServicesState:
		return "clientService"
	}
	return "none"
}

// The parts of states that the tables share.

const message = `{"text":"hello","origin":{"kind":"user"}}`

// active is a patch that makes a turn t active with the parts.
func active(parts ...string) string {
	return `{"status":8,` + activeTurn(parts...) + `}`
}

// waiting is the same with a status that asks for input.
func waiting(parts ...string) string {
	return `{"status":24,` + activeTurn(parts...) + `}`
}

func activeTurn(parts ...string) string {
	return `"activeTurn":{"id":"t","startedAt":"2026-01-01T00:00:01.000Z","message":` + message + `,"responseParts":[` + strings.Join(parts, ",") + `]}`
}

func markdown(id, content string) string {
	return `{"kind":"markdown","id":"` + id + `","content":"` + content + `"}`
}

// call is a tool call part x with the members given as JSON.
func call(status, members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"kind":"toolCall","toolCall":{"status":"` + status + `","toolCallId":"x","toolName":"n","displayName":"N"` + members + `}}`
}

// tool is an action on call x of turn t.
func tool(name, members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"type":"chat/toolCall` + name + `","turnId":"t","toolCallId":"x"` + members + `}`
}
