package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/limit"
	"github.com/causeway-ahp/causeway/internal/limit/limittest"
)

// limitDrive takes one limit to its bound, says so, and over it.
type limitDrive struct {
	puppet func() *puppet // of one world
	limits Limits
	run    func(t *testing.T, w *world, a *peer, session, chat ahp.URI, within func())
}

// TestEveryLimitIsDrivenToItsBound has a drive for each row of the table. Within its
// bound the counter stands still, over it it rises.
func TestEveryLimitIsDrivenToItsBound(t *testing.T) {
	l := DefaultLimits
	limittest.Every(t, l.Rows(), limitDrives, func(t *testing.T, row limit.Row, d limitDrive) {
		start(t, d.puppet(), Options{Limits: d.limits}, func(w *world, a *peer, session, chat ahp.URI) {
			counter := limittest.Follow(w.t, w.h.Metrics(), row)
			d.run(w.t, w, a, session, chat, func() {
				synctest.Wait()
				counter.Within()
			})
			synctest.Wait()
			if n := counter.Hits(); n != 1 {
				w.t.Errorf("%s rose by %v", row.Metric(), n)
			}
		})
	})
}

var limitDrives = map[string]limitDrive{
	limitClientGrace: {func() *puppet { return &puppet{} }, Limits{ClientGrace: 30 * time.Second}, func(t *testing.T, w *world, a *peer, session, _ ahp.URI, within func()) {
		b := w.dial("b", session)
		b.dispatch(session, join("b"))
		b.cut()
		wait(30*time.Second - time.Millisecond)
		within()
		equal(t, "active within the grace time", w.active(session), "b")
		wait(2 * time.Millisecond)
		equal(t, "active after it", w.active(session))
		if got := a.taken("action", "activeClientRemoved"); len(got) != 1 {
			t.Errorf("the others are told %q", got)
		}
	}},
	"queued-messages": {func() *puppet { return &puppet{turn: holdTurns} }, Limits{QueuedMessages: 2}, func(t *testing.T, _ *world, a *peer, _, chat ahp.URI, within func()) {
		a.dispatch(chat, startTurn("t1", "x"))
		a.dispatch(chat, queue("q1", "x"))
		a.dispatch(chat, queue("q2", "x"))
		within()
		if got := a.try(chat, queue("q3", "x")); got != "busy: the queue is full" {
			t.Errorf("the client is told %q", got)
		}
	}},
	"agent-drain-timeout": {func() *puppet { return &puppet{turn: deaf, ignoreCancel: true} }, Limits{DrainTimeout: 10 * time.Second}, func(t *testing.T, w *world, a *peer, _, chat ahp.URI, within func()) {
		a.dispatch(chat, startTurn("t1", "x"))
		a.dispatch(chat, cancelTurn("t1"))
		wait(10*time.Second - time.Millisecond)
		within()
		wait(2 * time.Millisecond)
		equal(t, "turns", w.turns(chat), "t1=cancelled")
		if n := w.puppet.alive(); n != 0 {
			t.Errorf("%d agents are alive", n)
		}
	}},
}
