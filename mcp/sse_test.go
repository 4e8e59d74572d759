package mcp

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

func parseEvents(t *testing.T, pieces ...string) (list []string) {
	t.Helper()
	var p eventParser
	for _, piece := range pieces {
		if err := p.feed([]byte(piece), func(e event) {
			list = append(list, fmt.Sprintf("%s|%s|%s|%s", e.id, e.name, e.retry, e.data))
		}); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// TestEvents follows the rules of text/event-stream in the HTML standard.
func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"one", "data: {}\n\n", []string{"|||{}"}},
		{"all fields", "event: message\nid: 7\nretry: 50\ndata: {}\n\n", []string{"7|message|50|{}"}},
		{"lines", "data: a\ndata: b\n\n", []string{"|||a\nb"}},
		{"an empty line of data", "data:\ndata:b\n\n", []string{"|||\nb"}},
		{"only one space goes", "data:  a\n\n", []string{"||| a"}},
		{"comments", ": hello\n\ndata: a\n: in between\n\n", []string{"|||a"}},
		{"priming", "id: 1\ndata: \n\n", []string{"1|||"}},
		{"carriage returns", "data: a\r\n\r\ndata: b\r\rdata: c\n\n", []string{"|||a", "|||b", "|||c"}},
		{"cut off", "data: a\n\ndata: b\n", []string{"|||a"}},
		{"no colon", "data\n\n", []string{"|||"}},
		{"unknown", "later: x\n\n", nil},
	} {
		if got := parseEvents(t, c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// FuzzEvents: a stream reads the same however it is cut, and what is read can be
// written and read again.
func FuzzEvents(f *testing.F) {
	f.Add("event: message\r\nid: 1\r\ndata: {\"a\":1}\r\n\r\n: x\n\ndata: a\ndata: b\n\n", 3)
	f.Add("data\r\r\ndata:\n\n", 1)
	f.Fuzz(func(t *testing.T, stream string, at int) {
		whole := parseEvents(t, stream)
		if n := len(stream); n > 0 {
			i := (at%n + n) % n
			if cut := parseEvents(t, stream[:i], stream[i:]); !slices.Equal(cut, whole) {
				t.Fatalf("cut at %d of %q: %q, want %q", i, stream, cut, whole)
			}
		}
		var p eventParser
		_ = p.feed([]byte(stream), func(e event) {
			if !e.message() || bytes.ContainsRune(e.data, '\r') {
				return
			}
			var b bytes.Buffer
			if err := e.writeTo(&b); err != nil {
				t.Fatal(err)
			}
			again := parseEvents(t, b.String())
			if want := fmt.Sprintf("%s|%s|%s|%s", e.id, e.name, e.retry, e.data); len(again) != 1 || again[0] != want {
				t.Fatalf("%q was written as %q and read as %q", want, b.String(), again)
			}
		})
	})
}

// TestEventBound: an event without an end costs a bounded memory.
func TestEventBound(t *testing.T) {
	p := eventParser{max: 1 << 20}
	var err error
	for range 1<<10 + 2 {
		if err = p.feed(bytes.Repeat([]byte("x"), 1<<10), func(event) {}); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("an endless event was taken")
	}
}
