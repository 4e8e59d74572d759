package host

import (
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/internal/metric"
)

// How long things take, for the histograms.

// clock is the time since the host was made, in nanoseconds and never 0. It costs half
// of what time.Now does.
func (h *Host) clock() int64 { return int64(time.Since(h.began)) | 1 }

// noteEcho remembers that what is being written answers a dispatch of this client. It is
// the writer's.
func (c *Conn) noteEcho(out *outgoing) {
	came := out.came
	if e := out.entry; e != nil && e.came != 0 && c.sent(e.rec) {
		came = e.came
	}
	if came != 0 {
		c.echoes = append(c.echoes, came)
	}
}

// observeEchoes is called when a batch has been written.
func (c *Conn) observeEchoes() {
	if len(c.echoes) == 0 {
		return
	}
	now := c.h.clock()
	for _, came := range c.echoes {
		c.h.metrics.echo.Observe(now - came)
	}
	c.echoes = c.echoes[:0]
}

// measuredLock is a mutex that knows how long it is held.
type measuredLock struct {
	sync.Mutex
	began time.Time
	since time.Duration // of the holder: when it got the lock
	holds *metric.Histogram
}

// Lock locks.
func (l *measuredLock) Lock() {
	l.Mutex.Lock()
	l.since = time.Since(l.began)
}

// Unlock unlocks.
func (l *measuredLock) Unlock() {
	held := time.Since(l.began) - l.since
	l.Mutex.Unlock()
	l.holds.Observe(int64(held))
}
