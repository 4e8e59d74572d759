package flow_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/causeway-ahp/causeway/flow"
)

// A bulk sender joins again after each frame; one that comes later waits for one
// frame of each at most.
func TestTurnsAreFair(t *testing.T) {
	var r flow.Turns[string]
	r.Join("bulk")
	r.Join("second")
	var order []string
	for i := range 7 {
		if i == 3 {
			r.Join("chat")
		}
		next, ok := r.Next()
		if !ok {
			t.Fatal("nobody is ready")
		}
		order = append(order, next)
		if next != "chat" {
			r.Join(next)
		}
	}
	want := []string{"bulk", "second", "bulk", "second", "bulk", "chat", "second"}
	if !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
}

func TestTurnsAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var turns flow.Turns[int]
		var model []int
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				v := rapid.IntRange(0, 9).Draw(t, "who")
				isNew := !slices.Contains(model, v)
				if got := turns.Join(v); got != isNew {
					t.Fatalf("Join(%d) = %v, want %v", v, got, isNew)
				}
				if isNew {
					model = append(model, v)
				}
			},
			"next": func(t *rapid.T) {
				got, ok := turns.Next()
				if ok != (len(model) > 0) || ok && got != model[0] {
					t.Fatalf("Next = %d, %v, want the first of %v", got, ok, model)
				}
				if ok {
					model = model[1:]
				}
			},
			"leave": func(t *rapid.T) {
				v := rapid.IntRange(0, 9).Draw(t, "who")
				turns.Leave(v)
				model = slices.DeleteFunc(slices.Clone(model), func(o int) bool { return o == v })
			},
			"": func(t *rapid.T) {
				if turns.Len() != len(model) {
					t.Fatalf("Len = %d, want %d", turns.Len(), len(model))
				}
			},
		})
	})
}
