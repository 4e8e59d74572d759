package mcp

import (
	"testing"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

func TestSplice(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"set", string(withMember(raw(`{"a":1,"b":{"c":[1,2]}}`), "b", raw(`2`))), `{"a":1,"b":2}`},
		{"set at the end", string(withMember(raw(` { "a" : 1.0e0 } `), "b", raw(`2`))), `{"a":1.0e0,"b":2}`},
		{"set in nothing", string(withMember(nil, "b", raw(`2`))), `{"b":2}`},
		{"set in what is no object", string(withMember(raw(`7`), "b", raw(`2`))), `{"b":2}`},
		{"set where it stands twice", string(withMember(raw(`{"a":1,"a":2}`), "a", raw(`3`))), `{"a":3}`},
		{"set by an escaped name", string(withMember(raw(`{"\u0061":1}`), "a", raw(`3`))), `{"a":3}`},
		{"take out", string(withoutMember(raw(`{"a":1,"b":2,"c":3}`), "b")), `{"a":1,"c":3}`},
		{"take out the last", string(withoutMember(raw(`{"b":2}`), "b")), `{}`},
		{"take out what is not there", string(withoutMember(raw(`{ "a":1 }`), "b")), `{ "a":1 }`},
		{"deep", string(withMemberAt(raw(`{"a":{"x":1}}`), raw(`2`), "a", "b", "c")), `{"a":{"x":1,"b":{"c":2}}}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
		}
	}
}

// FuzzSplice: a changed object is valid, has the member, and has every other value
// byte for byte and in its place.
func FuzzSplice(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":"123","method":"tools/call","params":{"name":"x","arguments":{"n":1e400,"s":"\ud800"}}}`,
		`{}`, `{"a":[],"\u0061":null}`, `{"":{}}`, "{\"a\" :\t1 ,\r\n\"b\":[ 1 ]}",
	} {
		f.Add(seed, "a")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		if !validObject(text) {
			return
		}
		set := withMember(raw(text), name, raw(`{"new":true}`))
		if !validObject(string(set)) {
			t.Fatalf("%q became %q", text, set)
		}
		key := string(mustUnquote(quote(name)))
		if v := memberAt(set, key); string(v) != `{"new":true}` {
			t.Fatalf("%q: member %q is %q", text, name, v)
		}
		gone := withoutMember(set, key)
		want := others(raw(text), key)
		if got := others(gone, key); !equalMembers(got, want) || memberAt(gone, key) != nil {
			t.Fatalf("%q without %q: %v, want %v", text, key, got, want)
		}
	})
}

func validObject(text string) bool {
	_, err := jsonrpc.Scan([]byte(`{"jsonrpc":"2.0","method":"m","params":` + text + `}`))
	return err == nil && raw(text).Kind() == '{'
}

func mustUnquote(v jsontext.Value) []byte {
	text, _ := jsonrpc.StringBytes(v)
	return text
}

func others(obj jsontext.Value, but string) (list [][2]string) {
	jsonrpc.EachMember(obj, func(name []byte, v jsontext.Value) bool {
		if n := string(mustUnquote(quote(name))); n != but {
			list = append(list, [2]string{n, string(v)})
		}
		return true
	})
	return list
}

func equalMembers(a, b [][2]string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
