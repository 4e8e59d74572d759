package jsonrpc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// relayed are notifications as they follow one another.
const relayedHead = `{"jsonrpc":"2.0","method":"n","params":{"channel":"c","serviceId":"s","params":`

// FuzzFamiliar: whatever was read before, a message is read as Scan reads it.
func FuzzFamiliar(f *testing.F) {
	for _, pair := range [][2]string{
		{relayedHead + `1}}`, relayedHead + `{"a":[2]}}}`},
		{relayedHead + `1}}`, relayedHead + `1},"method":"x"}`},
		{relayedHead + `1}}`, relayedHead + `1,"serviceId":"t"}}`},
		{relayedHead + `1}}`, relayedHead + `1} }`},
		{relayedHead + `1 }}`, relayedHead + `"` + "\xff" + `"}}`},
		{relayedHead + `1}}`, relayedHead + `}}`},
		{`{"method":"n","params":{"a":1},"jsonrpc":"2.0"}`, `{"method":"n","params":{"a":2},"jsonrpc":"1.0"}`},
		{`{"jsonrpc":"2.0","id":1,"method":"n","params":{"a":1}}`, `{"jsonrpc":"2.0","id":1,"method":"n","params":{"a":2}}`},
		{`{"jsonrpc":"2.0","method":"n","params":{}}`, `{"jsonrpc":"2.0","method":"n","params":{"a":1}}`},
		{`{"jsonrpc":"2.0","method":"n","params":[{"a":1}]}`, `{"jsonrpc":"2.0","method":"n","params":[{"a":1}}`},
		{`{"x":{"y":1},"jsonrpc":"2.0","method":"n","params":{"a":{"b":1}}}`, `{"x":{"y":1},"jsonrpc":"2.0","method":"n","params":{"a":{"b":2}}}`},
		{relayedHead + `1}}`, relayedHead + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1) + `}}`},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, before, data []byte) {
		var known familiar
		m, err := Scan(before)
		if err != nil {
			return
		}
		known.learn(before, &m)
		checkFamiliar(t, &known, before)
		checkFamiliar(t, &known, data)
	})
}

func checkFamiliar(t *testing.T, known *familiar, data []byte) {
	var got Message
	if !known.recognise(data, &got) {
		return
	}
	want, err := Scan(data)
	if err != nil {
		t.Fatalf("took %q for %+v: %v", data, got, err)
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b ID) bool { return a == b })); diff != "" {
		t.Fatalf("%q: want (-), got (+): %s", data, diff)
	}
}

// TestFamiliar: the second message of a kind is recognised, and one that begins
// otherwise or ends otherwise is not.
func TestFamiliar(t *testing.T) {
	learnt := []byte(relayedHead + `"first"}}`)
	tests := []struct {
		text string
		want bool
	}{
		{relayedHead + `{"second":[2]}}}`, true},
		{relayedHead + `3}} `, false},
		{relayedHead + `3},"id":1}`, false},
		{relayedHead + `3,"params":4}}`, false},
		{relayedHead + `03}}`, false},
		{strings.Replace(relayedHead, `"s"`, `"t"`, 1) + `3}}`, false},
	}
	var known familiar
	m, err := Scan(learnt)
	if err != nil {
		t.Fatal(err)
	}
	known.learn(learnt, &m)
	for _, tt := range tests {
		var m Message
		ok := known.recognise([]byte(tt.text), &m)
		if ok != tt.want {
			t.Errorf("%s: recognised: %v", tt.text, ok)
		}
		if head, value, split := m.Split(); ok && (!split || string(head)+string(value)+"}" != string(m.Params)) {
			t.Errorf("%s: split in %q and %q", tt.text, head, value)
		}
	}
}

// TestSplit: the last value of the params, whatever stands around it.
func TestSplit(t *testing.T) {
	for _, tt := range []struct{ params, value string }{
		{`{"a":1}`, `1`}, {`{"a":{"b":2} , "c" : [3] }`, `[3]`}, {`{"a":{"b":{"c":4}}}`, `{"b":{"c":4}}`}, {`{}`, ``}, {`[{"a":1}]`, ``},
	} {
		m, err := Scan([]byte(`{"jsonrpc":"2.0","method":"n","params":` + tt.params + `}`))
		if err != nil {
			t.Fatal(err)
		}
		_, value, ok := m.Split()
		if string(value) != tt.value || ok != (tt.value != "") {
			t.Errorf("%s: got %q, %v", tt.params, value, ok)
		}
	}
}

func BenchmarkFamiliar(b *testing.B) {
	data := []byte(smallMessage)
	m, err := Scan(data)
	if err != nil {
		b.Fatal(err)
	}
	var known familiar
	known.learn(data, &m)
	b.ReportAllocs()
	for b.Loop() {
		if !known.recognise(data, &m) {
			b.Fatal("not recognised")
		}
	}
}
