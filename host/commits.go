package host

import (
	"context"
	"sync"

	"github.com/causeway-ahp/causeway/journal"
)

// commits holds back waking until the journal has committed.
type commits struct {
	journal *journal.Journal
	overrun func(*Conn)

	mu      sync.Mutex
	waiting []touch // in the order of their numbers
	moved   chan struct{}
}

// wait returns when seq is committed, with an error when ctx ends first.
func (c *commits) wait(ctx context.Context, seq uint64) error {
	for c.journal.Committed() < seq {
		select {
		case <-c.moving(seq):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// moving returns a channel that is closed when the mark moves, at once when it has
// reached seq already.
func (c *commits) moving(seq uint64) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.journal.Committed() >= seq {
		return closedChannel
	}
	return c.moved
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// wake tells the subscribers of an entry, now or when it is committed.
func (c *commits) wake(t touch) {
	if t.e.seq > c.journal.Committed() && c.park(t) {
		return
	}
	c.deliver(t)
}

// park keeps t until its number is committed; it is false when that has
// happened in between.
func (c *commits) park(t touch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.e.seq <= c.journal.Committed() {
		return false
	}
	c.waiting = append(c.waiting, t)
	return true
}

// committed wakes for everything up to seq.
func (c *commits) committed(seq uint64) {
	c.mu.Lock()
	var due []touch
	rest := c.waiting[:0]
	for _, t := range c.waiting {
		if t.e.seq <= seq {
			due = append(due, t)
		} else {
			rest = append(rest, t)
		}
	}
	clear(c.waiting[len(rest):])
	c.waiting = rest
	close(c.moved)
	c.moved = make(chan struct{})
	c.mu.Unlock()
	for _, t := range due {
		c.deliver(t)
	}
}

func (c *commits) deliver(t touch) {
	for _, s := range t.ch.subscribers() {
		if !s.conn.out.offer(s, t.e) {
			c.overrun(s.conn)
		}
	}
}

// Stored returns when everything ordered so far is in the store, with an error
// when ctx ends first. A request that made a channel waits for it before it is
// answered.
func (h *Host) Stored(ctx context.Context) error { return h.commits.wait(ctx, h.Seq()) }

// awaitRoom waits while the store is too far behind, but not during a shutdown:
// what ends then must be able to say so.
func (h *Host) awaitRoom() {
	h.awaitObservers()
	if h.journal.Backlog() <= h.limits.JournalBacklogBytes {
		return
	}
	h.metrics.waits.Inc()
	h.LimitReached(limitBacklog)
	for h.journal.Backlog() > h.limits.JournalBacklogBytes {
		select {
		case <-h.commits.moving(h.journal.Committed() + 1):
		case <-h.stopping:
			return
		case <-h.ctx.Done():
			return
		}
	}
}
