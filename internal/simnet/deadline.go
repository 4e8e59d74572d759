package simnet

import (
	"sync"
	"time"
)

// deadline wakes the waiters of a condition when its time comes. The network's
// mutex guards it.
type deadline struct {
	at    time.Time // zero: never
	cond  *sync.Cond
	timer *time.Timer
}

func (d *deadline) setLocked(t time.Time) {
	d.stop()
	d.at = t
	if !t.IsZero() && time.Until(t) > 0 {
		d.timer = time.AfterFunc(time.Until(t), d.expire)
	}
	d.cond.Broadcast() // waiters look at the new time
}

// expire runs on a timer's goroutine. Taking the lock keeps the wake-up from
// falling between a waiter's look at the clock and its sleep.
func (d *deadline) expire() {
	d.cond.L.Lock()
	defer d.cond.L.Unlock()
	d.cond.Broadcast()
}

func (d *deadline) passed() bool { return !d.at.IsZero() && time.Until(d.at) <= 0 }

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
