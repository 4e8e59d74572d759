package notify

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// dispatcher holds the deliveries this process works on and starts their
// attempts. Its loop is the only one that takes from the queue.
type dispatcher struct {
	e     *Engine
	wake  chan struct{} // holds one token when there may be something to do
	done  chan struct{} // closed when the loop has ended
	tries sync.WaitGroup

	mu     sync.Mutex
	queue  *queue
	active map[string]bool // deliveries being attempted
	late   []*delivery     // claimed again while their last attempt was still active
	claim  time.Time       // when the store is to be looked at
	parked []parked        // to be given back to the store
}

// parked is a delivery for which there was no room, and when to try again.
type parked struct {
	id string
	at time.Time
}

func newDispatcher(e *Engine) *dispatcher {
	return &dispatcher{
		e: e, wake: make(chan struct{}, 1), done: make(chan struct{}), queue: newQueue(&e.limits), active: make(map[string]bool),
	}
}

// poke lets the loop look again.
func (x *dispatcher) poke() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// wakeAt lets the loop look at the store at a time, or before.
func (x *dispatcher) wakeAt(at time.Time) {
	x.mu.Lock()
	sooner := x.claim.IsZero() || at.Before(x.claim)
	if sooner {
		x.claim = at
	}
	x.mu.Unlock()
	if sooner {
		x.poke()
	}
}

// offer takes a delivery this process owns.
func (x *dispatcher) offer(d *delivery) {
	x.mu.Lock()
	x.addLocked(d, time.Now())
	x.mu.Unlock()
	x.poke()
}

// addLocked queues a delivery. One whose last attempt is recorded but has not come
// back may be due already: the machine slept, or its next route is to be tried at
// once. The queue still holds it as being in flight, so it waits for that.
func (x *dispatcher) addLocked(d *delivery, now time.Time) {
	if x.active[d.ID] {
		x.late = append(x.late, d)
		return
	}
	for _, en := range x.queue.evict(1) {
		x.parked = append(x.parked, parked{en.id, now.Add(time.Minute)})
		x.e.metrics.parked.Inc()
	}
	ok, again := x.queue.add(entry{id: d.ID, principal: d.Principal, target: d.Target, fresh: d.fresh}, now)
	if !ok {
		x.parked = append(x.parked, parked{d.ID, again})
		x.e.metrics.parked.Inc()
	}
	x.e.metrics.queued.Set(float64(x.queue.total))
}

// open reports whether a target's breaker lets something through now.
func (x *dispatcher) open(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	t, ok := x.queue.targets[name]
	if !ok {
		return true
	}
	free, _ := t.breaker.may(time.Now())
	return free || t.breaker.probing
}

// attempting reports whether a delivery is being attempted here.
func (x *dispatcher) attempting(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.active[id]
}

func (x *dispatcher) loop() {
	defer close(x.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-x.e.closing:
			return
		case <-x.e.life.Done():
			return
		case <-timer.C:
		case <-x.wake:
		}
		x.unpark()
		if x.claimDue() {
			x.claimFromStore()
		}
		at := x.startReady()
		timer.Reset(max(0, time.Until(at)))
	}
}

// startReady starts every attempt that may start now, and returns when the next
// look is due.
func (x *dispatcher) startReady() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		now := time.Now()
		en, ok, at := x.queue.next(now)
		if !ok {
			if at.IsZero() || x.claim.Before(at) {
				at = x.claim
			}
			return at
		}
		h := x.queue.targets[en.target].health
		x.active[en.id] = true
		x.tries.Go(func() { x.try(en, h) })
	}
}

// try makes one attempt and tells the queue.
func (x *dispatcher) try(en entry, h health) {
	out, again, sent := x.e.attempt(x.e.life, en)
	now := time.Now()
	x.mu.Lock()
	delete(x.active, en.id)
	var stranded []entry
	if sent && x.queue.back(en, h, out, now) {
		stranded = x.queue.strand(en.target, now)
	} else if !sent {
		x.queue.withdrawn(en, h, now)
	}
	for _, d := range append(again, x.lateLocked(en.id)...) {
		x.addLocked(d, now)
	}
	x.mu.Unlock()
	x.rescue(stranded)
	x.poke()
}

// lateLocked takes what was claimed again while a delivery was being attempted.
func (x *dispatcher) lateLocked(id string) (list []*delivery) {
	x.late = slices.DeleteFunc(x.late, func(d *delivery) bool {
		if d.ID == id {
			list = append(list, d)
		}
		return d.ID == id
	})
	return list
}

// rescue lets what waits for a target that has just been found dead go
// elsewhere, if it has somewhere else to go.
func (x *dispatcher) rescue(stranded []entry) {
	if len(stranded) == 0 {
		return
	}
	list := make([]string, len(stranded))
	for i, en := range stranded {
		list[i] = en.id
	}
	again, err := x.e.reconsider(x.e.life, list...)
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if err != nil {
		for _, en := range stranded {
			x.parked = append(x.parked, parked{en.id, now.Add(5 * time.Second)})
		}
		return
	}
	for _, d := range again {
		x.addLocked(d, now)
	}
}

// park gives a delivery back to the store until a time.
func (x *dispatcher) park(id string, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.parked = append(x.parked, parked{id, at})
}

func (x *dispatcher) claimDue() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.claim.After(time.Now())
}

// claimBatch is how many deliveries are claimed in one transaction.
const claimBatch = 256

// claimFromStore takes what is due and belongs to nobody, and notes when to look
// again.
func (x *dispatcher) claimFromStore() {
	now := time.Now()
	claimed, next, full, err := x.e.claim(x.e.life, now)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range claimed {
		x.addLocked(d, now)
	}
	x.claim = now.Add(x.e.opts.Poll)
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		x.e.log.Error("look for due notifications", "err", err)
	case full:
		x.claim = now
		x.poke()
	case !next.IsZero() && next.Before(x.claim):
		x.claim = next
	}
	x.queue.sweep(now)
}

// claim makes due deliveries this engine's own.
func (e *Engine) claim(ctx context.Context, now time.Time) (claimed []*delivery, next time.Time, full bool, err error) {
	free := []Cond{{ByState, deliveryPending}, {ByOwner, ""}}
	some := false
	err = e.store.View(ctx, func(tx Tx) error {
		first, err := find[delivery](tx, Deliveries, Query{Where: free, Order: OrderDue, Limit: 1})
		if err != nil || len(first) == 0 {
			return err
		}
		some, next = !first[0].Due.After(now), first[0].Due
		return nil
	})
	if err != nil || !some {
		return nil, next, false, err
	}
	err = e.update(ctx, func(tx Tx) error {
		claimed, err = find[delivery](tx, Deliveries, Query{Where: free, DueBy: now, Order: OrderDue, Limit: claimBatch})
		if err != nil {
			return err
		}
		batch := claimed
		claimed, full = nil, len(batch) == claimBatch
		for _, d := range batch {
			free, err := e.take(tx, d, now)
			if err != nil {
				return err
			}
			claimed = append(claimed, free...)
		}
		later, err := find[delivery](tx, Deliveries, Query{Where: free, Order: OrderDue, Limit: 1})
		if err == nil && len(later) > 0 {
			next = later[0].Due
		}
		return err
	})
	if err != nil {
		return nil, next, false, err
	}
	return claimed, next, full, nil
}

// take makes a due delivery this engine's, and sends it elsewhere at once if
// that is where it belongs.
func (e *Engine) take(tx Tx, d *delivery, now time.Time) ([]*delivery, error) {
	d.Owner = e.owner
	if d.Moving || !e.dispatch.open(d.Target) {
		return e.redirect(tx, d, now)
	}
	return []*delivery{d}, putDelivery(tx, d)
}

// unpark gives back to the store what there was no room for.
func (x *dispatcher) unpark() {
	x.mu.Lock()
	list := x.parked
	x.parked = nil
	x.mu.Unlock()
	if len(list) == 0 {
		return
	}
	err := x.e.update(x.e.life, func(tx Tx) error {
		for _, p := range list {
			d, err := get[delivery](tx, Deliveries, p.id)
			if err != nil {
				return ignoreNotFound(err)
			}
			if d.Owner != x.e.owner || d.State != deliveryPending {
				continue
			}
			d.Owner, d.Due = "", p.at
			if err := putDelivery(tx, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		x.mu.Lock()
		x.parked = append(x.parked, list...) // the next look tries again
		x.mu.Unlock()
	}
}

// drain waits for the attempts in flight, until ctx ends.
func (x *dispatcher) drain(ctx context.Context) {
	<-x.done
	landed := make(chan struct{})
	x.e.work.Go(func() {
		x.tries.Wait()
		close(landed)
	})
	select {
	case <-landed:
	case <-ctx.Done():
		x.e.stop()
		<-landed
	}
}
