package host

// outgoing is a message taken out: one of entry, msg and render is set, none when
// it was taken back.
type outgoing struct {
	entry  *entry
	msg    []byte
	render func() []byte
	done   func()
	came   int64 // of an item that is an echo
}

// take moves up to about maxBytes of messages to dst, in order. When the next
// message must wait for the journal, waitFor is the number it waits for.
func (o *outbox) take(dst []outgoing, maxBytes int) (out []outgoing, waitFor uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.slab.Free(o.lent) // what was taken before has been written
	o.lent = 0
	var bytes, count int64
	defer func() { o.taken(bytes, count) }()
	for _, m := range o.urgent {
		dst = append(dst, outgoing{msg: m})
		bytes, count = bytes+int64(len(m)), count+1
	}
	clear(o.urgent)
	o.urgent = o.urgent[:0]
	dst = o.takeCreditsLocked(dst)
	// The mark is read before the logs: what it covers is visible in all of
	// them, so no smaller number can appear after a larger one was taken.
	published, committed := o.published.Load(), o.committed()
	o.collectLocked(published)
	defer o.due.reset()
	for total := int64(0); total < int64(maxBytes); {
		seq, direct, ok := o.peekLocked()
		if !ok {
			break
		}
		if seq > committed {
			return dst, seq
		}
		var next outgoing
		var cost int64
		if direct {
			next, cost = o.popDirectLocked()
		} else {
			next, cost = o.popEntryLocked(published)
		}
		bytes, count = bytes+cost, count+1
		dst = append(dst, next)
		total += cost
		if next.render != nil {
			break // of unknown size: it travels alone
		}
	}
	return dst, 0
}

// collectLocked gathers the subscriptions that have something to send, once for
// the whole batch: a connection may have thousands that have nothing. Those that
// have ended and drained are dropped.
func (o *outbox) collectLocked(published uint64) {
	live := 0
	for _, s := range o.subs {
		e := s.last.next.Load()
		if e == nil && s.ended {
			o.settleLocked(s)
			continue
		}
		o.subs[live] = s
		live++
		if e != nil && e.place <= published {
			o.due.push(due{s, e})
		}
	}
	clear(o.subs[live:])
	o.subs = o.subs[:live]
}

// peekLocked finds the message with the lowest place and the number it needs.
func (o *outbox) peekLocked() (seq uint64, direct, ok bool) {
	var it *item
	if o.head < len(o.direct) {
		it = &o.direct[o.head]
	}
	switch {
	case len(o.due) > 0 && (it == nil || o.due[0].e.place <= it.place):
		return o.due[0].e.seq, false, true
	case it != nil:
		return it.seq, true, true
	}
	return 0, false, false
}

func (o *outbox) popDirectLocked() (outgoing, int64) {
	it := o.direct[o.head]
	o.direct[o.head] = item{}
	o.head++
	if it.lent {
		o.lent += len(it.msg)
	}
	if o.head == len(o.direct) {
		o.direct, o.head = o.direct[:0], 0
	}
	if it.relayed {
		o.relayed.leftLocked(int64(len(it.msg)))
		if !it.ticket.leave() {
			return outgoing{}, int64(len(it.msg)) // taken back
		}
	}
	for _, w := range it.opens {
		w.open = true
		o.joinLocked(w)
	}
	return outgoing{msg: it.msg, render: it.render, done: it.done, came: it.came}, int64(len(it.msg))
}

func (o *outbox) popEntryLocked(published uint64) (outgoing, int64) {
	d := o.due[0]
	d.s.last = d.e
	if next := d.e.next.Load(); next != nil && next.place <= published {
		o.due[0].e = next
		o.due.down(0)
	} else {
		o.due.pop()
	}
	return outgoing{entry: d.e}, d.e.cost
}

// due is a subscription with the entry it sends next.
type due struct {
	s *subscription
	e *entry
}

// dueHeap has the lowest place first. It is written out because this is where a
// connection that follows many channels spends its time.
type dueHeap []due

func (h *dueHeap) push(d due) {
	*h = append(*h, d)
	q := *h
	for i := len(q) - 1; i > 0; {
		parent := (i - 1) / 2
		if q[parent].e.place < q[i].e.place {
			return
		}
		q[parent], q[i] = q[i], q[parent]
		i = parent
	}
}

func (h *dueHeap) pop() {
	q := *h
	last := len(q) - 1
	q[0], q[last] = q[last], due{}
	*h = q[:last]
	h.down(0)
}

// down restores the order below i.
func (h *dueHeap) down(i int) {
	q := *h
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q); child++ {
			if q[child].e.place < q[least].e.place {
				least = child
			}
		}
		if least == i {
			return
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
}

// reset forgets everything, so that the scratch holds no log alive.
func (h *dueHeap) reset() {
	clear(*h)
	*h = (*h)[:0]
}
