package host

import (
	"sync"
	"sync/atomic"
)

// item is a message for one connection alone: a response, a rejection, an own
// echo, a call to the client.
type item struct {
	place uint64 // goes after every entry of this place and before the next
	seq   uint64 // waits for this number to be committed
	msg   []byte
	// render produces the message on the writer, for what is large; done is
	// called when it was written or will never be.
	render func() []byte
	done   func()
}

// outbox is what waits for one connection. Envelopes are not copied into it:
// each subscription is a cursor into its channel's log, and the writer merges
// them with the connection's own items by place. It is bounded in bytes and in
// messages; over the bound the connection is closed.
type outbox struct {
	published *atomic.Uint64
	committed func() uint64
	maxBytes  int64
	maxCount  int64

	bytes atomic.Int64 // what waits, as the log counts it
	count atomic.Int64
	wake  chan struct{} // holds one token when there may be something to take

	// mu guards what follows. It may be taken inside the sequencer's lock and
	// is held for no I/O (docs/LOCKS.md).
	mu     sync.Mutex
	subs   []*subscription
	direct []item
	head   int // index of the first item in direct
	urgent [][]byte
	closed bool
}

func newOutbox(h *Host) *outbox {
	return &outbox{
		published: &h.seq.published, committed: h.journal.Committed,
		maxBytes: h.limits.OutboxBytes, maxCount: h.limits.OutboxMessages,
		wake: make(chan struct{}, 1),
	}
}

// signal wakes the writer.
func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// offer accounts for an entry of a subscribed channel and wakes the writer. It
// is false when the bound is passed.
func (o *outbox) offer(cost int64) bool {
	bytes, count := o.bytes.Add(cost), o.count.Add(1)
	o.signal()
	return bytes <= o.maxBytes && count <= o.maxCount
}

// push queues an item behind everything published so far. It is false when the
// bound is passed or the outbox is closed; done was then called.
func (o *outbox) push(it item) bool {
	cost := int64(len(it.msg))
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		it.finish()
		return false
	}
	if it.place == 0 {
		it.place = o.published.Load()
	}
	o.direct = append(o.direct, it)
	o.mu.Unlock()
	return o.offer(cost)
}

// pushUrgent queues a message that may overtake all others.
func (o *outbox) pushUrgent(msg []byte) bool {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return false
	}
	o.urgent = append(o.urgent, msg)
	o.mu.Unlock()
	return o.offer(int64(len(msg)))
}

// attach adds a subscription whose cursor stands at the end of its log, behind
// the item that answers it. The sequencer's lock is held, so nothing comes
// between the two.
func (o *outbox) attach(it item, subs ...*subscription) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		it.finish()
		return
	}
	o.direct = append(o.direct, it)
	o.subs = append(o.subs, subs...)
	o.mu.Unlock()
	o.offer(int64(len(it.msg)))
}

// detach removes a subscription with what still waits on it.
func (o *outbox) detach(s *subscription) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, x := range o.subs {
		if x == s {
			o.subs = append(o.subs[:i], o.subs[i+1:]...)
			break
		}
	}
	for e := s.last.next.Load(); e != nil; e = e.next.Load() {
		o.bytes.Add(-e.cost)
		o.count.Add(-1)
	}
}

// end lets a subscription drain and then drops it: its channel is gone.
func (o *outbox) end(s *subscription) {
	o.mu.Lock()
	s.ended = true
	o.mu.Unlock()
	o.signal()
}

// outgoing is a message taken out: exactly one of entry, msg and render is set.
type outgoing struct {
	entry  *entry
	msg    []byte
	render func() []byte
	done   func()
}

// take moves up to about maxBytes of messages to dst, in order.
func (o *outbox) take(dst []outgoing, maxBytes int) []outgoing {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.urgent {
		dst = append(dst, outgoing{msg: m})
		o.taken(int64(len(m)))
	}
	o.urgent = o.urgent[:0]
	// The mark is read before the logs: what it covers is visible in all of
	// them, so no smaller number can appear after a larger one was taken.
	published, committed := o.published.Load(), o.committed()
	for total := 0; total < maxBytes; {
		out, cost, ok := o.next(published, committed)
		if !ok {
			break
		}
		o.taken(cost)
		dst = append(dst, out)
		total += int(cost)
		if out.render != nil {
			break // of unknown size: it travels alone
		}
	}
	return dst
}

func (o *outbox) taken(cost int64) {
	o.bytes.Add(-cost)
	o.count.Add(-1)
}

// next takes the message with the lowest place, if it may be sent.
func (o *outbox) next(published, committed uint64) (out outgoing, cost int64, ok bool) {
	s := o.first(published)
	if o.head < len(o.direct) {
		it := &o.direct[o.head]
		if s == nil || s.last.next.Load().place > it.place {
			if it.seq > committed {
				return out, 0, false
			}
			return o.pop(), int64(len(it.msg)), true
		}
	}
	if s == nil {
		return out, 0, false
	}
	e := s.last.next.Load()
	if e.seq > committed {
		return out, 0, false
	}
	s.last = e
	return outgoing{entry: e}, e.cost, true
}

// first returns the subscription whose next published entry has the lowest
// place, and drops those that have drained and ended.
func (o *outbox) first(published uint64) *subscription {
	var best *subscription
	var place uint64
	for i := 0; i < len(o.subs); {
		s := o.subs[i]
		e := s.last.next.Load()
		if e == nil && s.ended {
			o.subs = append(o.subs[:i], o.subs[i+1:]...)
			continue
		}
		if e != nil && e.place <= published && (best == nil || e.place < place) {
			best, place = s, e.place
		}
		i++
	}
	return best
}

func (o *outbox) pop() outgoing {
	it := o.direct[o.head]
	o.direct[o.head] = item{}
	o.head++
	if o.head == len(o.direct) {
		o.direct, o.head = o.direct[:0], 0
	}
	return outgoing{msg: it.msg, render: it.render, done: it.done}
}

// empty reports whether nothing waits.
func (o *outbox) empty() bool { return o.count.Load() <= 0 }

// close drops everything and refuses what comes.
func (o *outbox) close() {
	o.mu.Lock()
	items := o.direct[o.head:]
	o.direct, o.head, o.urgent, o.subs = nil, 0, nil, nil
	o.closed = true
	o.mu.Unlock()
	for _, it := range items {
		it.finish()
	}
	o.signal()
}

func (it *item) finish() {
	if it.done != nil {
		it.done()
	}
}
