package host

import (
	"context"
	"sync/atomic"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
)

// Observer is told of committed actions. It only reads: what it makes of them is
// none of the sequencer's business.
type Observer struct {
	Kind ahp.Kind
	// Wants selects the actions, from everybody. It is pure and runs under the
	// sequencer's lock.
	Wants func(a ahp.Action) bool
	// Observe is told of each one after it was committed, one at a time and in the
	// order of their numbers. It may wait, for a disk but not for a peer or an agent:
	// while too much waits for it, actions wait as they do for the store. It must not
	// apply an action. Whoever keeps o.ServerSeq with what it made of it knows after a
	// restart where it stood.
	Observe func(ctx context.Context, o Observed)
}

// Observed is an action that was committed.
type Observed struct {
	Channel   ahp.URI
	Action    ahp.Action
	Before    any // the channel's state before and after the action
	After     any
	ServerSeq uint64
}

// Observe adds an observer.
func (r *Registry) Observe(o Observer) { r.observers = append(r.observers, &observer{Observer: o}) }

// observer is an Observer with what waits for it. The sequencer's lock guards its
// fields.
type observer struct {
	Observer
	waiting []Observed
	running bool
}

// observers are the observers of a host.
type observers struct {
	list   []*observer
	behind atomic.Int64  // how much waits for them together
	moved  chan struct{} // closed and replaced when one has caught up; guarded as well
}

// queueObservedLocked puts an action that was applied before its observers.
func (h *Host) queueObservedLocked(st *step, ch *channel, o Observed) {
	for _, ob := range h.observers.list {
		if ob.Kind != ch.scheme.Kind || !ob.Wants(o.Action) {
			continue
		}
		ob.waiting = append(ob.waiting, o)
		h.observers.behind.Add(1)
		if !ob.running {
			ob.running = true
			st.observers = append(st.observers, ob)
		}
	}
}

// observeLoop tells an observer until nothing waits. It has a goroutine only while
// something does.
func (h *Host) observeLoop(ob *observer) {
	for {
		h.seq.mu.Lock()
		if len(ob.waiting) == 0 || h.ctx.Err() != nil {
			h.observers.behind.Add(-int64(len(ob.waiting)))
			ob.waiting, ob.running = nil, false
			close(h.observers.moved)
			h.observers.moved = make(chan struct{})
			h.seq.mu.Unlock()
			return
		}
		o := ob.waiting[0]
		ob.waiting = ob.waiting[1:]
		h.seq.mu.Unlock()
		if h.commits.wait(h.ctx, o.ServerSeq) == nil {
			h.runObserver(ob, o)
		}
		h.observers.behind.Add(-1)
	}
}

func (h *Host) runObserver(ob *observer, o Observed) {
	defer h.recovered("observer", o.Channel)
	ob.Observe(h.ctx, o)
}

// Observed returns when the observers were told of everything ordered so far, with
// an error when ctx ends first. What is ordered meanwhile may be waited for as well.
func (h *Host) Observed(ctx context.Context) error {
	for {
		moved := h.observersMoving()
		if moved == nil {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// observersMoving returns what is closed when an observer has caught up; nil when
// all have.
func (h *Host) observersMoving() <-chan struct{} {
	h.seq.mu.Lock()
	defer h.seq.mu.Unlock()
	for _, ob := range h.observers.list {
		if ob.running {
			return h.observers.moved
		}
	}
	return nil
}

// awaitObservers waits while the observers are too far behind, but not during a
// shutdown.
func (h *Host) awaitObservers() {
	if h.observers.behind.Load() <= int64(h.limits.ObserverBacklog) {
		return
	}
	h.metrics.waits.Inc()
	h.LimitReached(limitObservers)
	moved := h.observersMoving()
	if moved == nil {
		return
	}
	select {
	case <-moved:
	case <-h.stopping:
	case <-h.ctx.Done():
	}
}

// Allows asks the host's policy, for features whose answers depend on it later than
// at a request.
func (h *Host) Allows(p Principal, op Op, channel ahp.URI) bool {
	return h.policy.Allow(p, op, channel)
}

// Past visits the actions above after that the replay ring still holds and an observer
// of kind wants, in order. So an observer that knows where it stood catches up after a
// restart, in Start; what the ring has dropped is not visited.
func (h *Host) Past(after uint64, kind ahp.Kind, wants func(a ahp.Action) bool, visit func(channel ahp.URI, seq uint64, a ahp.Action)) {
	after = max(after, h.journal.Oldest())
	records, _, _ := h.journal.Replay(after, func(r *journal.Record) bool { return ahp.KindOf(r.Channel) == kind })
	for _, r := range records {
		if a, err := ahp.DecodeAction(r.Body); err == nil && wants(a) {
			visit(r.Channel, r.Seq, a)
		}
	}
}
