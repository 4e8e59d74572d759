package acp

import (
	"context"
	"sync"
	"time"
)

// Waits between attempts to start an agent that fails (agents.md, 4.7).
const (
	firstBackoff = time.Second
	maxBackoff   = time.Minute
)

// backoff keeps an agent that fails to start from being started again and again.
// The first attempt after a failure waits until a while after it.
type backoff struct {
	mu    sync.Mutex
	pause time.Duration // after the last failure, 0 for none
	until time.Time
}

// wait returns when an attempt may be made.
func (b *backoff) wait(ctx context.Context) error {
	b.mu.Lock()
	left := time.Until(b.until)
	b.mu.Unlock()
	if left <= 0 {
		return nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *backoff) failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pause = min(max(2*b.pause, firstBackoff), maxBackoff)
	b.until = time.Now().Add(b.pause)
}

func (b *backoff) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pause, b.until = 0, time.Time{}
}
