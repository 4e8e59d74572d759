package host

import (
	"sync"
	"sync/atomic"

	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/internal/slab"
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
	came   int64 // of an echo: when its dispatch was read, see Host.clock
	// relayed marks what another client sent, see relayQueue; ticket is that of
	// a request that can be taken back.
	relayed bool
	ticket  *ticket
	lent    bool // msg stands in the outbox's slab
	// opens are windowed subscriptions whose data may follow this item.
	opens []*windowed
	cost  int64 // of an item of a windowed subscription, as it was counted
}

// outbox is what waits for one connection. Envelopes are not copied into it:
// each subscription is a cursor into its channel's log, and the writer merges
// them with the connection's own items by place. It is bounded in bytes and in
// messages; over the bound the connection is closed.
//
// An item may be seen by the writer before its step is published. That is in
// order all the same, because a step appends no entry for a subscriber before it
// has pushed that subscriber's item, unless it publishes in between.
type outbox struct {
	published *atomic.Uint64
	committed func() uint64
	maxBytes  int64
	maxCount  int64

	bytes atomic.Int64 // what waits, as the log counts it
	count atomic.Int64
	wake  chan struct{} // holds one token when there may be something to take
	rests atomic.Bool   // there is no writer: whoever signals starts one
	start func()        // starts the writer; nil in tests that take by themselves

	// mu guards what follows. It may be taken inside the sequencer's lock and
	// is held for no I/O (docs/LOCKS.md).
	mu     sync.Mutex
	subs   []*subscription
	direct []item
	head   int // index of the first item in direct
	urgent [][]byte
	due    dueHeap // scratch of take
	win    windows
	closed bool
	// relayed accounts for those of direct that other clients sent, and slab holds
	// those that are lent.
	relayed relayQueue
	slab    slab.Slab
	lent    int // bytes of the slab that the writer has
}

func newOutbox(h *Host, overrun func()) *outbox {
	return &outbox{
		relayed: relayQueue{
			maxBytes: h.limits.RelayBytes, maxCount: h.limits.RelayMessages,
			patience: h.limits.RelayPatience, overrun: overrun, hits: &h.relayHits,
		},
		published: &h.seq.published, committed: h.journal.Committed,
		maxBytes: h.limits.OutboxBytes, maxCount: h.limits.OutboxMessages,
		wake: make(chan struct{}, 1),
	}
}

// signal wakes the writer, or starts it.
func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
	if o.rests.Load() && o.rests.CompareAndSwap(true, false) {
		o.start()
	}
}

// quietItems are what a connection makes room for anew after each rest: one that rests
// between bursts keeps its room.
const quietItems = 4

// rest lets the writer end, since there is nothing to take. It is false when
// something may have come meanwhile: the writer then goes on.
func (o *outbox) rest() bool {
	o.mu.Lock()
	if len(o.direct) == 0 && cap(o.direct) <= quietItems {
		o.direct = nil // a quiet connection keeps no more than it must
	}
	o.mu.Unlock()
	o.rests.Store(true)
	select {
	case <-o.wake: // its sender saw either no rest, or took it and started another writer
		return !o.rests.CompareAndSwap(true, false)
	default:
		return true
	}
}

// add accounts for messages that wait and wakes the writer. It is false when the
// bound is passed.
func (o *outbox) add(bytes, count int64) bool {
	bytes, count = o.bytes.Add(bytes), o.count.Add(count)
	o.signal()
	return bytes <= o.maxBytes && count <= o.maxCount
}

func (o *outbox) taken(bytes, count int64) {
	o.bytes.Add(-bytes)
	o.count.Add(-count)
}

// settled stands behind every entry: nothing of the subscription is counted any
// more.
var settled = &entry{nth: 1<<63 - 1}

// offer accounts for the log of s up to e. Offers come after the sequencer's
// lock was released, hence late and in any order; each entry counts once
// whatever the order, and not at all once the subscription is over. The result
// is that of add.
func (o *outbox) offer(s *subscription, e *entry) bool {
	if s.win != nil {
		return o.offerWindowed(s.win, e)
	}
	for {
		old := s.counted.Load()
		if old.nth >= e.nth {
			return true // a later entry was offered, or nothing is wanted any more
		}
		if s.counted.CompareAndSwap(old, e) {
			return o.add(e.cum-old.cum, e.nth-old.nth)
		}
	}
}

// settleLocked gives back what is counted of s and was not taken.
func (o *outbox) settleLocked(s *subscription) {
	if old := s.counted.Swap(settled); old != settled {
		o.taken(old.cum-s.last.cum, old.nth-s.last.nth)
	}
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
	return o.add(cost, 1)
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
	return o.add(int64(len(msg)), 1)
}

// attach adds subscriptions whose cursors stand at the end of their logs, behind
// the item that answers them. The sequencer's lock is held, so nothing comes
// between the two. The result is that of push.
func (o *outbox) attach(it item, subs ...*subscription) bool {
	o.mu.Lock()
	if !o.closed {
		o.subs = append(o.subs, subs...)
	}
	o.mu.Unlock()
	return o.push(it)
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
	o.settleLocked(s)
}

// end lets a subscription drain and then drops it: its channel is gone.
func (o *outbox) end(s *subscription) {
	o.mu.Lock()
	s.ended = true
	if s.win != nil {
		o.joinLocked(s.win.w)
	}
	o.mu.Unlock()
	o.signal()
}

// empty reports whether nothing waits but for windows, which may never open.
func (o *outbox) empty() bool { return o.count.Load() <= o.win.held.Load() }

// close drops everything and refuses what comes.
func (o *outbox) close() {
	o.mu.Lock()
	items := o.direct[o.head:]
	for _, it := range items {
		o.taken(int64(len(it.msg)), 1)
	}
	for _, m := range o.urgent {
		o.taken(int64(len(m)), 1)
	}
	for _, s := range o.subs {
		o.settleLocked(s)
	}
	var finish []func()
	for _, w := range o.win.byURI {
		w.over = true
		if l, ok := w.src.(*logSource); ok {
			finish = append(finish, o.emptyLocked(l))
		}
	}
	o.direct, o.head, o.urgent, o.subs, o.due = nil, 0, nil, nil, nil
	o.win.byURI, o.win.credits, o.win.turns = nil, nil, flow.Turns[*windowed]{}
	o.closed = true
	o.relayed.stopLocked()
	o.slab.Drop()
	o.lent = 0
	o.mu.Unlock()
	for _, it := range items {
		it.finish()
	}
	for _, f := range finish {
		f()
	}
	o.signal()
}

func (it *item) finish() {
	if it.done != nil {
		it.done()
	}
}
