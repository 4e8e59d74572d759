package ahp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

// listItem is a typical element: immutable, behind a pointer.
type listItem struct {
	ID string `json:"id"`
	N  int    `json:"n"`
}

func (i *listItem) Key() string { return i.ID }

// listValue is an element that is no pointer.
type listValue struct {
	ID string `json:"id"`
}

func (v listValue) Key() string { return v.ID }

func listItems(n int) []*listItem {
	items := make([]*listItem, n)
	for i := range items {
		items[i] = &listItem{ID: fmt.Sprintf("part-%d", i), N: i}
	}
	return items
}

// listFork is a List with what it must hold for ever.
type listFork struct {
	list List[*listItem]
	want []*listItem // nil when absent
}

func (f listFork) check(t rapid.TB) {
	t.Helper()
	if got := f.list.IsZero(); got != (f.want == nil) {
		t.Fatalf("IsZero: got %v, want %v", got, f.want == nil)
	}
	if got := f.list.Len(); got != len(f.want) {
		t.Fatalf("length: got %d, want %d", got, len(f.want))
	}
	next := 0
	for i, got := range f.list.All() {
		if i != next || got != f.want[i] {
			t.Fatalf("element %d, expected at %d: got %v, want %v", i, next, got, f.want[i])
		}
		if at := f.list.At(i); at != got {
			t.Fatalf("At(%d): got %v, want %v", i, at, got)
		}
		next++
	}
	if next != len(f.want) {
		t.Fatalf("elements seen: got %d, want %d", next, len(f.want))
	}
}

// checkFind asks for one key; "" is never found.
func (f listFork) checkFind(t rapid.TB, key string) {
	t.Helper()
	want := slices.IndexFunc(f.want, func(v *listItem) bool { return key != "" && v.ID == key })
	got, ok := f.list.Find(key)
	if ok != (want >= 0) || ok && got != want {
		t.Fatalf("find %q: got %d, %v, want %d", key, got, ok, want)
	}
}

// listKeyPool has few enough keys that duplicates are common, and the key "".
func listKeyPool() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if k := rapid.IntRange(0, 9).Draw(t, "key"); k > 0 {
			return fmt.Sprintf("k%d", k)
		}
		return ""
	})
}

func drawItem(t *rapid.T) *listItem {
	return &listItem{ID: listKeyPool().Draw(t, "id"), N: rapid.Int().Draw(t, "n")}
}

func drawListFork(t *rapid.T) listFork {
	n := rapid.SampledFrom([]int{0, 1, 2, 31, 32, 33, 64, 65, 1055, 1056, 1057, 1090}).Draw(t, "size")
	want := append([]*listItem{}, listItems(n)...)
	return listFork{NewList(want...), slices.Clone(want)}
}

func TestListModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		forks := []listFork{{}, drawListFork(t)}
		pick := func(t *rapid.T) listFork { // the newest twice as often
			return rapid.SampledFrom(append(forks, forks[len(forks)-1])).Draw(t, "from")
		}
		add := func(t *rapid.T, list List[*listItem], want []*listItem) {
			f := listFork{list, want}
			f.check(t)
			for _, key := range []string{"", "k1", "k2", "k3", "k9", "part-0", "part-1056", "none"} {
				f.checkFind(t, key)
			}
			forks = append(forks, f)
		}
		set := func(t *rapid.T, f listFork, i int, v *listItem) {
			want := slices.Clone(f.want)
			want[i] = v
			add(t, f.list.Set(i, v), want)
		}
		// near prefers the ends and the edges of leaves.
		near := func(t *rapid.T, f listFork) int {
			if len(f.want) == 0 {
				t.Skip("empty")
			}
			last := len(f.want) - 1
			at := rapid.SampledFrom([]int{0, 1, 31, 32, 1023, 1024, last - 1, last}).Draw(t, "at")
			return min(max(at, 0), last)
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				f := pick(t)
				for range rapid.SampledFrom([]int{1, 1, 2, 40}).Draw(t, "count") {
					v := drawItem(t)
					f = listFork{f.list.Append(v), append(slices.Clip(f.want), v)}
				}
				add(t, f.list, f.want)
			},
			"update": func(t *rapid.T) { // same key: the hot path
				f := pick(t)
				i := near(t, f)
				set(t, f, i, &listItem{ID: f.want[i].ID, N: rapid.Int().Draw(t, "n")})
			},
			"rename": func(t *rapid.T) {
				f := pick(t)
				set(t, f, near(t, f), drawItem(t))
			},
			"prepend": func(t *rapid.T) {
				f := pick(t)
				items := []*listItem{drawItem(t), drawItem(t)}
				add(t, f.list.Prepend(items...), append(items, f.want...))
			},
			"slice": func(t *rapid.T) {
				f := pick(t)
				to := rapid.IntRange(0, len(f.want)).Draw(t, "to")
				from := rapid.IntRange(0, to).Draw(t, "from")
				add(t, f.list.Slice(from, to), append([]*listItem{}, f.want[from:to]...))
			},
			"truncate": func(t *rapid.T) {
				f := pick(t)
				n := len(f.want) - rapid.IntRange(0, min(3, len(f.want))).Draw(t, "cut")
				add(t, f.list.Truncate(n), append([]*listItem{}, f.want[:n]...))
			},
			"": func(t *rapid.T) {
				for _, f := range forks {
					f.check(t)
				}
			},
		})
	})
}

// TestListGrowth compares lists that were appended to with lists made at once,
// around every length at which the shape changes.
func TestListGrowth(t *testing.T) {
	const most = 32*32*32 + 2*32 + 1
	items := listItems(most)
	edges := []int{0, 1, 32, 33, 64, 65, 1024, 1025, 1056, 1057, 32768, 32769, 32800, 32801, most}
	var grown List[*listItem]
	grown = grown.Truncate(0)
	for n := range most + 1 {
		if slices.Contains(edges, n) {
			for _, list := range []List[*listItem]{grown, NewList(items[:n]...)} {
				f := listFork{list, items[:n]}
				f.check(t)
				for _, i := range []int{0, n / 2, n - 1, n} {
					if i >= 0 && i < most {
						f.checkFind(t, items[i].ID)
					}
				}
			}
		}
		if n < most {
			grown = grown.Append(items[n])
		}
	}
}

func TestListOwnsItems(t *testing.T) {
	items := listItems(70)
	list := NewList(items...)
	clear(items)
	listFork{list, nil}.checkUnchanged(t, 70)
	out := list.Slice(0, 40)
	out = out.Set(3, &listItem{ID: "part-3", N: -1}).Set(4, &listItem{ID: "part-4", N: -1})
	listFork{list, nil}.checkUnchanged(t, 70)
	if got := out.At(3).N; got != -1 {
		t.Errorf("slice of the list: got %d, want -1", got)
	}
}

// checkUnchanged checks that the list still holds listItems(n).
func (f listFork) checkUnchanged(t *testing.T, n int) {
	t.Helper()
	if got := f.list.Len(); got != n {
		t.Fatalf("length: got %d, want %d", got, n)
	}
	for i, v := range f.list.All() {
		if v.N != i || v.ID != fmt.Sprintf("part-%d", i) {
			t.Fatalf("element %d: got %+v", i, *v)
		}
	}
}

func TestListJSON(t *testing.T) {
	type state struct {
		Turns List[*listItem] `json:"turns,omitzero"`
	}
	for _, tt := range []struct {
		name, in, want string // want "" means an error
	}{
		{"absent", `{}`, `{}`},
		{"null", `{"turns":null}`, `{}`},
		{"empty", `{"turns":[]}`, `{"turns":[]}`},
		{"two", `{"turns":[{"id":"a","n":1},{"id":"a","n":2}]}`, `{"turns":[{"id":"a","n":1},{"id":"a","n":2}]}`},
		{"null element", `{"turns":[null]}`, ""},
		{"null later", `{"turns":[{"id":"a"},null]}`, ""},
		{"object", `{"turns":{}}`, ""},
		{"wrong element", `{"turns":[7]}`, ""},
		{"cut", `{"turns":[{"id":"a"}`, ""},
		{"bad element", `{"turns":[x]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s state
			err := json.Unmarshal([]byte(tt.in), &s)
			if (err == nil) != (tt.want != "") {
				t.Fatalf("unmarshal: got error %v, want %q", err, tt.want)
			}
			if err != nil {
				if !s.Turns.IsZero() {
					t.Errorf("list after an error: got %d elements, want it unchanged", s.Turns.Len())
				}
				return
			}
			got, err := json.Marshal(s)
			if err != nil || string(got) != tt.want {
				t.Errorf("marshal: got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

// TestListJSONFocus checks that the focus, which stands outside the body, is
// written in its place, and that an absent list is an array where one is due.
func TestListJSONFocus(t *testing.T) {
	list := NewList(listValue{"a"}, listValue{"b"}).Set(0, listValue{"a"}).Set(1, listValue{"c"})
	for _, tt := range []struct {
		list List[listValue]
		want string
	}{
		{list, `[{"id":"a"},{"id":"c"}]`},
		{List[listValue]{}, `[]`},
	} {
		if got, err := json.Marshal(tt.list); err != nil || string(got) != tt.want {
			t.Errorf("marshal: got %s, %v, want %s", got, err, tt.want)
		}
	}
	var back List[listValue]
	if err := json.Unmarshal([]byte(`[{"id":"a"},{"id":"c"}]`), &back); err != nil {
		t.Fatal(err)
	}
	if i, ok := back.Find("c"); !ok || i != 1 {
		t.Errorf("find after decoding: got %d, %v, want 1", i, ok)
	}
}

func TestListBounds(t *testing.T) {
	list := NewList(listItems(40)...)
	for name, call := range map[string]func(){
		"at end":           func() { list.At(40) },
		"at negative":      func() { list.At(-1) },
		"at far":           func() { list.At(1000) },
		"at absent":        func() { List[*listItem]{}.At(0) },
		"set end":          func() { list.Set(40, &listItem{}) },
		"set absent":       func() { List[*listItem]{}.Set(0, &listItem{}) },
		"truncate longer":  func() { list.Truncate(41) },
		"slice backwards":  func() { list.Slice(3, 2) },
		"slice negative":   func() { list.Slice(-1, 2) },
		"truncate minus 1": func() { list.Truncate(-1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("got no panic, want one")
				}
			}()
			call()
		})
	}
}

// TestListHotPath holds the promise that a streamed delta costs no allocation
// and does not depend on the length.
func TestListHotPath(t *testing.T) {
	list := NewList(listItems(5000)...)
	a, b := &listItem{ID: "part-77", N: 1}, &listItem{ID: strings.Clone("part-77"), N: 2}
	list = list.Set(77, a)
	allocs := testing.AllocsPerRun(100, func() {
		list = list.Set(77, b)
		if i, ok := list.Find("part-77"); !ok || i != 77 {
			t.Errorf("find: got %d, %v, want 77", i, ok)
		}
	})
	if allocs != 0 {
		t.Errorf("allocations of Set and Find on the focus: got %v, want 0", allocs)
	}
	if got := unsafe.Sizeof(list); got > 40 {
		t.Errorf("size of a list of pointers: got %d bytes, want at most 40", got)
	}
	if got := unsafe.Sizeof(List[Keyed]{}); got > 40 {
		t.Errorf("size of a list of interfaces: got %d bytes, want at most 40", got)
	}
}

// TestListKeysCollide puts keys with one hash into the index.
func TestListKeysCollide(t *testing.T) {
	for _, own := range []bool{true, false} {
		var keys *listKeys
		for i := range 40 {
			leaf := &listKeys{hash: 7, key: fmt.Sprint(i), at: i}
			keys = keys.insert(leaf.hash, leaf, own)
		}
		again := &listKeys{hash: 7, key: "11", at: 99}
		if keys.insert(again.hash, again, own) != keys {
			t.Error("a second position of a key changed the index")
		}
		seen := map[string]int{}
		for k, bits := keys, uint64(7); k != nil; bits >>= listKeyBits {
			seen[k.key] = k.at
			k = k.kids[bits&listKeyMask]
		}
		if len(seen) != 40 || seen["11"] != 11 {
			t.Errorf("keys with one hash: got %d (11 at %d), want 40 (11 at 11)", len(seen), seen["11"])
		}
	}
}
