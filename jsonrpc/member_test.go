package jsonrpc

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestMember(t *testing.T) {
	obj := jsontext.Value(" { \"a\" : 1 ,\"b\":\"x,}\\\"]\" , \"c\":{\"a\":[2,{\"z\":\"}\"}]},\"d\\u0065\":null,\"\":true,\"a\":9}")
	for name, want := range map[string]string{
		"a": `1`, "b": `"x,}\"]"`, "c": `{"a":[2,{"z":"}"}]}`, "de": `null`, "": `true`,
	} {
		if got, ok := Member(obj, name); !ok || string(got) != want {
			t.Errorf("Member %q = %s, %v, want %s", name, got, ok, want)
		}
	}
	for _, name := range []string{"z", "d", `d\u0065`, "A"} {
		if got, ok := Member(obj, name); ok {
			t.Errorf("Member %q = %s, want none", name, got)
		}
	}
	for _, text := range []string{``, ` `, `[]`, `1`, `"a"`, `{}`, `null`} {
		if got, ok := Member(jsontext.Value(text), "a"); ok {
			t.Errorf("Member of %s = %s, want none", text, got)
		}
	}
}

func TestEachMemberStops(t *testing.T) {
	seen := ""
	EachMember(jsontext.Value(`{"a":1,"b":2,"c":3}`), func(name []byte, value jsontext.Value) bool {
		seen += string(name) + string(value)
		return string(name) != "b"
	})
	if seen != "a1b2" {
		t.Errorf("saw %s, want a1b2", seen)
	}
}

// Text that was never validated may yield nonsense, but no panic and no end.
func TestMemberOfGarbage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.SampledFrom([]byte("{}[]\":,\\u0d8 x1\xff"))
		text := jsontext.Value(rapid.SliceOfN(alphabet, 0, 40).Draw(t, "text"))
		for _, text := range []jsontext.Value{text, append(jsontext.Value(`{"a":`), text...)} {
			Member(text, "b")
			EachMember(text, func([]byte, jsontext.Value) bool { return true })
			StringValue(text)
		}
	})
}

func TestStringValue(t *testing.T) {
	for raw, want := range map[string]string{
		`""`: "", `"abc"`: "abc", `"a\"b\\\/\b\f\n\r\t"`: "a\"b\\/\b\f\n\r\t",
		`"\u00e9\u20AC"`: "é€", `"\ud83d\ude00!"`: "😀!",
		`"\ud83d"`: "\ufffd", `"\ud83dx\ude00"`: "\ufffdx\ufffd", `"\ud83d\ud83d\ude00"`: "\ufffd😀",
	} {
		if got, ok := StringValue(jsontext.Value(raw)); !ok || got != want {
			t.Errorf("StringValue(%s) = %q, %v, want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{``, `"`, `1`, `null`, `{}`, `["a"]`} {
		if got, ok := StringValue(jsontext.Value(raw)); ok {
			t.Errorf("StringValue(%s) = %q, want none", raw, got)
		}
	}
}

// Any text survives quoting and unquoting; broken UTF-8 becomes U+FFFD, as
// jsontext makes it.
func TestQuotedRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		quoted := jsontext.Value(appendQuoted(nil, text))
		if !quoted.IsValid() {
			t.Fatalf("%q quoted as %s is not valid", text, quoted)
		}
		if got, ok := StringValue(quoted); !ok || got != text {
			t.Fatalf("%q came back as %q, %v", text, got, ok)
		}
	})
	if got := string(appendQuoted(nil, "a\xffb\xed\xa0\x80\xed")); got != "\"a\ufffdb\\ud800\ufffd\"" {
		t.Errorf("broken text quoted as %s", got)
	}
}
