package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// watcher is a feature that observes chats.
type watcher struct {
	seen  []Observed
	pause time.Duration // what it takes over each
	h     *Host
}

func (w *watcher) Register(r *Registry) error {
	r.InitializeMeta("x-watcher", []byte(`{"version":1}`))
	r.Observe(Observer{
		Kind:  ahp.KindSession,
		Wants: func(a ahp.Action) bool { _, ok := a.(*ahp.SessionTitleChanged); return ok },
		Observe: func(ctx context.Context, o Observed) {
			if o.Action.(*ahp.SessionTitleChanged).Title == "trap" {
				panic("an observer fell into the trap")
			}
			_ = sleep(ctx, w.pause)
			w.seen = append(w.seen, o)
		},
	})
	return nil
}

func (w *watcher) Start(_ context.Context, h *Host) error { w.h = h; return nil }
func (w *watcher) Stop(ctx context.Context) error         { return w.h.Observed(ctx) }

// TestObserver: an observer is told of every action it wants, from the host and from
// clients, after it was committed, in the order of the numbers and with the states
// around it; a rejected action is not told, and a panic costs one action.
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, watch := newGate(), &watcher{pause: time.Second}
		w := newWorld(t, Options{Store: gate, Features: []Feature{watch}})
		for _, uri := range []ahp.URI{"ahp-session:/1", "ahp-session:/2"} {
			if err := w.h.Create(uri, labSession("made"), ""); err != nil {
				t.Fatal(err)
			}
		}
		p := w.peer("a")
		p.initialize("a")
		synctest.Wait()
		gate.hold(nil)
		w.h.Apply("ahp-session:/1", &ahp.SessionTitleChanged{Title: "one"})
		for i, title := range []string{"two", "", "three"} { // the lab refuses ""
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-session:/2","clientSeq":%d,"action":{"type":"session/titleChanged","title":%q}}}`, i+1, title))
		}
		w.h.Apply("ahp-session:/1", &ahp.SessionTitleChanged{Title: "trap"})
		synctest.Wait()
		time.Sleep(time.Minute)
		if len(watch.seen) != 0 {
			t.Errorf("%d actions were told before they were committed", len(watch.seen))
		}
		gate.release()
		if err := w.h.Observed(t.Context()); err != nil {
			t.Fatal(err)
		}
		var titles []string
		for _, o := range watch.seen {
			before, after := o.Before.(*ahp.SessionState), o.After.(*ahp.SessionState)
			titles = append(titles, before.Title+" > "+after.Title)
		}
		if want := []string{"made > one", "made > two", "two > three"}; !slices.Equal(titles, want) {
			t.Errorf("told: %q, want %q", titles, want)
		}
		if !slices.IsSortedFunc(watch.seen, func(a, b Observed) int { return int(a.ServerSeq) - int(b.ServerSeq) }) {
			t.Error("told out of order")
		}
	})
}

// TestObserverBacklog: while an observer is behind, those who cause more wait;
// nothing is lost, a shutdown is not held up, and what was ordered before it is told.
func TestObserverBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watch := &watcher{pause: 10 * time.Millisecond}
		w := newWorld(t, Options{Features: []Feature{watch}, Limits: Limits{ObserverBacklog: 10}})
		if err := w.h.Create("ahp-session:/s", labSession("x"), ""); err != nil {
			t.Fatal(err)
		}
		var applied atomic.Int64
		w.serving.Go(func() {
			for i := range 100 {
				w.h.Apply("ahp-session:/s", &ahp.SessionTitleChanged{Title: fmt.Sprint(i)})
				applied.Add(1)
			}
		})
		synctest.Wait()
		if n := applied.Load(); n < 10 || n > 13 {
			t.Errorf("%d actions were applied although the observer waits", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := w.h.Observed(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("observed: %v", err)
		}
		if err := w.h.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, told := applied.Load(), len(watch.seen); n != 100 || told != 100 {
			t.Errorf("%d of 100 applied, %d told", n, told)
		}
	})
}
