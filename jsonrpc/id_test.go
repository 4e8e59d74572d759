package jsonrpc

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestParseIDEchoesVerbatim(t *testing.T) {
	for _, raw := range []string{
		`0`, `7`, `-1`, `-0`, `2147483647`, `2147483648`, `4294967296`,
		`9007199254740992`, `9007199254740993`, `9223372036854775807`, `9223372036854775808`,
		`18446744073709551615`, `18446744073709551616`, `123456789012345678901234567890`,
		`""`, `"abc"`, `"7"`, `"1"`, `"01"`, `"1e3"`, `"true"`, `"null"`, `"é\n\"\\"`,
		`"\ud800"`, `"\udfff x"`, `"\u0000"`, `"😀"`,
	} {
		id, err := ParseID([]byte(raw))
		if err != nil {
			t.Errorf("ParseID(%s): %v", raw, err)
			continue
		}
		if got := id.String(); got != raw {
			t.Errorf("ParseID(%s) is spelled %s", raw, got)
		}
		if id.IsZero() {
			t.Errorf("ParseID(%s) is absent", raw)
		}
	}
}

func TestParseIDRefuses(t *testing.T) {
	for _, raw := range []string{
		``, ` `, `null`, `true`, `{}`, `[]`, `1.5`, `3.14`, `0.0`, `1e20`, `1E2`, `01`, `-`, `+1`, `- 1`, `1 `, ` 1`, `0x1`,
		`"`, `"a`, `"a"b`, `"\x"`, `"\ud80"`, "\"\xff\"", "\"\n\"", `1,`,
		`"` + strings.Repeat("a", MaxIDBytes) + `"`, strings.Repeat("1", MaxIDBytes+1),
	} {
		if id, err := ParseID([]byte(raw)); !errors.Is(err, ErrInvalidRequest) {
			t.Errorf("ParseID(%.40q) = %v, %v, want an invalid request", raw, id, err)
		}
	}
}

func TestIDEquality(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{`"1"`, `"\u0031"`, true},
		{`"\/"`, `"/"`, true},
		{`"\ud83d\ude00"`, `"😀"`, true},
		{`"\uD800"`, `"\ud800"`, true},
		{`1`, `"1"`, false},
		{`"1"`, `"01"`, false},
		{`9007199254740992`, `9007199254740993`, false},
		{`18446744073709551616`, `18446744073709551617`, false},
		{`18446744073709551616`, `"18446744073709551616"`, false},
		{`-1`, `1`, false},
		{`"\ud800"`, `"\ud801"`, false},
		{`"\ud800"`, `"\ufffd"`, false},
		{`""`, `0`, false},
	} {
		a, b := mustID(t, test.a), mustID(t, test.b)
		if got := map[ID]bool{a: true}[b]; got != test.same {
			t.Errorf("%s and %s are one key: %v, want %v", test.a, test.b, got, test.same)
		}
	}
}

func TestIDLooseNumber(t *testing.T) {
	for raw, want := range map[string]uint64{`5`: 5, `"5"`: 5, `0`: 0, `"0"`: 0} {
		if got, ok := mustID(t, raw).looseNumber(); !ok || got != want {
			t.Errorf("looseNumber of %s = %d, %v, want %d", raw, got, ok, want)
		}
	}
	for _, raw := range []string{`"05"`, `"00"`, `""`, `" 5"`, `-5`, `"-5"`, `"18446744073709551616"`, `"x"`} {
		if got, ok := mustID(t, raw).looseNumber(); ok {
			t.Errorf("looseNumber of %s = %d, want none", raw, got)
		}
	}
}

func TestIDMarshals(t *testing.T) {
	type params struct {
		ID   ID  `json:"id"`
		Also *ID `json:"also,omitzero"`
	}
	for _, text := range []string{`{"id":7}`, `{"id":"a\"b"}`, `{"id":-18446744073709551616}`, `{"id":1,"also":"1"}`} {
		var p params
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Errorf("unmarshal %s: %v", text, err)
			continue
		}
		if got, err := json.Marshal(p); err != nil || string(got) != text {
			t.Errorf("round trip of %s = %s, %v", text, got, err)
		}
	}
	if got, err := json.Marshal(params{}); err != nil || string(got) != `{"id":null}` {
		t.Errorf("absent id marshals to %s, %v", got, err)
	}
	var p params
	if err := json.Unmarshal([]byte(`{"id":1.5}`), &p); !errors.Is(err, ErrInvalidRequest) {
		t.Errorf("unmarshal of a fraction: %v, want an invalid request", err)
	}
}

func FuzzID(f *testing.F) {
	for _, seed := range []string{`1`, `"1"`, `"\u0031"`, `-0`, `1e3`, `18446744073709551616`, `"\ud83d\ude00"`, `"\udead\ud800"`, `null`, `"` + "\x7f"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		id, err := ParseID(raw)
		if err != nil {
			if !id.IsZero() {
				t.Fatalf("refused %q but returned %v", raw, id)
			}
			return
		}
		if !jsontext.Value(raw).IsValid(jsontext.AllowInvalidUTF8(true)) {
			t.Fatalf("accepted %q, which is not JSON", raw)
		}
		echo := id.AppendTo(nil)
		if (raw[0] == '"') != (echo[0] == '"') {
			t.Fatalf("%q changed its type to %s", raw, echo)
		}
		if raw[0] != '"' && string(raw) != string(echo) {
			t.Fatalf("%q came back as %s", raw, echo)
		}
		again, err := ParseID(echo)
		if len(echo) <= MaxIDBytes && (err != nil || again != id) {
			t.Fatalf("%q, echoed as %s, reads as %v, %v", raw, echo, again, err)
		}
	})
}

func mustID(t *testing.T, raw string) ID {
	t.Helper()
	id, err := ParseID([]byte(raw))
	if err != nil {
		t.Fatalf("ParseID(%s): %v", raw, err)
	}
	return id
}
