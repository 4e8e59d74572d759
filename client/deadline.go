package client

import (
	"sync"
	"time"
)

// deadline is a moment that may be moved while others wait for it. The zero
// deadline never comes.
type deadline struct {
	mu     sync.Mutex
	timer  *time.Timer
	passed chan struct{} // closed when it has come; nil until somebody waits
}

// set moves the deadline; the zero time means never.
func (d *deadline) set(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		// It fires or has fired, on the channel it was made for.
		d.passed = nil
	}
	d.timer = nil
	if d.passed == nil || isClosed(d.passed) {
		d.passed = make(chan struct{})
	}
	if at.IsZero() {
		return
	}
	passed := d.passed
	wait := time.Until(at)
	if wait <= 0 {
		close(passed)
		return
	}
	d.timer = time.AfterFunc(wait, func() { close(passed) })
}

// wait returns a channel that is closed when the deadline has come. Moving a
// deadline that has come does not reach those who wait for it: they were told.
func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed == nil {
		d.passed = make(chan struct{})
	}
	return d.passed
}

// stop gives up the timer.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
