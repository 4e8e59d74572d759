package service_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
)

// TestNothingOfANotificationIsKept: after many notifications, delivered and
// dropped, the host holds what it held before (AHP core, 15.3, R10; 15.9).
func TestNothingOfANotificationIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, service.Options{}, host.Options{})
		owner, sender := w.join("b"), w.join("a")
		id := owner.register(`{}`)
		burst := func() {
			for range 200 {
				sender.send(notifyMessage(id, `{"text":"some words"}`), notifyMessage("nobody", `{"text":"some words"}`))
			}
			if got := owner.take(); len(got) != 200 {
				t.Fatalf("%d of 200 arrived", len(got))
			}
		}
		burst()
		tables, seq, before := w.f.Tables(), w.h.Seq(), heapObjects()
		for range 50 {
			burst()
		}
		if after := w.f.Tables(); after != tables {
			t.Errorf("tables: %+v, before %+v", after, tables)
		}
		if w.h.Seq() != seq {
			t.Errorf("notifications took %d numbers", w.h.Seq()-seq)
		}
		// 20,000 went through: one object kept of each would show ten times over.
		if after := heapObjects(); after > before+2000 {
			t.Errorf("%d objects live, before %d", after, before)
		}
	})
}

func heapObjects() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapObjects
}
