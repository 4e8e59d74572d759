package flow

import "testing"

// A round that is never empty uses its queue again instead of growing.
func TestTurnsDoNotCreep(t *testing.T) {
	var r Turns[int]
	for i := range 10 {
		r.Join(i)
	}
	for i := range 100_000 {
		next, _ := r.Next()
		if next != i%10 {
			t.Fatalf("turn %d is %d's, want %d", i, next, i%10)
		}
		r.Join(next)
	}
	if cap(r.queue) > 64 {
		t.Errorf("ten members take %d places", cap(r.queue))
	}
}

// What left is not kept alive by the queue.
func TestTurnsForgetWhoLeft(t *testing.T) {
	var r Turns[*int]
	a, b := new(int), new(int)
	r.Join(a)
	r.Join(b)
	r.Next()
	r.Leave(b)
	for i, p := range r.queue[:cap(r.queue)] {
		if p != nil {
			t.Errorf("place %d still holds one", i)
		}
	}
}
