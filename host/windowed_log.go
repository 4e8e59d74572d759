package host

import (
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// logSource feeds a windowed subscription from the log of its channel. A chat
// cannot be paused, so the subscription is a cursor that costs nothing while it
// waits: nothing of the log counts against the outbox. When the log has run too
// far ahead, the cursor lets go of it, and a new snapshot takes the place of what
// was passed over.
type logSource struct {
	s    *subscription
	w    *windowed
	view view

	// The outbox's lock guards these.
	snap   *snapshot         // leaves before all else
	replay []*journal.Record // of a reconnect; leave before the log
	passed bool              // the log has passed the cursor: a snapshot is due
	own    []item            // by place: rejections, pages, echoes that were passed over
	heavy  int64             // bytes of the last snapshot
}

// openWindowedLocked makes a windowed subscription that begins behind everything
// in the log. It is opened by answerLocked, in the same step.
func (c *Conn) openWindowedLocked(ch *channel, toClient flow.Limits, v view) *subscription {
	s := newSubscription(ch, c)
	l := &logSource{s: s, view: v}
	l.w = newWindowed(c, ch.uri, l, toClient, c.h.receiveLimits())
	s.win = l
	c.subs[ch.uri] = s
	ch.addSubscriberLocked(s)
	c.out.openWindow(l.w)
	return s
}

// next implements source.
func (l *logSource) next([]byte, int64) (msg []byte, size int64, taken func(), waitFor uint64) {
	c := l.w.conn
	if c.out.mustRebase(l) {
		c.rebase(l)
	}
	for {
		out, waitFor, ok := c.out.popWindowed(l)
		if !ok {
			return nil, 0, nil, waitFor
		}
		if msg := c.encode(&out); msg != nil {
			return msg, flow.Size(msg), out.done, 0
		}
		if out.done != nil {
			out.done()
		}
	}
}

// receive implements source: what the client dispatches has been reduced or
// rejected when the call returns, and is released then.
func (l *logSource) receive(m jsonrpc.Message, size int64) {
	l.w.conn.notified(&m)
	l.w.release(size)
}

// violated implements source. There is no message that would end such a
// subscription from this side, so the connection ends (AHP core, 12.5).
func (l *logSource) violated(err error) {
	l.w.conn.h.breached(err)
	l.w.conn.fail(CloseFlow, err)
}

// mustRebase reports whether the log has passed the cursor.
func (o *outbox) mustRebase(l *logSource) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return l.passed && !l.w.over
}

// rebase takes a new snapshot for a cursor that was passed. It is the writer's, so
// there is at most one under way for each connection.
func (c *Conn) rebase(l *logSource) {
	h := c.h
	h.seq.mu.Lock()
	defer h.seq.mu.Unlock()
	if c.subs[l.w.uri] != l.s { // the channel has ended: nothing to take
		c.out.mu.Lock()
		defer c.out.mu.Unlock()
		l.passed = false
		return
	}
	snap := h.snapshotLocked(l.s.ch, l.view)
	h.metrics.rebases.Inc()
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if !c.out.skipLocked(l, l.s.ch.tail) {
		c.overrun()
	}
	l.snap, l.passed = snap, false
}

// offerWindowed follows the log of l up to e, or notes that it cannot keep up. The
// result is that of add.
func (o *outbox) offerWindowed(l *logSource, e *entry) (ok bool) {
	o.mu.Lock()
	ok = o.followLocked(l, e)
	joined := o.joinLocked(l.w)
	o.mu.Unlock()
	if joined {
		o.signal()
	}
	return ok
}

// followLocked lets go of the log when it has run further ahead than a new
// snapshot would cost.
func (o *outbox) followLocked(l *logSource, e *entry) bool {
	if l.w.over || l.s.ended {
		return true
	}
	if e.cum-l.s.last.cum > max(l.w.conn.h.limits.WindowLagBytes, l.heavy) {
		l.passed = true
	}
	return !l.passed || o.skipLocked(l, e)
}

// skipLocked moves the cursor to e. The client's own echoes on the way are kept,
// since it waits for them; they follow the snapshot, which contains them already.
func (o *outbox) skipLocked(l *logSource, e *entry) (ok bool) {
	ok = true
	lineage := l.w.conn.lineage.id
	l.replay = nil
	for x := l.s.last.next.Load(); x != nil && x.nth <= e.nth; x = x.next.Load() {
		l.s.last = x
		if rec := x.rec; rec != nil && rec.Origin.ClientID != "" && rec.Origin.Lineage == lineage {
			// The record, not the entry: that would keep the log from here on.
			it := item{place: x.place, seq: x.seq, came: x.came, render: func() []byte { return appendActionMessage(nil, rec, "") }}
			ok = o.pushWindowedLocked(l, it, x.cost) && ok
		}
	}
	return ok
}

// pushWindowed queues an item that belongs to a windowed subscription. The result
// is that of add.
func (o *outbox) pushWindowed(l *logSource, it item) bool {
	o.mu.Lock()
	if o.closed || l.w.over {
		o.mu.Unlock()
		it.finish()
		return !o.closed
	}
	ok := o.pushWindowedLocked(l, it, int64(len(it.msg)))
	o.joinLocked(l.w)
	o.mu.Unlock()
	return ok
}

// pushWindowedLocked keeps the items in the order of their places: the client must
// see the answers to its actions in the order of these.
func (o *outbox) pushWindowedLocked(l *logSource, it item, cost int64) bool {
	i := len(l.own)
	for i > 0 && l.own[i-1].place > it.place {
		i--
	}
	it.cost = cost
	o.win.held.Add(1)
	l.own = append(l.own, item{})
	copy(l.own[i+1:], l.own[i:])
	l.own[i] = it
	return o.add(cost, 1)
}

func (o *outbox) takenWindowed(cost int64) {
	o.win.held.Add(-1)
	o.taken(cost, 1)
}

// popWindowed takes out what a windowed subscription sends next. Without anything
// waitFor is the number it waits for.
func (o *outbox) popWindowed(l *logSource) (out outgoing, waitFor uint64, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l.w.over {
		return out, 0, false
	}
	committed := o.committed()
	switch e, own := l.peekLocked(o.published.Load()); {
	case l.snap != nil:
		if l.snap.fromSeq > committed {
			return out, l.snap.fromSeq, false
		}
		snap := l.snap
		l.snap = nil
		return outgoing{render: func() []byte { return l.introduce(snap) }}, 0, true
	case len(l.replay) > 0:
		rec := l.replay[0]
		l.replay = l.replay[1:]
		return outgoing{render: func() []byte { return appendActionMessage(nil, rec, "") }}, 0, true
	case own:
		if l.own[0].seq > committed {
			return out, l.own[0].seq, false
		}
		it := l.own[0]
		l.own = append(l.own[:0], l.own[1:]...)
		o.takenWindowed(it.cost)
		return outgoing{msg: it.msg, render: it.render, done: it.done, came: it.came}, 0, true
	case e != nil:
		if e.seq > committed {
			return out, e.seq, false
		}
		l.s.last = e
		return outgoing{entry: e}, 0, true
	}
	if l.s.ended {
		o.dropWindowLocked(l.w)
	}
	return out, 0, false
}

// peekLocked returns the next entry of the log, and whether an own item stands
// before it.
func (l *logSource) peekLocked(published uint64) (e *entry, own bool) {
	e = l.s.last.next.Load()
	if e != nil && e.place > published {
		e = nil
	}
	return e, len(l.own) > 0 && (e == nil || l.own[0].place < e.place)
}

// introduce encodes a snapshot as the data message that carries it.
func (l *logSource) introduce(snap *snapshot) []byte {
	defer snap.release()
	dst := appendString([]byte(`{"jsonrpc":"2.0","method":"channel/snapshot","params":{"channel":`), l.w.uri)
	msg, err := snap.append(append(dst, `,"snapshot":`...))
	if err != nil { // its client could not go on without
		l.w.conn.fail(CloseInternal, err)
		return nil
	}
	l.w.conn.out.mu.Lock()
	l.heavy = int64(len(msg))
	l.w.conn.out.mu.Unlock()
	return append(msg, `}}`...)
}

// emptyLocked gives up what waits. The outbox's lock is held; what it returns is
// called without.
func (o *outbox) emptyLocked(l *logSource) (finish func()) {
	own, snap := l.own, l.snap
	l.own, l.snap, l.replay = nil, nil, nil
	for i := range own {
		o.takenWindowed(own[i].cost)
	}
	return func() {
		if snap != nil {
			snap.release()
		}
		for i := range own {
			own[i].finish()
		}
	}
}

// closeWindowed ends a windowed subscription of a shared channel: what it has not
// sent is dropped.
func (c *Conn) closeWindowed(l *logSource) {
	c.discard(l.w)
	c.out.mu.Lock()
	c.out.dropWindowLocked(l.w)
	finish := c.out.emptyLocked(l)
	c.out.mu.Unlock()
	finish()
}
