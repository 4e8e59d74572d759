package service

import (
	"time"

	"github.com/causeway-ahp/causeway/host"
)

// meter is what a connection may still send: a bucket that fills by rate a second
// and holds one second's worth.
type meter struct {
	tokens float64
	at     time.Time // when tokens was right
	above  time.Time // since when the connection sends too fast; zero when it does not
}

// withinRate accounts for a message of c and reports whether it is within the
// rate. A connection that stays above it is closed (AHP core, 15.6).
func (f *Feature) withinRate(c *host.Conn) bool {
	if f.limits.Rate < 0 {
		return true
	}
	f.mu.Lock()
	ok, flood := f.partyLocked(c).meter.take(time.Now(), float64(f.limits.Rate), f.limits.FloodPatience)
	f.mu.Unlock()
	if !ok {
		f.reached(limitRate)
	}
	if flood {
		f.reached(limitPatience)
		c.Close(host.CloseFlood)
	}
	return ok
}

// take takes a token. flood reports that none was left for longer than patience,
// without a second in which the connection kept to the rate.
func (m *meter) take(now time.Time, rate float64, patience time.Duration) (ok, flood bool) {
	if m.at.IsZero() {
		m.tokens = rate
	} else {
		m.tokens = min(rate, m.tokens+rate*now.Sub(m.at).Seconds())
	}
	m.at = now
	if m.tokens >= rate { // a whole second's worth is free: it has calmed down
		m.above = time.Time{}
	}
	if m.tokens >= 1 {
		m.tokens--
		return true, false
	}
	if m.above.IsZero() {
		m.above = now
	}
	return false, now.Sub(m.above) >= patience
}
