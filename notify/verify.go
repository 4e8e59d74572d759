package notify

import (
	"context"
	"time"
)

// verifyPauses are the pauses before each challenge of an endpoint.
var verifyPauses = []time.Duration{0, 2 * time.Second, 10 * time.Second, 30 * time.Second}

// proofFor is how long an endpoint's own proof holds.
const proofFor = 30 * 24 * time.Hour

// verifyAll begins to ask endpoints whether they want deliveries.
func (e *Engine) verifyAll(list []string) {
	for _, id := range list {
		e.work.Go(func() { e.verify(e.life, id) })
	}
}

// verify asks an endpoint a few times and writes down how it ended.
func (e *Engine) verify(ctx context.Context, id string) {
	var ep *endpoint
	err := e.store.View(ctx, func(tx Tx) (err error) {
		ep, err = get[endpoint](tx, Endpoints, id)
		return err
	})
	if err != nil || ep.State != endpointVerifying || ep.Owner != e.owner {
		return
	}
	v, ok := e.types[ep.Type].(Verifier)
	if !ok {
		return
	}
	out := e.ask(ctx, v, ep)
	if ctx.Err() != nil {
		return // the next engine on the store asks again
	}
	if err := e.verified(ctx, id, out); err != nil {
		e.log.Error("could not keep the proof of an endpoint", "endpoint", id, "err", err)
	}
}

func (e *Engine) ask(ctx context.Context, v Verifier, ep *endpoint) (out Outcome) {
	for _, pause := range verifyPauses {
		if !sleep(ctx, pause) {
			return out
		}
		bounded, cancel := context.WithTimeout(ctx, e.limits.AttemptTimeout)
		out = v.Verify(bounded, &ep.Route, e.credentials(ep.Principal, &ep.Route))
		cancel()
		e.log.Info("endpoint asked", "endpoint", ep.ID, "class", out.Class, "category", out.Category, "status", out.Status)
		if out.Class != ClassTransient {
			return out
		}
	}
	return out
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// verified writes down how asking ended, and lets what waited for it go on.
func (e *Engine) verified(ctx context.Context, id string, out Outcome) error {
	now := time.Now()
	var free []*delivery
	err := e.update(ctx, func(tx Tx) error {
		ep, err := get[endpoint](tx, Endpoints, id)
		if err != nil || ep.State != endpointVerifying {
			return ignoreNotFound(err)
		}
		ep.Owner, ep.State, ep.Reason = "", endpointFailed, out.Category
		if out.Class == ClassDelivered {
			ep.State, ep.Reason, ep.VerifiedTill = endpointVerified, "", now.Add(proofFor)
		}
		if err := putEndpoint(tx, ep); err != nil {
			return err
		}
		free, err = e.unhold(tx, ep, now)
		return err
	})
	if err != nil {
		return err
	}
	e.start(free)
	return nil
}

// unhold decides about the deliveries that waited for an endpoint.
func (e *Engine) unhold(tx Tx, ep *endpoint, now time.Time) (free []*delivery, err error) {
	waiting, err := find[delivery](tx, Deliveries, Query{Where: []Cond{{ByPrincipal, ep.Principal}, {ByState, deliveryWaiting}}})
	if err != nil {
		return nil, err
	}
	for _, d := range waiting {
		c, err := get[call](tx, Calls, d.Call)
		if err != nil {
			return nil, err
		}
		if !d.Verify || e.endpointID(d.Principal, &c.Routes[d.Route]) != ep.ID {
			continue
		}
		more, err := e.unholdOne(tx, c, d, now)
		if err != nil {
			return nil, err
		}
		free = append(free, more...)
	}
	return free, nil
}

// unholdOne chooses a route anew. Without one the trigger had none after all.
func (e *Engine) unholdOne(tx Tx, c *call, d *delivery, now time.Time) ([]*delivery, error) {
	route, verify, err := e.choose(tx, c, d.Trigger)
	if err != nil {
		return nil, err
	}
	d.Verify = verify
	switch {
	case route < 0 && d.Trigger == Streaming:
		d.end(deliveryLost, "", now)
	case route < 0:
		d.end(deliveryDead, DeadNoRoute, now)
		d.NoRoute = noRouteDropped
		e.metrics.noRoute.WithLabelValues(d.NoRoute).Inc()
	default:
		d.Route = route
		if !verify && d.After == "" {
			d.State, d.Due = deliveryPending, now
		}
	}
	return e.placed(tx, c, d, now)
}

// adoptVerifying takes over the asking that a process left behind.
func (e *Engine) adoptVerifying(ctx context.Context) error {
	free := Query{Where: []Cond{{ByState, endpointVerifying}, {ByOwner, ""}}, Limit: 16}
	found := 0
	err := e.store.View(ctx, func(tx Tx) (err error) {
		found, err = tx.Count(Endpoints, free)
		return err
	})
	if err != nil || found == 0 {
		return err
	}
	var list []string
	err = e.update(ctx, func(tx Tx) error {
		eps, err := find[endpoint](tx, Endpoints, free)
		for _, ep := range eps {
			ep.Owner = e.owner
			if err := putEndpoint(tx, ep); err != nil {
				return err
			}
			list = append(list, ep.ID)
		}
		return err
	})
	if err == nil {
		e.verifyAll(list)
	}
	return err
}
