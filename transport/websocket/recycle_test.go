package websocket

import (
	"bytes"
	"strings"
	"testing"
)

// TestRecycledMessages: memory that was given back is used again for a message
// that fits it, is never part of two messages, and changes nothing of what arrives.
func TestRecycledMessages(t *testing.T) {
	c, _ := pair(t, Options{}, Options{})
	first := make([]byte, 0, 300)
	c.in.recycle(first)
	tests := []struct {
		n    int
		want bool
	}{{301, false}, {300, true}, {300, false}}
	for _, tt := range tests {
		if got := c.in.reuse(tt.n); (got != nil) != tt.want || len(got) != 0 {
			t.Errorf("reuse(%d) = %d bytes of %d", tt.n, len(got), cap(got))
		}
	}
	c.in.recycle(make([]byte, 0, 32<<10))
	if c.in.reuse(100) != nil {
		t.Error("a small message would hold much memory")
	}
	c.in.recycle(make([]byte, 0, largeBytes+1))
	if cap(c.in.spare) > largeBytes {
		t.Error("a connection holds a very large message")
	}
}

func TestRecycledMessagesArriveWhole(t *testing.T) {
	b, a := pair(t, Options{}, Options{})
	var want []string
	for i := range 200 {
		want = append(want, strings.Repeat(string(rune('a'+i%26)), 1+i*i%3000))
	}
	go func() {
		var batch [][]byte
		for _, m := range want {
			batch = append(batch, []byte(m))
		}
		_ = a.Write(batch)
	}()
	var kept [][]byte
	var spent []byte
	for i, m := range want {
		got, err := b.ReadOver(spent)
		if err != nil || string(got) != m {
			t.Fatalf("message %d: %.20q of %d bytes, %v", i, got, len(got), err)
		}
		if i%3 == 0 {
			kept, spent = append(kept, got), nil // not given back, so nobody may write to it
			continue
		}
		spent = got
	}
	for i, got := range kept {
		if !bytes.Equal(got, []byte(want[3*i])) {
			t.Fatalf("message %d was overwritten", 3*i)
		}
	}
}
