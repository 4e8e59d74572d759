package jsonrpc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func nest(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestScanAccepts(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       Message
	}{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"x"}}`,
			Message{Kind: KindRequest, ID: NumberID(1), Method: "ping", Params: jsontext.Value(`{"channel":"x"}`)}},
		{"any order and space", " {\n\t\"params\" : [ 1 , 2 ] , \"method\":\"m\",\"id\":\"a\", \"jsonrpc\" : \"2.0\"\r}\n",
			Message{Kind: KindRequest, ID: mustID(t, `"a"`), Method: "m", Params: jsontext.Value(`[ 1 , 2 ]`)}},
		{"notification", `{"jsonrpc":"2.0","method":"n"}`, Message{Kind: KindNotification, Method: "n"}},
		{"escaped names and values", `{"json\u0072pc":"2\u002e0","m\u0065thod":"a\/b"}`,
			Message{Kind: KindNotification, Method: "a/b"}},
		{"unknown members, even twice", `{"jsonrpc":"2.0","x":1,"x":[{}],"method":"n"}`, Message{Kind: KindNotification, Method: "n"}},
		{"result", `{"jsonrpc":"2.0","id":0,"result":null}`, Message{Kind: KindResponse, ID: NumberID(0), Result: jsontext.Value("null")}},
		{"error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no\n","data":[1]}}`,
			Message{Kind: KindResponse, ID: NumberID(1), Error: &Error{Code: -32601, Message: "no\n", Data: jsontext.Value("[1]")}}},
		{"error answering nothing", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`,
			Message{Kind: KindResponse, Error: &Error{Code: 1}}},
		{"lone surrogate", `{"jsonrpc":"2.0","method":"n","params":{"t":"\ud800 \udc00\ud800"}}`,
			Message{Kind: KindNotification, Method: "n", Params: jsontext.Value(`{"t":"\ud800 \udc00\ud800"}`)}},
		{"duplicate names further in", `{"jsonrpc":"2.0","method":"n","params":{"a":1,"a":2}}`,
			Message{Kind: KindNotification, Method: "n", Params: jsontext.Value(`{"a":1,"a":2}`)}},
		{"deepest", `{"jsonrpc":"2.0","method":"n","params":` + nest(MaxDepth-1) + `}`,
			Message{Kind: KindNotification, Method: "n", Params: jsontext.Value(nest(MaxDepth - 1))}},
		{"long method", `{"jsonrpc":"2.0","method":"` + strings.Repeat("m", 100) + `"}`,
			Message{Kind: KindNotification, Method: strings.Repeat("m", 100)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Scan([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, test.want, messageDiff); diff != "" {
				t.Errorf("got (-) and want (+) differ:\n%s", diff)
			}
		})
	}
}

var messageDiff = cmp.Options{cmp.Comparer(func(a, b ID) bool { return a == b }), cmpopts.IgnoreUnexported(Error{}), cmpopts.IgnoreFields(Message{}, "Last")}

// malformedFrames is the table of error codes; the connection's tests use it too.
var malformedFrames = []struct {
	name, text string
	code       int64
	id         string // of the answer
}{
	{"empty", ``, CodeParse, `null`},
	{"space", "  \n", CodeParse, `null`},
	{"word", `hello`, CodeParse, `null`},
	{"byte order mark", "\ufeff{}", CodeParse, `null`},
	{"cut off", `{"jsonrpc":"2.0","id":1,"method":"m"`, CodeParse, `null`},
	{"two messages", `{"jsonrpc":"2.0","method":"m"}{}`, CodeParse, `null`},
	{"trailing comma", `{"jsonrpc":"2.0","method":"m",}`, CodeParse, `null`},
	{"broken UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"\xc3\x28\"}", CodeParse, `null`},
	{"surrogate in UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"\xed\xa0\x80\"}", CodeParse, `null`},
	{"raw control character", "{\"jsonrpc\":\"2.0\",\"method\":\"a\x01\"}", CodeParse, `null`},
	{"bad escape", `{"jsonrpc":"2.0","method":"\x41"}`, CodeParse, `null`},
	{"bad number", `{"jsonrpc":"2.0","id":01,"method":"m"}`, CodeParse, `null`},
	{"broken batch", `[{"jsonrpc":"2.0"`, CodeParse, `null`},
	{"empty batch", `[]`, CodeInvalidRequest, `null`},
	{"batch", `[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","method":"n"}]`, CodeInvalidRequest, `null`},
	{"string", `"m"`, CodeInvalidRequest, `null`},
	{"null", `null`, CodeInvalidRequest, `null`},
	{"empty object", `{}`, CodeInvalidRequest, `null`},
	{"no version", `{"id":"a","method":"m"}`, CodeInvalidRequest, `"a"`},
	{"version 1.0", `{"jsonrpc":"1.0","id":2,"method":"m"}`, CodeInvalidRequest, `2`},
	{"version as a number", `{"jsonrpc":2.0,"id":3,"method":"m"}`, CodeInvalidRequest, `3`},
	{"method not a string", `{"jsonrpc":"2.0","id":4,"method":1}`, CodeInvalidRequest, `4`},
	{"method null", `{"jsonrpc":"2.0","method":null}`, CodeInvalidRequest, `null`},
	{"params a string", `{"jsonrpc":"2.0","id":5,"method":"m","params":"x"}`, CodeInvalidRequest, `5`},
	{"params null", `{"jsonrpc":"2.0","id":6,"method":"m","params":null}`, CodeInvalidRequest, `6`},
	{"id null", `{"jsonrpc":"2.0","id":null,"method":"m"}`, CodeInvalidRequest, `null`},
	{"id a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, CodeInvalidRequest, `null`},
	{"id with an exponent", `{"jsonrpc":"2.0","id":1e20,"method":"m"}`, CodeInvalidRequest, `null`},
	{"id an object", `{"jsonrpc":"2.0","id":{},"method":"m"}`, CodeInvalidRequest, `null`},
	{"id twice", `{"jsonrpc":"2.0","id":1,"method":"m","id":2}`, CodeInvalidRequest, `null`},
	{"method twice, once escaped", `{"jsonrpc":"2.0","method":"m","\u006dethod":"n"}`, CodeInvalidRequest, `null`},
	{"request and response", `{"jsonrpc":"2.0","id":7,"method":"m","result":1}`, CodeInvalidRequest, `7`},
	{"result and error", `{"jsonrpc":"2.0","id":8,"result":1,"error":{"code":1,"message":""}}`, CodeInvalidRequest, `null`},
	{"neither", `{"jsonrpc":"2.0","id":9}`, CodeInvalidRequest, `null`},
	{"result without id", `{"jsonrpc":"2.0","result":1}`, CodeInvalidRequest, `null`},
	{"error a string", `{"jsonrpc":"2.0","id":1,"error":"x"}`, CodeInvalidRequest, `null`},
	{"error without code", `{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`, CodeInvalidRequest, `null`},
	{"error code a fraction", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}`, CodeInvalidRequest, `null`},
	{"error without message", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, CodeInvalidRequest, `null`},
	{"nested batch", `[[{}]]`, CodeInvalidRequest, `null`},
}

func TestScanRefuses(t *testing.T) {
	for _, test := range malformedFrames {
		t.Run(test.name, func(t *testing.T) {
			m, err := Scan([]byte(test.text))
			var wire *Error
			if !errors.As(err, &wire) || wire.Code != test.code {
				t.Fatalf("error %v, want code %d", err, test.code)
			}
			if errors.Is(err, ErrTooComplex) {
				t.Error("counts as too complex")
			}
			if m.Kind == KindRequest && m.ID.String() != test.id {
				t.Errorf("id %v, want %s", m.ID, test.id)
			}
			if m.Method != "" || m.Params != nil || m.Result != nil || m.Error != nil {
				t.Errorf("a refused message has content: %+v", m)
			}
		})
	}
}

func TestScanBounds(t *testing.T) {
	object := func(params string) string { return `{"jsonrpc":"2.0","method":"n","params":` + params + `}` }
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("0,", n), ",") + "]" }
	for _, test := range []struct {
		name, text string
		want       error
	}{
		{"depth above", object(nest(MaxDepth)), ErrTooComplex},
		{"depth above, objects", object(strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth)), ErrTooComplex},
		{"depth above in a batch", nest(MaxDepth + 1), ErrTooComplex},
		{"depth far above and cut off", strings.Repeat("[", 1_000_000), ErrTooComplex},
		{"values at the bound", object(list(MaxValues - 4)), nil},
		{"values above", object(list(MaxValues - 3)), ErrTooComplex},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Scan([]byte(test.text)); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

// Every fragment stands as an array, as a member's value and alone.
func TestScanAgreesWithJSONText(t *testing.T) {
	for _, fragment := range []string{
		`true`, `tru`, `truex`, `false`, `fals`, `null`, `nul`, `NULL`,
		`0`, `-0`, `-`, `+1`, `01`, `1.`, `.5`, `1.5`, `1e`, `1e+`, `1E-2`, `1.0e10`, `-12.5E+3x`, `0x1`, `1 2`,
		`{}`, `{ }`, `{"a":1}`, `{"a":1,}`, `{"a"}`, `{"a" 1}`, `{"a":}`, `{a:1}`, `{1:1}`, `{"a":1 "b":2}`, `{"a":1]`, `{`, `{"a":1`,
		`[]`, `[ ]`, `[1,]`, `[,1]`, `[1 2]`, `[1}`, `[`, `[1`, `[[],[{}]]`, ``, ` `, `,`, `:`, `]`,
		`"`, `"a`, `"\"`, `"\u12"`, `"\u12G4"`, `"\u00e9"`, `"\q"`, `"\`, "\"\t\"", "\"\x7f\"", "\"é€😀\"", "\"\xc0\x80\"", "\"\xf4\x90\x80\x80\"",
		`"0123456789012345678901234567890123456789012345678901234567890123456789\n"`,
		"\"0123456789012345678901234567890123456789012345678901234567890123456789\x1f\"",
	} {
		for _, format := range []string{`%s`, `[%s]`, `{"x":%s}`, `{"x":{"y":[0,%s]}}`} {
			text := fmt.Appendf(nil, format, fragment)
			_, err := Scan(text)
			if got, want := !errors.Is(err, ErrParse), isJSON(text); got != want {
				t.Errorf("Scan takes %q for JSON: %v, jsontext: %v", text, got, want)
			}
		}
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	for _, text := range []string{smallMessage, `{"jsonrpc":"2.0","id":12,"result":{"a":[1,2,3]}}`} {
		Scan([]byte(text)) // meets the method for the first time
		data := []byte(text)
		if got := testing.AllocsPerRun(100, func() { Scan(data) }); got != 0 {
			t.Errorf("%v allocations for %s", got, text)
		}
	}
}

// FuzzScan holds the scanner against jsontext.
func FuzzScan(f *testing.F) {
	for _, frame := range malformedFrames {
		f.Add([]byte(frame.text))
	}
	for _, text := range []string{
		smallMessage,
		`{"jsonrpc":"2.0","id":"\ud800","error":{"code":-1,"message":"\u00e9","data":{"a\u0062":-0.5e+10}}}`,
		`{"jsonrpc":"2.0","method":"n","params":{"":[],"é":{},"\"":"\\","t":[true,false,null,1E-2]}}`,
		"[\"0123456\x7f\",\"01234567\\\"\",\"\u20ac\U0001f600\"]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Scan(data)
		if errors.Is(err, ErrTooComplex) {
			return
		}
		want := isJSON(data)
		if got := !errors.Is(err, ErrParse); got != want {
			t.Fatalf("Scan takes %q for JSON: %v, jsontext: %v", data, got, want)
		}
		if err == nil {
			checkAgainstDecoder(t, data, m)
		}
		if want {
			checkMembers(t, data)
			checkMembers(t, m.Params)
		}
	})
}

// isJSON reports what Scan should: jsontext's leniency about surrogates comes
// with one about UTF-8, which the second test takes back.
func isJSON(data []byte) bool {
	lenient := jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return lenient && utf8.Valid(data)
}

// checkAgainstDecoder compares a scanned message with a full decode.
func checkAgainstDecoder(t *testing.T, data []byte, m Message) {
	t.Helper()
	var want struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Method  string         `json:"method"`
		Params  jsontext.Value `json:"params"`
		Result  jsontext.Value `json:"result"`
		Error   *Error         `json:"error"`
	}
	if err := json.Unmarshal(data, &want, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		t.Fatalf("accepted %q, which does not decode: %v", data, err)
	}
	got := fmt.Sprintf("%s %q %q %v", m.Method, m.Params, m.Result, m.ID.String() == "null")
	if w := fmt.Sprintf("%s %q %q %v", want.Method, want.Params, want.Result, want.ID == nil || string(want.ID) == "null"); got != w {
		t.Fatalf("scanned %q as %s, want %s", data, got, w)
	}
	if (m.Error == nil) != (want.Error == nil) || m.Error != nil && (m.Error.Code != want.Error.Code || m.Error.Message != want.Error.Message) {
		t.Fatalf("scanned %q with error %v, want %v", data, m.Error, want.Error)
	}
}

// checkMembers compares EachMember and Member with a full decode.
func checkMembers(t *testing.T, text jsontext.Value) {
	t.Helper()
	var want map[string]jsontext.Value
	err := json.Unmarshal(text, &want, jsontext.AllowInvalidUTF8(true))
	if err != nil || want == nil {
		return // no object, or names that repeat
	}
	got := map[string]jsontext.Value{}
	EachMember(text, func(name []byte, value jsontext.Value) bool {
		got[string(name)] = value
		return true
	})
	if diff := cmp.Diff(got, want); diff != "" {
		t.Fatalf("members of %q, got (-) and want (+):\n%s", text, diff)
	}
	for name, value := range want {
		if found, ok := Member(text, name); !ok || string(found) != string(value) {
			t.Fatalf("Member(%q, %q) = %q, %v, want %q", text, name, found, ok, value)
		}
	}
}
