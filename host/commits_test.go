package host

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
)

// TestBacklog: while the store is behind, those who cause more wait; nothing is
// lost, and a shutdown is not held up.
func TestBacklog(t *testing.T) {
	for _, end := range []string{"store recovers", "shutdown"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := newGate()
				w := newWorld(t, Options{Store: gate, Limits: Limits{JournalBacklogBytes: 10_000}})
				if err := errors.Join(w.h.Create("ahp-session:/s", labSession("x"), ""), w.h.Create("ahp-session:/quiet", labSession("x"), "")); err != nil {
					t.Fatal(err)
				}
				p := w.peer("a")
				p.initialize("a")
				synctest.Wait()
				gate.hold(errors.New("disk full"))
				const actions = 1000
				var applied atomic.Int64
				w.serving.Go(func() {
					for i := range actions {
						w.h.Apply("ahp-session:/s", &ahp.SessionTitleChanged{Title: time.Duration(i + 1).String()})
						applied.Add(1)
					}
				})
				time.Sleep(time.Hour)
				p.send(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-session:/quiet","clientSeq":1,"action":{"type":"session/titleChanged","title":"waits"}}}`)
				synctest.Wait()
				if n := applied.Load(); n < 20 || n > 100 {
					t.Errorf("%d actions were applied on a backlog of %d bytes", n, w.h.journal.Backlog())
				}
				if s := w.h.State("ahp-session:/quiet").(*ahp.SessionState); s.Title != "x" {
					t.Errorf("a client's action did not wait: title %q", s.Title)
				}
				if end == "shutdown" {
					began := time.Now()
					if err := w.h.Shutdown(t.Context()); err != nil || time.Since(began) > DefaultLimits.ShutdownFlush {
						t.Errorf("shutdown after %v: %v", time.Since(began), err)
					}
				}
				gate.release()
				time.Sleep(time.Hour)
				if n := applied.Load(); n != actions {
					t.Errorf("%d of %d actions were applied in the end", n, actions)
				}
				if s := w.h.State("ahp-session:/quiet").(*ahp.SessionState); end != "shutdown" && s.Title != "waits" {
					t.Errorf("the client's action is lost: title %q", s.Title)
				}
				if n := w.h.journal.Backlog(); end != "shutdown" && n != 0 {
					t.Errorf("%d bytes are still counted", n)
				}
			})
		})
	}
}

// TestStored: it returns when the store has what was made, and not before.
func TestStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		w := newWorld(t, Options{Store: gate})
		if err := w.h.Stored(t.Context()); err != nil {
			t.Fatalf("with nothing to store: %v", err)
		}
		gate.hold(nil)
		time.AfterFunc(time.Minute, gate.release)
		if err := w.h.Create("ahp-session:/s", labSession("x"), ""); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.h.Stored(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while the store is held: %v", err)
		}
		began := time.Now()
		if err := w.h.Stored(t.Context()); err != nil || time.Since(began) != 59*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// TestCommitsRace: an entry that is parked while the mark moves is delivered all
// the same.
func TestCommitsRace(t *testing.T) {
	for range 200 {
		done := make(chan struct{})
		c := &commits{moved: make(chan struct{}), overrun: func(*Conn) {}}
		c.journal = journal.New(journal.Options{Store: newGate(), Committed: func(seq uint64) {
			c.committed(seq)
			if seq == 2 {
				close(done)
			}
		}})
		o := &outbox{maxBytes: 1 << 30, maxCount: 1 << 30, wake: make(chan struct{}, 1)}
		ch := newChannel("c", nil, nil, nil)
		ch.addSubscriberLocked(newSubscription(ch, &Conn{out: o}))
		for seq := range uint64(2) {
			e := &entry{seq: seq + 1}
			ch.appendLocked(e)
			if err := c.journal.Append(&journal.Record{Seq: e.seq}); err != nil {
				t.Fatal(err)
			}
			c.wake(touch{ch, e})
		}
		<-done
		if err := c.wait(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if n := o.count.Load(); n != 2 || len(c.waiting) != 0 {
			t.Fatalf("%d of 2 delivered, %d parked", n, len(c.waiting))
		}
		if err := c.journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
