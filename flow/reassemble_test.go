package flow_test

import (
	"errors"
	"testing"

	"github.com/causeway-ahp/causeway/flow"
)

func add(t *testing.T, r *flow.Reassembler, piece string, final bool) string {
	t.Helper()
	msg, err := r.Add([]byte(piece), final)
	if err != nil {
		t.Fatalf("Add(%q): %v", piece, err)
	}
	return string(msg)
}

func TestOnlyFinalCompletes(t *testing.T) {
	r := flow.NewReassembler(100)
	if got := add(t, &r, `{"a":`, false); got != "" {
		t.Errorf("after the first piece: %q", got)
	}
	if got := add(t, &r, `1}`, false); got != "" {
		t.Errorf("complete JSON is not a final piece: %q", got)
	}
	if r.Buffered() != 7 {
		t.Errorf("buffered %d, want 7", r.Buffered())
	}
	if got, want := add(t, &r, ` `, true), `{"a":1} `; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if r.Buffered() != 0 {
		t.Errorf("buffered %d after the message", r.Buffered())
	}
}

// The message belongs to the caller: the next one must not be written over it,
// and the pieces are copied.
func TestTheMessageIsTheCallers(t *testing.T) {
	r := flow.NewReassembler(100)
	piece := []byte("first")
	msg, err := r.Add(piece, true)
	if err != nil {
		t.Fatal(err)
	}
	copy(piece, "xxxxx")
	add(t, &r, "other", true)
	if string(msg) != "first" {
		t.Errorf("the message became %q", msg)
	}
}

func TestReassemblerRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		before string
		piece  string
		want   error
	}{
		"empty":               {"", "", flow.PieceEmpty},
		"empty after another": {"abc", "", flow.PieceEmpty},
		"to the ceiling":      {"abcde", "fghij", nil},
		"one above":           {"abcde", "fghijk", flow.MessageTooLarge},
		"at once above":       {"", "abcdefghijk", flow.MessageTooLarge},
		"bytes, not units":    {"", "世世世世", flow.MessageTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			r := flow.NewReassembler(10)
			if c.before != "" {
				add(t, &r, c.before, false)
			}
			for _, final := range []bool{false, true} {
				if c.want == nil && !final {
					continue
				}
				if _, err := r.Add([]byte(c.piece), final); !errors.Is(err, c.want) {
					t.Errorf("final %v: got %v, want %v", final, err, c.want)
				}
			}
			if c.want != nil && r.Buffered() != len(c.before) {
				t.Errorf("buffered %d, want %d", r.Buffered(), len(c.before))
			}
		})
	}
}

func TestTheZeroReassemblerAcceptsNothing(t *testing.T) {
	var r flow.Reassembler
	if _, err := r.Add([]byte("a"), true); !errors.Is(err, flow.MessageTooLarge) {
		t.Errorf("got %v, want %v", err, flow.MessageTooLarge)
	}
}

func TestWhole(t *testing.T) {
	r := flow.NewReassembler(10)
	if err := r.Whole(); err != nil {
		t.Errorf("before any piece: %v", err)
	}
	add(t, &r, "a", false)
	if err := r.Whole(); !errors.Is(err, flow.MessageInterrupted) {
		t.Errorf("between pieces: got %v, want %v", err, flow.MessageInterrupted)
	}
	add(t, &r, "b", true)
	if err := r.Whole(); err != nil {
		t.Errorf("after the final piece: %v", err)
	}
	add(t, &r, "c", false)
	r.Discard()
	if err := r.Whole(); err != nil || r.Buffered() != 0 {
		t.Errorf("after Discard: %v, %d buffered", err, r.Buffered())
	}
	if got := add(t, &r, "d", true); got != "d" {
		t.Errorf("after Discard the message is %q, want %q", got, "d")
	}
}

func TestCheckInner(t *testing.T) {
	const outer = "ahp-chat:/c1"
	for _, c := range []struct {
		kind  flow.Kind
		inner string
		want  error
	}{
		{flow.Data, outer, nil},
		{flow.Data, "ahp-chat:/c2", flow.InnerForeign},
		{flow.Data, "", flow.InnerForeign},
		{flow.Data, "ahp-chat:/C1", flow.InnerForeign},
		{flow.Frame, outer, flow.InnerFrame},
		{flow.Control, outer, flow.InnerNotData},
		{0, outer, flow.InnerNotData},
	} {
		if err := flow.CheckInner(outer, c.kind, c.inner); !errors.Is(err, c.want) {
			t.Errorf("kind %d of %q: got %v, want %v", c.kind, c.inner, err, c.want)
		}
	}
}
