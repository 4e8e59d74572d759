package slab

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestSlab: whatever is joined and freed, a message that was not freed is what it was,
// and a slab that was freed whole holds nothing.
func TestSlab(t *testing.T) {
	size := rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(1, 2*pieceBytes))
	rapid.Check(t, func(t *rapid.T) {
		var s Slab
		var live, want [][]byte
		fill := byte(0)
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				fill++
				a, b := bytes.Repeat([]byte{fill}, size.Draw(t, "a")), bytes.Repeat([]byte{^fill}, size.Draw(t, "b"))
				live = append(live, s.Join(a, nil, b))
				want = append(want, append(a, b...))
			},
			"free": func(t *rapid.T) {
				k, n := rapid.IntRange(0, len(live)).Draw(t, "messages"), 0
				for i := range k {
					n += len(live[i])
					clear(live[i]) // they may be written over
				}
				s.Free(n)
				live, want = live[k:], want[k:]
			},
			"": func(t *rapid.T) {
				for i := range live {
					if !bytes.Equal(live[i], want[i]) {
						t.Fatalf("message %d of %d bytes was written over", i, len(want[i]))
					}
				}
				if len(live) == 0 && len(s.pieces) != 0 {
					t.Fatalf("%d pieces are held for nothing", len(s.pieces))
				}
			},
		})
	})
}

// TestFullSpeed: messages that leave as they come cost no allocation.
func TestFullSpeed(t *testing.T) {
	var s Slab
	part := make([]byte, 100)
	if n := testing.AllocsPerRun(1000, func() {
		for range 50 {
			s.Join(part, part, part)
		}
		s.Free(50 * 300)
	}); n > 0.1 {
		t.Errorf("%v allocations a round", n)
	}
}
