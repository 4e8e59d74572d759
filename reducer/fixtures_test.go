package reducer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// fixture is one case of the outside data: fold the actions over Initial and
// compare with Expected. A null stands for an absent member.
type fixture struct {
	Description string           `json:"description"`
	Reducer     ahp.Kind         `json:"reducer"`
	Initial     jsontext.Value   `json:"initial"`
	Actions     []jsontext.Value `json:"actions"`
	Expected    jsontext.Value   `json:"expected"`
}

// sharedDir finds the folder of outside data: named by CAUSEWAY_SHARED, or
// called shared beside the module.
func sharedDir(tb testing.TB) (dir string, ok bool) {
	tb.Helper()
	if dir = os.Getenv("CAUSEWAY_SHARED"); dir != "" {
		return dir, true
	}
	at, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			break
		}
		if at == filepath.Dir(at) {
			tb.Fatal("no go.mod above the test")
		}
	}
	dir = filepath.Join(filepath.Dir(at), "shared")
	_, err = os.Stat(dir)
	return dir, err == nil
}

// TestMain says in any output whether the outside fixtures were there, since a
// skipped test is silent.
func TestMain(m *testing.M) {
	code := m.Run()
	fmt.Printf("outside fixtures run: %d\n", fixturesRun.Load())
	os.Exit(code)
}

var fixturesRun atomic.Int64

// readFixtures returns all cases by file name. Where a name stands in both
// folders the newer file counts.
func readFixtures(tb testing.TB) map[string]fixture {
	tb.Helper()
	dir, ok := sharedDir(tb)
	if !ok {
		return nil
	}
	all := map[string]fixture{}
	for _, folder := range []string{"reducers", "reducers-newer"} {
		files, err := filepath.Glob(filepath.Join(dir, "fixtures", folder, "*.json"))
		if err != nil {
			tb.Fatal(err)
		}
		for _, file := range files {
			all[strings.TrimSuffix(filepath.Base(file), ".json")] = readFixture(tb, file)
		}
	}
	return all
}

func readFixture(tb testing.TB, file string) (f fixture) {
	tb.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(encode(tb, tree(tb, raw)), &f); err != nil {
		tb.Fatalf("%s: %v", filepath.Base(file), err)
	}
	return f
}

// TestFixtures runs the cases written by the authors of the protocol.
func TestFixtures(t *testing.T) {
	all := readFixtures(t)
	if len(all) == 0 {
		t.Skip("outside fixtures not found: set CAUSEWAY_SHARED, or put the folder shared beside the module")
	}
	t.Logf("%d outside fixtures found, %d of them with another expectation", len(all), len(deviations))
	for name := range deviations {
		if _, ok := all[name]; !ok {
			t.Errorf("no fixture %s: its deviation is stale", name)
		}
	}
	for name, f := range all {
		t.Run(name, func(t *testing.T) { runFixture(t, name, f) })
	}
}

func runFixture(t *testing.T, name string, f fixture) {
	fixturesRun.Add(1)
	want := tree(t, f.Expected)
	if d, ok := deviations[name]; ok {
		want = d.correct(t, want)
	}
	initial := mustDecode(t, f.Reducer, f.Initial)
	before := tree(t, encode(t, initial))
	state := fold(t, initial, f.Actions)
	got := tree(t, encode(t, state))

	// Members that our encoder always writes are absent in minimal cases.
	full := tree(t, encode(t, mustDecode(t, f.Reducer, encode(t, want))))
	if d := cmp.Diff(full, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", f.Description, d)
	}
	for _, lost := range missing("", want, got) {
		t.Errorf("%s: expected member lost or changed: %s", f.Description, lost)
	}
	if state != initial && cmp.Equal(before, got) {
		t.Errorf("%s: the state is equal but not the same pointer", f.Description)
	}
	if d := cmp.Diff(before, tree(t, encode(t, initial))); d != "" {
		t.Errorf("the given state was modified (-before +after):\n%s", d)
	}
	again := tree(t, encode(t, fold(t, initial, f.Actions)))
	if d := cmp.Diff(got, again); d != "" {
		t.Errorf("a second run differs (-first +second):\n%s", d)
	}
}

// fold applies the actions in order.
func fold(t *testing.T, state any, actions []jsontext.Value) any {
	t.Helper()
	for _, raw := range actions {
		a, err := ahp.DecodeAction(raw)
		if err != nil {
			t.Fatal(err)
		}
		state = Apply(state, a)
	}
	return state
}

// missing lists the members of want that got lacks or holds differently.
func missing(path string, want, got any) (lost []string) {
	switch want := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for k, v := range want {
			lost = append(lost, missing(path+"/"+k, v, g[k])...)
		}
	case []any:
		g, _ := got.([]any)
		if len(g) != len(want) {
			return []string{fmt.Sprintf("%s: %d elements, want %d", path, len(g), len(want))}
		}
		for i, v := range want {
			lost = append(lost, missing(fmt.Sprintf("%s/%d", path, i), v, g[i])...)
		}
	default:
		if !cmp.Equal(want, got) {
			return []string{fmt.Sprintf("%s: %v, want %v", path, got, want)}
		}
	}
	slices.Sort(lost)
	return lost
}
