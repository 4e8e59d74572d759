package reducer

import (
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// FuzzApply folds any actions over any state. Nothing may panic, the given state
// stays as it was, a second run gives the same, an unknown action changes
// nothing, and every state can be encoded and decoded again. Seeds are our own
// rows, and the outside fixtures where they are found.
func FuzzApply(f *testing.F) {
	for kind, rows := range tables {
		for _, r := range rows {
			state, err := json.Marshal(merge(tree(f, jsontext.Value(base[kind])), rawTree(f, orEmpty(r.given))))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(kind), state, []byte("["+r.action+"]"))
		}
	}
	for _, x := range readFixtures(f) {
		actions, err := json.Marshal(x.Actions)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(x.Reducer), []byte(x.Initial), actions)
	}
	f.Fuzz(fuzzApply)
}

func orEmpty(given string) string {
	if given == "" {
		return `{}`
	}
	return given
}

func fuzzApply(t *testing.T, kind string, state, list []byte) {
	first, err := Decode(ahp.Kind(kind), state)
	if err != nil {
		return
	}
	var actions []ahp.AnyAction
	if ahp.Unmarshal(list, &actions) != nil {
		return
	}
	before := encode(t, first)
	last := foldAny(t, first, actions)
	if d := cmp.Diff(anyTree(t, before), anyTree(t, encode(t, first))); d != "" {
		t.Fatalf("the given state was modified:\n%s", d)
	}
	result := anyTree(t, encode(t, last))
	if d := cmp.Diff(result, anyTree(t, encode(t, foldAny(t, first, actions)))); d != "" {
		t.Fatalf("a second run differs:\n%s", d)
	}
	again, err := Decode(ahp.Kind(kind), encode(t, last))
	if err != nil {
		t.Fatalf("decode the result: %v", err)
	}
	if d := cmp.Diff(result, anyTree(t, encode(t, again))); d != "" {
		t.Fatalf("the result does not survive:\n%s", d)
	}
}

func foldAny(t *testing.T, state any, actions []ahp.AnyAction) any {
	for _, a := range actions {
		if a.Action == nil {
			continue // a null in the list
		}
		next := Apply(state, a.Action)
		if _, unknown := a.Action.(*ahp.UnknownAction); unknown && next != state {
			t.Fatal("an unknown action changed the state")
		}
		state = next
	}
	return state
}

// anyTree decodes JSON of any peer, keeping null.
func anyTree(t *testing.T, raw jsontext.Value) (v any) {
	t.Helper()
	if err := ahp.Unmarshal(raw, &v); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return v
}
