package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// ownerRecord is a process that works on the store. It lives while its counter
// moves.
type ownerRecord struct {
	Beats int64 `json:"beats"`
}

// lostOwners is what this process knows of the others. It belongs to leaseLoop.
type lostOwners struct {
	seen map[string]sighting
}

type sighting struct {
	beats int64
	at    time.Time // of our own clock
}

// beat shows the others that this process lives.
func (e *Engine) beat(ctx context.Context, n int64) error {
	err := e.update(ctx, func(tx Tx) error {
		return tx.Put(Owners, Row{ID: e.owner, Created: time.Now(), Doc: mustJSON(ownerRecord{Beats: n})})
	})
	if err != nil {
		return fmt.Errorf("enter the notification store: %w", err)
	}
	return nil
}

// leaseLoop beats, and takes over what processes that stopped beating had in
// work.
func (e *Engine) leaseLoop() {
	ticker := time.NewTicker(e.opts.Lease / 3)
	defer ticker.Stop()
	e.lost.seen = make(map[string]sighting)
	for n := int64(1); ; n++ {
		if err := e.takeOver(e.life); err != nil && e.life.Err() == nil {
			e.log.Error("look for what other processes left", "err", err)
		}
		select {
		case <-ticker.C:
		case <-e.life.Done():
			return
		}
		if err := e.beat(e.life, n); err != nil && e.life.Err() == nil {
			e.log.Error("could not renew the lease on notifications", "err", err)
		}
	}
}

// takeOver ends what silent processes had in work. A process is silent when its
// counter has not moved for a lease by our own clock, which stands still while
// the machine sleeps.
func (e *Engine) takeOver(ctx context.Context) error {
	var rows []Row
	err := e.store.View(ctx, func(tx Tx) (err error) {
		rows, err = tx.Find(Owners, Query{})
		return err
	})
	if err != nil {
		return err
	}
	now := time.Now()
	present := make(map[string]sighting, len(rows))
	for _, r := range rows {
		var o ownerRecord
		if r.ID == e.owner || json.Unmarshal(r.Doc, &o) != nil {
			continue
		}
		s, known := e.lost.seen[r.ID]
		if !known || s.beats != o.Beats {
			s = sighting{o.Beats, now}
		}
		if now.Sub(s.at) < e.opts.Lease {
			present[r.ID] = s
			continue
		}
		if err := e.inherit(ctx, r.ID, o.Beats); err != nil {
			return err
		}
	}
	e.lost.seen = present
	return nil
}

// inheritBatch is how many records are taken over in one transaction.
const inheritBatch = 200

// errAlive ends a take-over of somebody who is there after all.
var errAlive = errors.New("the owner is alive")

// inherit ends the running calls of a process as interrupted and frees its
// deliveries. No tool is run again.
func (e *Engine) inherit(ctx context.Context, owner string, beats int64) error {
	e.log.Warn("taking over notifications of a process that has gone", "owner", owner)
	for more := true; more; {
		var fired []*delivery
		err := e.update(ctx, func(tx Tx) error {
			if err := stillSilent(tx, owner, beats); err != nil {
				return err
			}
			var err error
			fired, more, err = e.inheritSome(tx, owner)
			if err == nil && !more {
				err = tx.Delete(Owners, owner)
			}
			return err
		})
		if errors.Is(err, errAlive) || errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		e.start(fired)
		for range fired {
			e.metrics.interrupted.Inc()
		}
	}
	e.dispatch.wakeAt(time.Now())
	return nil
}

func stillSilent(tx Tx, owner string, beats int64) error {
	o, err := get[ownerRecord](tx, Owners, owner)
	if err == nil && o.Beats != beats {
		return errAlive
	}
	return err
}

// inheritSome takes over one batch. more is true until nothing is left.
func (e *Engine) inheritSome(tx Tx, owner string) (fired []*delivery, more bool, err error) {
	now := time.Now()
	theirs := func(state string) Query {
		return Query{Where: []Cond{{ByOwner, owner}, {ByState, state}}, Limit: inheritBatch}
	}
	calls, err := find[call](tx, Calls, theirs(callRunning))
	if err != nil {
		return nil, false, err
	}
	for _, c := range calls {
		list, err := e.end(tx, c, EndInterrupted(), nil, now)
		if err != nil {
			return nil, false, err
		}
		fired = append(fired, list...)
	}
	items, err := find[delivery](tx, Deliveries, theirs(deliveryPending))
	if err != nil {
		return nil, false, err
	}
	for _, d := range items {
		d.Owner = ""
		if err := putDelivery(tx, d); err != nil {
			return nil, false, err
		}
	}
	asked, err := find[endpoint](tx, Endpoints, theirs(endpointVerifying))
	if err != nil {
		return nil, false, err
	}
	for _, ep := range asked {
		ep.Owner = ""
		if err := putEndpoint(tx, ep); err != nil {
			return nil, false, err
		}
	}
	return fired, len(calls)+len(items)+len(asked) > 0, nil
}

// release leaves the store: what is running is interrupted, what is due belongs
// to nobody.
func (e *Engine) release(ctx context.Context) error {
	for more := true; more; {
		err := e.update(ctx, func(tx Tx) (err error) {
			_, more, err = e.inheritSome(tx, e.owner)
			if err == nil && !more {
				err = tx.Delete(Owners, e.owner)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("leave the notification store: %w", err)
		}
	}
	return nil
}
