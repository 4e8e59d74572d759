package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestRedact(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing secret", `{"a":1,"b":[true,null,"x"],"c":{"d":1e400}}`, `{"a":1,"b":[true,null,"x"],"c":{"d":1e400}}`},
		{"big number", `{"id":9007199254740993}`, `{"id":9007199254740993}`},
		{"token", `{"params":{"token":"S"}}`, `{"params":{"token":"[redacted]"}}`},
		{"other spellings", `{"accessToken":"S","access_token":"S","API-Key":"S","clientSecret":"S","Password":"S","tkn":"S"}`,
			`{"accessToken":"[redacted]","access_token":"[redacted]","API-Key":"[redacted]","clientSecret":"[redacted]","Password":"[redacted]","tkn":"[redacted]"}`},
		{"whole values", `{"secret":{"a":["S",{"b":"S"}]},"token":["S"],"cookie":null,"credentials":7,"z":1}`,
			`{"secret":"[redacted]","token":"[redacted]","cookie":"[redacted]","credentials":"[redacted]","z":1}`},
		{"counts of tokens", `{"inputTokens":12,"maxOutputTokens":3}`, `{"inputTokens":12,"maxOutputTokens":3}`},
		{"header", `[{"name":"Authorization","value":"S"},{"name":"Accept","value":"v"}]`, `[{"name":"Authorization","value":"[redacted]"},{"name":"Accept","value":"v"}]`},
		{"value before its name", `[{"value":"S","name":"API_TOKEN"},{"value":"v","name":"PATH"}]`, `[{"value":"[redacted]","name":"API_TOKEN"},{"value":"v","name":"PATH"}]`},
		{"pair behind a secret object", `[{"secret":{"x":{}}},{"name":"cookie","value":"S"},{"name":"n","value":"v"}]`, `[{"secret":"[redacted]"},{"name":"cookie","value":"[redacted]"},{"name":"n","value":"v"}]`},
		{"pair inside a pair", `{"name":"cookie","value":{"name":"n","value":"S"},"after":{"value":"v"}}`, `{"name":"cookie","value":"[redacted]","after":{"value":"v"}}`},
		{"a name that is no text", `{"name":{"name":"cookie","value":"S"},"value":"v"}`, `{"name":{"name":"cookie","value":"[redacted]"},"value":"v"}`},
		{"URL", `{"u":"ws://h/?tkn=S&x=1","v":"see http://h/?a=b&token=S#c"}`, `{"u":"ws://h/?tkn=[redacted]&x=1","v":"see http://h/?a=b&token=[redacted]#c"}`},
		{"bearer", `["Bearer S", "authorization: bearer S"]`, `["Bearer [redacted]","authorization: bearer [redacted]"]`},
		{"duplicate names", `{"token":"S","token":"S"}`, `{"token":"[redacted]","token":"[redacted]"}`},
		{"escaped name", `{"t\u006fken":"S"}`, `{"token":"[redacted]"}`},
		{"text alone", `"?tkn=S"`, `"?tkn=[redacted]"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := redact([]byte(tt.in))
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
	for _, in := range []string{"{", `{"token":`, `{"token":"S"`, "\x00", "", " ", `{} {"token":"S"}`, "1\n2", strings.Repeat("[", 20_000)} {
		if got, err := redact([]byte(in)); err == nil {
			t.Errorf("%.20q became %.40q", in, got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte(`{"a":[{"name":"cookie","value":1}],"token":{"x":[]}}`))
	f.Add([]byte(`{"value":"\ud800","name":"secret"}`))
	f.Add([]byte(`[[[]],{},{"":{"name":""}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := redact(data)
		if err != nil {
			return
		}
		if !got.IsValid(jsontext.AllowDuplicateNames(true)) || bytes.ContainsRune(got, '\n') {
			t.Errorf("%q became %q, which is not one line of JSON", data, got)
		}
		again, err := redact(got)
		if err != nil || string(again) != string(got) {
			t.Errorf("redacting twice: %q, then %q, %v", got, again, err)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	msg := []byte(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/1","serverSeq":123456,"action":{"type":"chat/delta","turnId":"t1","partId":"p1","content":"` + strings.Repeat("some words ", 10) + `"},"token":"S"}}`)
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := redact(msg); err != nil {
			b.Fatal(err)
		}
	}
}
