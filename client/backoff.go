package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff says how long to wait before the next attempt.
type backoff struct {
	min, max time.Duration
	attempts int
}

// next returns the pause after one more failure. Half of it is random, so that
// the clients of a host that comes back do not arrive together.
func (b *backoff) next() time.Duration {
	d := b.max
	if shift := b.attempts; shift < 32 && b.min<<shift > 0 {
		d = min(b.max, b.min<<shift)
	}
	b.attempts++
	return d/2 + rand.N(d/2+1)
}

func (b *backoff) reset() { b.attempts = 0 }

// pause waits, or returns false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
