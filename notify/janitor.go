package notify

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	janitorEvery = time.Minute
	janitorBatch = 500
	tooLate      = 5 * time.Minute
)

// janitorLoop removes what has been kept long enough, and takes over asking that
// others left.
func (e *Engine) janitorLoop() {
	ticker := time.NewTicker(min(janitorEvery, 6*e.opts.Lease))
	defer ticker.Stop()
	for {
		if err := e.adoptVerifying(e.life); err != nil && e.life.Err() == nil {
			e.log.Error("look for endpoints to be verified", "err", err)
		}
		if err := e.clean(e.life, time.Now()); err != nil && e.life.Err() == nil {
			e.log.Error("remove old notifications", "err", err)
		}
		select {
		case <-ticker.C:
		case <-e.life.Done():
			return
		}
	}
}

// clean removes at most a batch of each kind; what remains has time until the
// next turn.
func (e *Engine) clean(ctx context.Context, now time.Time) error {
	for more := true; more; {
		var orphans []orphan
		err := e.update(ctx, func(tx Tx) (err error) {
			more, orphans, err = e.cleanSome(tx, now)
			return err
		})
		if err != nil {
			return err
		}
		for _, o := range orphans {
			if err := e.opts.Secrets.Delete(ctx, o.principal, o.ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// orphan is a secret that came with a call which is not kept any more.
type orphan struct{ principal, ref string }

// orphans are the secrets that came with a call.
func (c *call) orphans() (list []orphan) {
	for i := range c.Routes {
		refs := []string{c.Routes[i].SecretRef}
		for _, h := range c.Routes[i].Headers {
			refs = append(refs, h.SecretRef)
		}
		for _, ref := range refs {
			if c.Install == "" && strings.HasPrefix(ref, secretPrefix) {
				list = append(list, orphan{c.Principal, ref})
			}
		}
	}
	return list
}

func (e *Engine) cleanSome(tx Tx, now time.Time) (more bool, orphans []orphan, err error) {
	for state, keep := range map[string]time.Duration{
		deliveryDead: e.limits.KeepDead, deliveryDelivered: e.limits.KeepCalls,
		deliveryFolded: time.Hour, deliveryLost: e.limits.KeepCalls,
	} {
		old, err := tx.Find(Deliveries, Query{Where: []Cond{{ByState, state}}, CreatedBefore: now.Add(-keep), Order: OrderCreated, Limit: janitorBatch})
		if err != nil {
			return false, nil, err
		}
		for _, r := range old {
			if err := removeDelivery(tx, r.ID); err != nil {
				return false, nil, err
			}
		}
		more = more || len(old) == janitorBatch
	}
	some, orphans, err := e.cleanCalls(tx, now)
	if err != nil {
		return false, nil, err
	}
	// What an installation has caused asks for it until it is delivered or dead.
	for table, keep := range map[Table]time.Duration{Installs: e.limits.KeepDead, Endpoints: keepEndpoints} {
		if err := cleanUnused(tx, table, now.Add(-keep)); err != nil {
			return false, nil, err
		}
	}
	return more || some, orphans, e.evictDead(tx)
}

// keepEndpoints is how long an endpoint is remembered that nobody uses; one that
// is disabled is remembered for good.
const keepEndpoints = 90 * 24 * time.Hour

// cleanUnused removes rows that were due before a time.
func cleanUnused(tx Tx, t Table, before time.Time) error {
	old, err := tx.Find(t, Query{DueBy: before, Limit: janitorBatch})
	if err != nil {
		return err
	}
	for _, r := range old {
		if r.State == endpointDisabled {
			continue
		}
		if err := tx.Delete(t, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// cleanCalls removes ended calls of which no delivery is left.
func (e *Engine) cleanCalls(tx Tx, now time.Time) (more bool, orphans []orphan, err error) {
	for _, state := range []string{callEnded, callSuperseded, callFiltered} {
		old, err := find[call](tx, Calls, Query{
			Where: []Cond{{ByState, state}}, CreatedBefore: now.Add(-e.limits.KeepCalls - e.limits.CallTimeout), Order: OrderCreated, Limit: janitorBatch,
		})
		if err != nil {
			return false, nil, err
		}
		removed := 0
		for _, c := range old {
			left, err := tx.Count(Deliveries, Query{Where: []Cond{{ByParent, c.ID}}, Limit: 1})
			if err != nil {
				return false, nil, err
			}
			if left > 0 {
				continue
			}
			removed++
			orphans = append(orphans, c.orphans()...)
			if err := tx.Delete(Results, c.ID); err != nil {
				return false, nil, err
			}
			if err := tx.Delete(Calls, c.ID); err != nil {
				return false, nil, err
			}
		}
		more = more || len(old) == janitorBatch && removed > 0
	}
	return more, orphans, nil
}

// evictDead removes the oldest dead letters of principals that have too many.
func (e *Engine) evictDead(tx Tx) error {
	dead := Query{Where: []Cond{{ByState, deliveryDead}}}
	n, err := tx.Count(Deliveries, dead)
	if err != nil {
		return err
	}
	size, err := tx.Size(Deliveries, dead)
	if err != nil || n <= e.limits.DeadItems && size <= e.limits.DeadBytes {
		return err // nobody can have too many
	}
	rows, err := tx.Find(Deliveries, Query{Where: dead.Where, Order: OrderNewest})
	if err != nil {
		return err
	}
	count, bytes := make(map[string]int), make(map[string]int64)
	for _, r := range rows {
		count[r.Principal]++
		bytes[r.Principal] += r.Size
		if count[r.Principal] <= e.limits.DeadItems && bytes[r.Principal] <= e.limits.DeadBytes {
			continue
		}
		e.metrics.evicted.Inc()
		if err := removeDelivery(tx, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// removeDelivery removes a delivery with its body and attempts.
func removeDelivery(tx Tx, id string) error {
	tries, err := tx.Find(Attempts, Query{Where: []Cond{{ByParent, id}}})
	if err != nil {
		return err
	}
	for _, r := range tries {
		if err := tx.Delete(Attempts, r.ID); err != nil {
			return err
		}
	}
	if err := tx.Delete(Bodies, id); err != nil {
		return err
	}
	return tx.Delete(Deliveries, id)
}

// overdue reports that something due has been waiting for too long without
// anybody working on it.
func (e *Engine) overdue(ctx context.Context) error {
	return e.store.View(ctx, func(tx Tx) error {
		free := []Cond{{ByState, deliveryPending}, {ByOwner, ""}}
		n, err := tx.Count(Deliveries, Query{Where: free, DueBy: time.Now().Add(-tooLate), Limit: 1})
		if err == nil && n > 0 {
			err = fmt.Errorf("a notification has been due for more than %v", tooLate)
		}
		return err
	})
}
