package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/journal/sqlite"
)

// usage is what a host takes at one moment.
type usage struct {
	heap, file int64
	goroutines int
}

func (u usage) String() string {
	return fmt.Sprintf("%.1f MB of memory, %.1f MB of journal, %d goroutines", float64(u.heap)/1e6, float64(u.file)/1e6, u.goroutines)
}

// TestHoursOfUse lives through a day (two hours in an ordinary run) of sessions that
// are made, used by clients that come and go, and forgotten after a while: memory,
// goroutines and the journal's file stay as they are after the first part.
func TestHoursOfUse(t *testing.T) {
	hours := scale.Count(24)
	path := filepath.Join(t.TempDir(), "journal.db")
	synctest.Test(t, func(t *testing.T) {
		store, err := sqlite.Open(path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, Options{
			Store: store, SyncEvery: time.Minute, Retention: Retention{Age: 20 * time.Minute},
			Limits: Limits{RingRecords: 10_000, RingBytes: 4 << 20},
		})
		var early usage
		minutes := hours * 60
		for minute := range minutes {
			useForAMinute(t, w, minute)
			if minute == minutes/2 {
				early = measure(t, path)
			}
		}
		late := measure(t, path)
		t.Logf("%d hours: %v after half of them, %v after all", hours, early, late)
		if late.heap > early.heap*5/4+4e6 || late.file > early.file*5/4+4e6 || late.goroutines > early.goroutines {
			t.Errorf("grows: %v, and then %v", early, late)
		}
		if err := w.h.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// useForAMinute makes a session, runs turns in the last few, and has a client
// follow one of them for a while.
func useForAMinute(t *testing.T, w *world, minute int) {
	t.Helper()
	uri := func(kind ahp.URI, n int) ahp.URI { return fmt.Sprint(kind, n) }
	session, chat := uri("ahp-session:/", minute), uri("ahp-chat:/", minute)
	if err := errors.Join(w.h.Create(session, labSession("x"), ""), w.h.Create(chat, labChat(chat), session)); err != nil {
		t.Fatal(err)
	}
	p := w.peer("a")
	p.initialize(fmt.Sprint("client", minute%50), chat)
	for i := range 6 {
		chat := uri("ahp-chat:/", max(0, minute-i))
		if !w.h.Exists(chat) {
			continue
		}
		id := fmt.Sprint("t", minute)
		w.h.Apply(chat, &ahp.ChatTurnStarted{TurnID: id, StartedAt: Now(), Message: &ahp.Message{Text: "go"}})
		w.h.Apply(chat, &ahp.ChatResponsePart{TurnID: id, Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p"}}})
		for range 20 {
			w.h.Apply(chat, &ahp.ChatDelta{TurnID: id, PartID: "p", Content: "some words of an answer "})
		}
		w.h.Apply(chat, &ahp.ChatTurnComplete{TurnID: id, Duration: 5})
		time.Sleep(10 * time.Second)
	}
	p.close()
	synctest.Wait()
}

func measure(t *testing.T, path string) (u usage) {
	t.Helper()
	synctest.Wait()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.heap, u.goroutines = int64(m.HeapAlloc), runtime.NumGoroutine()
	for _, name := range []string{path, path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			u.file += info.Size()
		}
	}
	return u
}
