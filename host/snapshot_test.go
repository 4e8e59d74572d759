package host

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/ahp"
)

// TestSnapshotCache: those who ask at once share one encoding, and nothing is
// kept when the last has let go.
func TestSnapshotCache(t *testing.T) {
	w := &Host{encodings: make(chan struct{}, 1)}
	ch := newChannel("ahp-session:/s", nil, labSession("one"), nil)
	whole, part := wholeView, view{turns: 1}
	first, second, other := w.snapshotLocked(ch, whole), w.snapshotLocked(ch, whole), w.snapshotLocked(ch, part)
	if first.encoded != second.encoded || first.encoded == other.encoded {
		t.Error("the same view must share one encoding, another view must not")
	}
	ch.state = labSession("two")
	later := w.snapshotLocked(ch, whole)
	for _, s := range []*snapshot{first, second, other, later} {
		if _, err := s.encode(); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := first.encode()
	b, _ := second.encode()
	if &a[0] != &b[0] {
		t.Error("one encoding was made twice")
	}
	if c, _ := later.encode(); string(a) == string(c) {
		t.Error("a later state was answered with an older one")
	}
	releaseAll([]*snapshot{first, other, later})
	if n := len(ch.snapshots.items); n != 1 {
		t.Errorf("%d encodings held, want the one in use", n)
	}
	second.release()
	if n := len(ch.snapshots.items); n != 0 {
		t.Errorf("%d encodings held, want none", n)
	}
}

// TestSnapshotDropped: a connection that ends before its answers were written
// lets go of their states.
func TestSnapshotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		w := newWorld(t, Options{Store: gate})
		if err := w.h.Create("ahp-session:/s", labSession("x"), ""); err != nil {
			t.Fatal(err)
		}
		p := w.peer("a")
		p.initialize("a")
		gate.hold(nil)
		w.h.Apply("ahp-session:/s", &ahp.SessionTitleChanged{Title: "held"})
		for id := range 3 {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"subscribe","params":{"channel":"ahp-session:/s"}}`, id+10))
		}
		synctest.Wait()
		ch := w.h.seq.channels["ahp-session:/s"]
		if n := len(ch.snapshots.items); n != 1 {
			t.Errorf("%d encodings wait, want 1", n)
		}
		p.close()
		synctest.Wait()
		if n := len(ch.snapshots.items); n != 0 {
			t.Errorf("%d encodings are held for a connection that is gone", n)
		}
		if len(ch.subscribers()) != 0 {
			t.Error("a connection that is gone is subscribed")
		}
	})
}
