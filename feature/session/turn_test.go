package session

import (
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
)

func TestATurnRunsAndEnds(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "hello"))
		equal(t, "turns", w.turns(chat), "t1=complete")
		if got := w.transcript(chat, "t1"); got != "ok: hello" {
			t.Errorf("transcript %q", got)
		}
	})
}
