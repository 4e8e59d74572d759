package reducer

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestOverlay(t *testing.T) {
	for _, c := range []struct{ base, top, want string }{
		{`{"a":1}`, ``, `{"a":1}`},
		{``, `{"b":2}`, `{"b":2}`},
		{``, ``, ``},
		{`{"e":1,"c":1,"a":1}`, `{"d":2,"c":2,"b":2,"f":2}`, `{"a":1,"b":2,"c":2,"d":2,"e":1,"f":2}`},
		{`{"a":{"x":1}}`, `{"a":{"y":null}}`, `{"a":{"y":null}}`},
		{`{"a":"\ud800"}`, `{"b":1}`, "{\"a\":\"\ufffd\",\"b\":1}"},
		{`{"a":1}`, `7`, `{"a":1}`},
	} {
		for range 8 { // the order of a map must not show
			if got := overlay(jsontext.Value(c.base), jsontext.Value(c.top)); string(got) != c.want {
				t.Fatalf("overlay(%s, %s) = %s, want %s", c.base, c.top, got, c.want)
			}
		}
	}
}

// TestEntriesDoNotShareRoom: appending to a list twice gives two lists, even
// where the first has room to spare.
func TestEntriesDoNotShareRoom(t *testing.T) {
	list := make([]string, 1, 8)
	one, two := appended(list, "one"), appended(list, "two")
	if one[1] != "one" || two[1] != "two" {
		t.Errorf("lists %q and %q share their end", one, two)
	}
}
