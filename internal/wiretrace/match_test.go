package wiretrace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// TestMatch checks single comparisons. Before each, n is bound to 5, s to
// "chat-1234" and u to a uuid.
func TestMatch(t *testing.T) {
	const id = "123e4567-e89b-12d3-a456-426614174000"
	tests := []struct{ want, got, problem string }{
		{`{"a":1,"b":2}`, `{"b":2, "a":1}`, ""},
		{`{"a":null}`, `{}`, "at /a: member missing, want null"},
		{`{}`, `{"a":null}`, "at /a: unexpected member null"},
		{`{"a":{"b/~c":[1,2]}}`, `{"a":{"b/~c":[1,3]}}`, "at /a/b~1~0c/1: got 3, want 2"},
		{`[1]`, `[1,2]`, "at /: got 2 items, want 1"},
		{`1`, `1.0`, ""},
		{`100`, `1e2`, ""},
		{`9007199254740993`, `9007199254740992`, "got 9007199254740992"},
		{`1e999999999`, `1e999999998`, "got 1e999999998"},
		{`0.1`, `"0.1"`, `got "0.1", want 0.1`},
		{`true`, `false`, "got false, want true"},
		{`"a"`, `"\u0061"`, ""},
		{`"$x"`, `"\ud800"`, ""}, // a lone surrogate
		{`"a"`, `1`, `got 1, want a string like "a"`},
		{`"a.c"`, `"abc"`, "want text like"},

		{`"$n"`, `5.0`, ""},
		{`"$n"`, `6`, `got 6, want 5 as "n"`},
		{`"$n"`, `"5"`, `got "5", want 5 as "n"`},
		{`"${n+3}"`, `8`, ""},
		{`"${n+3}"`, `9`, "got 9, want 8"},
		{`"${s+3}"`, `9`, "not an integer"},
		{`"${new+1}"`, `9`, "has no value to add to"},
		{`"$any"`, `{"x":[]}`, ""},
		{`["$any","$any"]`, `[1,2]`, ""},
		{`["$x","$x"]`, `[[1],[1.0]]`, ""},
		{`["$x","$x"]`, `[{"a":[1],"b":2},{"b":2,"a":[1]}]`, ""},
		{`["$x","$x"]`, `[{"a":[1],"b":2},{"b":2,"a":[2]}]`, `as "x"`},
		{`["$x","$x"]`, `[{"a":1},{"b":1}]`, `as "x"`},
		{`["$x","$x"]`, `[1,2]`, `at /1: got 2, want 1 as "x"`},
		{`["${x:number}"]`, `["1"]`, "want kind number"},
		{`"${x:string}"`, `1`, "want kind string"},
		{`"${x:bool}"`, `true`, ""},
		{`"${x:bool}"`, `null`, "want kind bool"},
		{`"${x:object}"`, `{}`, ""},
		{`"${x:array}"`, `{}`, "want kind array"},
		{`"${x:uuid}"`, `"` + id + `"`, ""},
		{`"${x:uuid}"`, `"` + strings.ToUpper(id) + `"`, "want kind uuid"},
		{`"${x:time}"`, `"2026-01-02T03:04:05.678Z"`, ""},
		{`"${x:time}"`, `"yesterday"`, "want kind time"},
		{`"${any:time}"`, `"yesterday"`, "want kind time"},

		{`"ahp-chat:/$s"`, `"ahp-chat:/chat-1234"`, ""},
		{`"ahp-chat:/$s"`, `"ahp-chat:/chat-1235"`, "want text like"},
		{`["ahp-chat:/$c","$c"]`, `["ahp-chat:/x","x"]`, ""},
		{`["ahp-chat:/$c","$c"]`, `["ahp-chat:/x","y"]`, `as "c"`},
		{`"$a-$b-$a"`, `"1-2-1"`, ""},
		{`"$a-$b-$a"`, `"1-2-3"`, `as "a"`},
		{`"${a}s"`, `"cats"`, ""},
		{`"/${a:uuid}/"`, `"/` + id + `/"`, ""},
		{`"/${a:uuid}/"`, `"/x/"`, "want text like"},
		{`["turn ${a:number}","$a"]`, `["turn 7",7]`, ""},
		{`"at ${a:time}."`, `"at 2026-01-02T03:04:05Z."`, ""},
		{`"x ${a:object}"`, `"x {}"`, `kind "object" inside a string`},
		{`"x $a"`, `"x "`, "want text like"},
		{`"x $any y"`, `"x \n\n y"`, ""},
		{`"turn ${n+1}"`, `"turn 6"`, ""},
		{`"turn ${s+1}"`, `"turn 6"`, "not an integer"},
		{`"$$n $/n $"`, `"$n $/n $"`, ""},
		{`"${"`, `"x"`, "malformed"},

		{`{"$s":1}`, `{"chat-1234":1}`, ""},
		{`{"$s":1}`, `{"chat-1235":1}`, "member missing"},
		{`{"x":1,"$k":2}`, `{"y":2,"x":1}`, ""},
		{`{"$j":1,"$k":2}`, `{"y":2,"x":1}`, ""},
		{`{"$j":1,"$j":2}`, `{"y":2,"x":1}`, "duplicate"},
		{`{"$k":"$k"}`, `{"a":"b","c":"c"}`, "unexpected member"},
		{`[{"$k":1},"$k"]`, `[{"z":1},"z"]`, ""},
		{`[{"$k":1},"$k"]`, `[{"z":1},"y"]`, `as "k"`},
		{`{"$k":1}`, `{"z":2}`, "member missing"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.want, " ", test.got), func(t *testing.T) {
			b := bindings{"n": {kind: jsontext.KindNumber, text: "5"}, "s": text("chat-1234"), "u": text(id)}
			wantError(t, b.matchTexts(test.want, test.got), test.problem)
		})
	}
}

func text(s string) value { return value{kind: jsontext.KindString, text: s} }

func (b *bindings) matchTexts(want, got string) error {
	v, err := parseValue([]byte(want))
	if err != nil {
		return err
	}
	return b.matchText(line{value: v}, []byte(got))
}

// TestExpand checks what is sent in place of placeholders.
func TestExpand(t *testing.T) {
	b := bindings{"n": {kind: jsontext.KindNumber, text: "5"}, "s": text(`a"b`)}
	tests := []struct{ in, json, plain string }{
		{`"$n"`, `5`, `"5"`},
		{`["$n","${n+1}","$s"]`, `[5,6,"a\"b"]`, `["5","6","a"b"]`},
		{`"x $n $s"`, `"x 5 a\"b"`, `"x 5 a"b"`},
		{`$n`, `5`, `5`},
		{`"\"$n"`, `"\"5"`, `"\"5"`},
		{`{"$s":1}`, `{"a\"b":1}`, `{"a"b":1}`},
		{`$$n $/ {`, `$n $/ {`, `$n $/ {`},
	}
	for _, test := range tests {
		t.Run(test.in, func(t *testing.T) {
			if got, err := b.expandJSON(test.in); got != test.json || err != nil {
				t.Errorf("as JSON %q, %v; want %q", got, err, test.json)
			}
			if got, err := b.expand(test.in); got != test.plain || err != nil {
				t.Errorf("as text %q, %v; want %q", got, err, test.plain)
			}
		})
	}
}

// drawText makes strings that are rich in what placeholders are made of.
func drawText(t *rapid.T) string {
	return rapid.StringOf(rapid.RuneFrom([]rune(`$${}ab_/:+1" é`))).Draw(t, "text")
}

func drawValue(t *rapid.T, depth int) value {
	kinds := []jsontext.Kind{jsontext.KindNull, jsontext.KindNumber, jsontext.KindString, jsontext.KindBeginArray, jsontext.KindBeginObject}
	if depth == 0 {
		kinds = kinds[:3]
	}
	v := value{kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	switch v.kind {
	case jsontext.KindNull:
		v.text = "null"
	case jsontext.KindNumber:
		v.text = fmt.Sprint(rapid.Int().Draw(t, "number"))
	case jsontext.KindString:
		v.text = drawText(t)
	case jsontext.KindBeginArray:
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			v.items = append(v.items, drawValue(t, depth-1))
		}
	default:
		for i := range rapid.IntRange(0, 3).Draw(t, "members") {
			v.members = append(v.members, member{fmt.Sprint(i, drawText(t)), drawValue(t, depth-1)})
		}
	}
	return v
}

// TestNamesAreFaithful checks that a value written as an expectation, with
// names in it, matches that value, binds nothing new, and survives the file.
func TestNamesAreFaithful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := bindings{}
		for _, name := range []string{"a", "b"} {
			if s := drawText(t); s != "" {
				b[name] = text(s + "12345678"[:rapid.IntRange(0, 8).Draw(t, "length")])
			}
		}
		got := drawValue(t, 3)
		if a, ok := b["a"]; ok { // make sure that there is something to name
			got = value{kind: jsontext.KindBeginArray, items: []value{got, a, text("$" + a.text + a.text + "x")}}
		}
		named := b.name(got)
		read, err := parseValue([]byte(named.String()))
		if err != nil {
			t.Fatal(err)
		}
		before := len(b)
		if err := b.match(read, got); err != nil || len(b) != before {
			t.Fatalf("%v written as %v: %v", got, named, err)
		}
	})
}

// TestMergeIsFaithful checks that an expectation that was merged with a value
// matches the value, however little it did before.
func TestMergeIsFaithful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := bindings{"a": text("12345678")}
		want, got := b.name(drawValue(t, 3)), drawValue(t, 3)
		merged := b.merge(want, got)
		if err := b.match(merged, got); err != nil {
			t.Fatalf("%v merged with %v is %v: %v", want, got, merged, err)
		}
	})
}

// FuzzParseTrace checks that no file can crash the reader and that a file that
// is read is written back as one that is read alike.
func FuzzParseTrace(f *testing.F) {
	tr, err := readTrace("testdata/manual.txtar")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(tr.format()))
	f.Add("Prose.\n-- dial a --\n-- expect a --\n# x\n{\"$a\":\"${b+1}\"}\n-- closed a 1000 x --\n")
	f.Fuzz(func(t *testing.T, text string) {
		tr, err := parseTrace("fuzz.txtar", []byte(text))
		if err != nil {
			return
		}
		written := string(tr.format())
		again, err := parseTrace("fuzz.txtar", []byte(written))
		if err != nil {
			t.Fatalf("%v in\n%s", err, written)
		}
		if got := string(again.format()); got != written {
			t.Fatalf("written differently the second time:\n%s\n%s", written, got)
		}
	})
}
