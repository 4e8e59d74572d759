package notify

import (
	"container/heap"
	"slices"
	"time"
)

// queue decides which delivery goes out next. It is a pure machine: no lock, no
// clock, no I/O. Principals take turns, and among one principal's items the
// targets do, so neither a busy principal nor a dead target holds up another.
type queue struct {
	limits  *Limits
	total   int
	flying  [3]int // attempts in flight by health of their target when they began
	targets map[string]*target
	lanes   map[laneKey]*lane
	ring    []*share // principals with something that may be ready
	shares  map[string]*share
	asleep  laneHeap
	starved [3][]*lane // ready, but for a slot for a target of this health
	held    map[string]bool
}

type laneKey struct{ principal, target string }

// entry is a delivery in the queue. Everything else is read when its turn comes.
type entry struct {
	id, principal, target string
	fresh                 *fresh // nil: everything is read
}

// lane is what one principal has for one target, in order.
type lane struct {
	key     laneKey
	target  *target
	entries []entry
	where   place
	at      time.Time // when asleep
	index   int       // when asleep
}

type place int

const (
	placeNone    place = iota // empty
	placeReady                // in its principal's ring
	placeAsleep               // until a time
	placeParked               // until something of its target comes back
	placeStarved              // until any slot is free
)

// share is one principal's turn.
type share struct {
	principal string
	ready     []*lane
	inRing    bool
}

func newQueue(l *Limits) *queue {
	return &queue{
		limits: l, targets: make(map[string]*target), lanes: make(map[laneKey]*lane), shares: make(map[string]*share),
		held: make(map[string]bool),
	}
}

// target returns the target of a name.
func (q *queue) target(name string, now time.Time) *target {
	t, ok := q.targets[name]
	if !ok {
		t = newTarget(name, q.limits.target(name), now)
		q.targets[name] = t
	}
	return t
}

// add takes a delivery. It is refused, with a time to come back, when too much
// waits for its target. What is there already is not added again.
func (q *queue) add(en entry, now time.Time) (ok bool, again time.Time) {
	if q.held[en.id] {
		return true, again
	}
	t := q.target(en.target, now)
	if t.queued >= q.limits.QueuedPerTarget {
		wait := time.Duration(float64(t.queued) / t.limits.Rate * float64(time.Second))
		again = now.Add(max(wait, 5*time.Second))
		if t.breaker.until.After(again) {
			again = t.breaker.until
		}
		return false, again
	}
	key := laneKey{en.principal, en.target}
	ln := q.lanes[key]
	if ln == nil {
		ln = &lane{key: key, target: t}
		q.lanes[key] = ln
	}
	ln.entries = append(ln.entries, en)
	q.held[en.id] = true
	q.total++
	t.queued++
	if ln.where == placeNone {
		q.ready(ln)
	}
	return true, again
}

// evict gives up the youngest items of the longest lanes until n have room.
func (q *queue) evict(n int) (evicted []entry) {
	for q.total+n > q.limits.Queued && q.total > 0 {
		var longest *lane
		for _, ln := range q.lanes {
			if longest == nil || len(ln.entries) > len(longest.entries) {
				longest = ln
			}
		}
		cut := max(1, len(longest.entries)/4)
		for range cut {
			last := len(longest.entries) - 1
			evicted = append(evicted, longest.entries[last])
			q.forget(longest, last)
		}
	}
	return evicted
}

// forget takes an entry out of its lane.
func (q *queue) forget(ln *lane, i int) {
	delete(q.held, ln.entries[i].id)
	ln.entries = append(ln.entries[:i], ln.entries[i+1:]...)
	ln.target.queued--
	q.total--
	if len(ln.entries) == 0 {
		q.empty(ln)
	}
}

// empty forgets a lane; where it is still listed it is skipped.
func (q *queue) empty(ln *lane) {
	if ln.where == placeAsleep {
		heap.Remove(&q.asleep, ln.index)
	}
	ln.where = placeNone
	delete(q.lanes, ln.key)
}

func (q *queue) ready(ln *lane) {
	ln.where = placeReady
	s := q.shares[ln.key.principal]
	if s == nil {
		s = &share{principal: ln.key.principal}
		q.shares[ln.key.principal] = s
	}
	s.ready = append(s.ready, ln)
	if !s.inRing {
		s.inRing = true
		q.ring = append(q.ring, s)
	}
}

// next takes the delivery whose turn it is. Without one it says when there may
// be one; the zero time means: when something comes back or is added.
func (q *queue) next(now time.Time) (en entry, ok bool, at time.Time) {
	q.wakeUp(now)
	for len(q.ring) > 0 || q.feed() {
		s := q.ring[0]
		q.ring = q.ring[1:]
		if en, ok = q.turn(s, now); ok {
			q.ring = append(q.ring, s)
			return en, true, at
		}
		s.inRing = false
		delete(q.shares, s.principal)
	}
	if len(q.asleep) > 0 {
		at = q.asleep[0].at
	}
	return en, false, at
}

// feed gives a slot that is free to a lane that waits for one.
func (q *queue) feed() bool {
	for h := range q.starved {
		for len(q.starved[h]) > 0 && q.slot(health(h)) {
			ln := q.starved[h][0]
			q.starved[h] = q.starved[h][1:]
			if ln.where == placeStarved {
				q.ready(ln)
				return true
			}
		}
	}
	return false
}

func (q *queue) wakeUp(now time.Time) {
	for len(q.asleep) > 0 && !q.asleep[0].at.After(now) {
		q.ready(heap.Pop(&q.asleep).(*lane))
	}
}

// turn takes the next item of a principal that may go out.
func (q *queue) turn(s *share, now time.Time) (entry, bool) {
	for len(s.ready) > 0 {
		ln := s.ready[0]
		s.ready = s.ready[1:]
		if ln.where != placeReady {
			continue // it was emptied meanwhile
		}
		switch ok, at := ln.target.may(now); {
		case !ok && at.IsZero():
			ln.where = placeParked
			ln.target.parked = append(ln.target.parked, ln)
			continue
		case !ok:
			ln.where, ln.at = placeAsleep, at
			heap.Push(&q.asleep, ln)
			continue
		case !q.slot(ln.target.health):
			ln.where = placeStarved
			q.starved[ln.target.health] = append(q.starved[ln.target.health], ln)
			continue
		}
		return q.send(s, ln, now), true
	}
	return entry{}, false
}

func (q *queue) send(s *share, ln *lane, now time.Time) entry {
	en := ln.entries[0]
	q.flying[ln.target.health]++
	ln.target.sent(now)
	q.forget(ln, 0)
	q.held[en.id] = true // until it comes back
	if ln.where == placeReady {
		s.ready = append(s.ready, ln)
	}
	return en
}

// slot reports whether a target of a health may have another attempt in
// flight. Those that failed last share half of the slots, and those and the
// unknown ones three quarters: however many of them hang, there is room for the
// ones that answer (notifications, 7.1.6).
func (q *queue) slot(h health) bool {
	all := q.limits.InFlight
	bad, unknown, good := q.flying[healthBad], q.flying[healthUnknown], q.flying[healthGood]
	switch {
	case bad+unknown+good >= all:
		return false
	case h == healthBad:
		return bad < max(1, all/2) && bad+unknown < max(1, all*3/4)
	case h == healthUnknown:
		return bad+unknown < max(1, all*3/4)
	}
	return true
}

// back says that an attempt which began with its target in health h has ended.
func (q *queue) back(en entry, h health, o Outcome, now time.Time) (changed bool) {
	t := q.target(en.target, now)
	delete(q.held, en.id)
	q.flying[h]--
	changed = t.answered(o, now)
	q.unpark(t)
	return changed
}

// strand gives up everything that waits for a target whose breaker is open.
func (q *queue) strand(name string, now time.Time) (stranded []entry) {
	t := q.targets[name]
	if ok, at := t.breaker.may(now); ok || at.IsZero() {
		return nil
	}
	for key, ln := range q.lanes {
		if key.target != name {
			continue
		}
		for len(ln.entries) > 0 {
			last := len(ln.entries) - 1
			stranded = append(stranded, ln.entries[last])
			q.forget(ln, last)
		}
	}
	slices.Reverse(stranded)
	return stranded
}

// withdrawn says that nothing was sent after all.
func (q *queue) withdrawn(en entry, h health, now time.Time) {
	t := q.target(en.target, now)
	delete(q.held, en.id)
	q.flying[h]--
	t.inFlight--
	t.tokens = min(t.tokens+1, float64(t.limits.Burst))
	t.breaker.probing = false
	q.unpark(t)
}

func (q *queue) unpark(t *target) {
	list := t.parked
	t.parked = nil
	for _, ln := range list {
		if ln.where == placeParked {
			q.ready(ln)
		}
	}
}

// rememberTarget is how long an unused target is remembered.
const rememberTarget = 10 * time.Minute

// sweep forgets targets that were not used for long.
func (q *queue) sweep(now time.Time) {
	for name, t := range q.targets {
		if now.Sub(t.used) > rememberTarget && t.idle(now) {
			delete(q.targets, name)
		}
	}
}

// laneHeap is a heap by time.
type laneHeap []*lane

func (h laneHeap) Len() int           { return len(h) }
func (h laneHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h laneHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *laneHeap) Push(x any) {
	ln := x.(*lane)
	ln.index = len(*h)
	*h = append(*h, ln)
}
func (h *laneHeap) Pop() any {
	old := *h
	ln := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return ln
}
