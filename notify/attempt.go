package notify

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"
)

// job is a delivery with what its attempt needs.
type job struct {
	d     *delivery
	c     *call
	body  []byte
	route *Route
	well  bool // its endpoint was not failing
}

// attempt makes the next attempt of a delivery, if it is still to be made, and
// records what came of it. again are deliveries that may start because of it.
// sent is false when nothing was sent.
func (e *Engine) attempt(ctx context.Context, en entry) (out Outcome, again []*delivery, sent bool) {
	j, again, err := e.prepare(ctx, en)
	if err != nil && ctx.Err() == nil {
		e.log.Error("a notification could not be read; it is tried again", "notification", en.id, "err", err)
		e.dispatch.park(en.id, time.Now().Add(5*time.Second))
	}
	if err != nil || j == nil {
		return out, again, false
	}
	e.crash("before-send")
	started := time.Now()
	out = e.send(ctx, j)
	if ctx.Err() != nil && out.Class != ClassDelivered {
		return out, nil, false // given up, not failed: it stays as it was
	}
	e.crash("after-send")
	at := Attempt{
		Number: j.d.Attempts + 1, Route: j.route.ID, Started: started, Millis: time.Since(started).Milliseconds(),
		Class: out.Class, Category: out.Category, Status: out.Status,
	}
	again, d := e.record(ctx, j, out, at)
	e.crash("after-record")
	e.told(j, at, d)
	return out, again, true
}

func (e *Engine) send(ctx context.Context, j *job) Outcome {
	ctx, cancel := context.WithTimeout(ctx, e.limits.AttemptTimeout)
	defer cancel()
	m := Message{ID: j.d.ID, CallID: j.c.ID, Attempt: j.d.Attempts + 1, Body: j.body, Trace: j.c.Trace}
	out := e.types[j.route.Type].Attempt(ctx, j.route, m, e.credentials(j.d.Principal, j.route))
	if latest := time.Now().Add(mostRetryAfter); out.RetryAfter.After(latest) {
		out.RetryAfter = latest
	}
	return out
}

// prepare reads a delivery anew and checks everything that may have changed
// since it was queued. It returns no job when there is nothing to send there now.
func (e *Engine) prepare(ctx context.Context, en entry) (j *job, again []*delivery, err error) {
	j = &job{}
	stale := false
	err = e.store.View(ctx, func(tx Tx) (err error) {
		if j.d, err = get[delivery](tx, Deliveries, en.id); err != nil {
			return err
		}
		if j.d.State != deliveryPending || j.d.Owner != e.owner {
			j.d = nil
			return nil
		}
		if err := j.content(tx, en.fresh); err != nil {
			return err
		}
		j.route = &j.c.Routes[j.d.Route]
		stale, err = e.stale(tx, j)
		return err
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil, nil // purged meanwhile
	case err != nil:
		return nil, nil, err
	case j.d == nil:
		return nil, nil, nil
	case stale:
		again, err = e.reconsider(ctx, en.id)
		return nil, again, err
	}
	return j, nil, nil
}

// content reads what never changes, unless it is at hand.
func (j *job) content(tx Tx, at *fresh) (err error) {
	if at != nil {
		j.c, j.body = at.call, at.body
		return nil
	}
	if j.c, err = get[call](tx, Calls, j.d.Call); err != nil {
		return err
	}
	row, err := tx.Get(Bodies, j.d.ID)
	j.body = row.Doc
	return err
}

// stale reports whether a delivery cannot go where it was to go.
func (e *Engine) stale(tx Tx, j *job) (bool, error) {
	if j.d.Moving || e.expiredItem(j.d) {
		return true, nil
	}
	gone, err := e.withdrawn(tx, j.c)
	if err != nil || gone {
		return gone, err
	}
	s, ep, err := e.stands(tx, j.c, j.d, j.d.Route)
	j.well = ep != nil && ep.FailingSince.IsZero()
	return s == standsNever || s == standsVerifying, err
}

func (e *Engine) expiredItem(d *delivery) bool {
	return d.Trigger == Streaming && time.Since(d.Fired) > e.limits.StreamingFor
}

// withdrawn reports whether the installation a call followed was removed.
func (e *Engine) withdrawn(tx Tx, c *call) (bool, error) {
	if c.Install == "" {
		return false, nil
	}
	_, err := tx.Get(Installs, c.Install)
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	return false, err
}

// reconsider decides anew about deliveries of this engine that cannot go where
// they were to go, and returns those that can go somewhere now.
func (e *Engine) reconsider(ctx context.Context, list ...string) (again []*delivery, err error) {
	now := time.Now()
	err = e.update(ctx, func(tx Tx) error {
		for _, id := range list {
			d, err := get[delivery](tx, Deliveries, id)
			if errors.Is(err, ErrNotFound) || err == nil && (d.State != deliveryPending || d.Owner != e.owner) {
				continue
			}
			if err != nil {
				return err
			}
			free, err := e.redirect(tx, d, now)
			if err != nil {
				return err
			}
			again = append(again, free...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return again, nil
}

// redirect finds the place of a delivery whose route fell away, is paused, or
// is to be left. It returns what can be attempted now.
func (e *Engine) redirect(tx Tx, d *delivery, now time.Time) (free []*delivery, err error) {
	c, err := get[call](tx, Calls, d.Call)
	if err != nil {
		return nil, err
	}
	gone, err := e.withdrawn(tx, c)
	if err != nil {
		return nil, err
	}
	s, _, err := e.stands(tx, c, d, d.Route)
	if err != nil {
		return nil, err
	}
	p, err := e.plan(tx, c, d, now)
	if err != nil {
		return nil, err
	}
	switch {
	case e.expiredItem(d):
		d.end(deliveryLost, "", now)
	case gone, !e.authorized(d.Principal):
		d.end(deliveryDead, DeadDisabled, now)
	case s == standsVerifying:
		d.State, d.Verify, d.Owner = deliveryWaiting, true, ""
	case s == standsNever:
		d.Moving = false
		d.Visits[d.Route].Last = ClassPermanent
		p.leave(d, DeadDisabled)
	case s == standsPaused && !d.Home && p.after(d.Route) >= 0:
		p.move(d, p.after(d.Route))
	default:
		p.resume(d)
	}
	return e.placed(tx, c, d, now)
}

// placed writes a delivery that was moved, and returns what can start now: it
// or those that waited for it.
func (e *Engine) placed(tx Tx, c *call, d *delivery, now time.Time) (free []*delivery, err error) {
	if d.Route >= 0 {
		d.Target = c.Routes[d.Route].Target
	}
	if c.waits(d) {
		if free, err = e.successors(tx, d, now); err != nil {
			return nil, err
		}
	}
	if d.State == deliveryPending && !d.Due.After(now) {
		d.Owner = e.owner
		free = append(free, d)
	}
	return free, e.close(tx, d, now)
}

// plan is what advance and its kin need to know, read in the transaction.
func (e *Engine) plan(tx Tx, c *call, d *delivery, now time.Time) (*plan, error) {
	stands := make([]standing, len(c.Routes))
	for i := range c.Routes {
		s, _, err := e.stands(tx, c, d, i)
		if err != nil {
			return nil, err
		}
		stands[i] = s
	}
	return &plan{
		routes:   len(c.Routes),
		eligible: func(i int) bool { return stands[i] == standsReady },
		usable:   func(i int) bool { return stands[i] == standsReady || stands[i] == standsPaused },
		hold: func(i int) time.Duration {
			if f := c.Routes[i].FailoverAfter; f > 0 {
				return f
			}
			return e.limits.FailoverAfter
		},
		now: now, jitter: e.opts.Jitter, limits: &e.limits,
	}, nil
}

// record writes what an attempt came to. It does not give up before the engine
// does: the other side has seen the attempt.
func (e *Engine) record(ctx context.Context, j *job, out Outcome, at Attempt) (again []*delivery, d *delivery) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		var err error
		again, d, err = e.recordOnce(ctx, j, out, at)
		if err == nil || ctx.Err() != nil {
			return again, d
		}
		e.log.Error("an attempt could not be recorded; it is tried again", "notification", j.d.ID, "err", err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, nil
		}
	}
}

func (e *Engine) recordOnce(ctx context.Context, j *job, out Outcome, at Attempt) (again []*delivery, d *delivery, err error) {
	now := time.Now()
	var due time.Time
	err = e.update(context.WithoutCancel(ctx), func(tx Tx) error {
		if d, err = get[delivery](tx, Deliveries, j.d.ID); err != nil {
			return err
		}
		if d.Owner != e.owner || d.State != deliveryPending {
			return nil // somebody took it over while it was on the way
		}
		if err := e.outcome(tx, j, d, out, now); err != nil {
			return err
		}
		d.Attempts++
		row := Row{ID: d.ID + "/" + attemptID(at.Number), Parent: d.ID, Created: at.Started, Doc: mustJSON(at)}
		if err := tx.Put(Attempts, row); err != nil {
			return err
		}
		p := &plan{now: now} // a delivered one goes nowhere else
		if out.Class != ClassDelivered {
			if p, err = e.plan(tx, j.c, d, now); err != nil {
				return err
			}
		}
		p.advance(d, out)
		due = d.Due
		again, err = e.placed(tx, j.c, d, now)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil, nil, nil // purged meanwhile
	}
	if err != nil {
		return nil, nil, err
	}
	if d.State == deliveryPending && d.Owner == "" {
		e.dispatch.wakeAt(due)
	}
	return again, d, nil
}

// close writes a delivery and, when it has come to its end, what follows.
func (e *Engine) close(tx Tx, d *delivery, now time.Time) error {
	switch d.State {
	case deliveryFolded, deliveryLost:
		return e.closeStreaming(tx, d)
	case deliveryDead, deliveryDelivered:
		e.metrics.ended(d)
		if d.State == deliveryDelivered {
			e.metrics.toDelivered.Observe(now.Sub(d.Fired).Seconds())
		}
	}
	return putDelivery(tx, d)
}

// waits reports whether other deliveries of the call may wait for one.
func (c *call) waits(d *delivery) bool {
	return d.Trigger == Streaming || slices.ContainsFunc(c.Routes, func(r Route) bool { return r.InOrder })
}

// successors are the deliveries that waited for one that has come to its end.
// Waiting is not a failure: they start at once.
func (e *Engine) successors(tx Tx, d *delivery, now time.Time) ([]*delivery, error) {
	if d.State == deliveryPending || d.State == deliveryWaiting {
		return nil, nil
	}
	waiting, err := find[delivery](tx, Deliveries, Query{Where: []Cond{{ByParent, d.Call}, {ByState, deliveryWaiting}}})
	if err != nil {
		return nil, err
	}
	var free []*delivery
	for _, w := range waiting {
		if w.After != d.ID {
			continue
		}
		w.After = ""
		if !w.Verify {
			w.State, w.Due, w.Owner = deliveryPending, now, e.owner
			free = append(free, w)
		}
		if err := putDelivery(tx, w); err != nil {
			return nil, err
		}
	}
	return free, nil
}

// outcome notes at the endpoint what an attempt says of it.
func (e *Engine) outcome(tx Tx, j *job, d *delivery, out Outcome, now time.Time) error {
	if out.Class == ClassDelivered && j.well {
		return nil
	}
	r := j.route
	ep, err := get[endpoint](tx, Endpoints, e.endpointID(d.Principal, r))
	if err != nil {
		return ignoreNotFound(err)
	}
	switch {
	case out.Disable:
		ep.State, ep.Reason = endpointDisabled, out.Category
	case out.Class == ClassDelivered && ep.FailingSince.IsZero():
		return nil
	case out.Class == ClassDelivered:
		ep.FailingSince = time.Time{}
	case ep.FailingSince.IsZero():
		ep.FailingSince = now
	case now.Sub(ep.FailingSince) >= e.limits.DisableAfter && ep.State == endpointVerified:
		ep.State, ep.Reason = endpointDisabled, "nothing but failures"
	default:
		return nil
	}
	return putEndpoint(tx, ep)
}

// told logs an attempt: ids, class and timing, nothing of what was sent or to
// where.
func (e *Engine) told(j *job, at Attempt, d *delivery) {
	e.metrics.attempts.WithLabelValues(j.route.Type, string(at.Class)).Inc()
	e.metrics.latency.Observe(float64(at.Millis) / 1000)
	if d != nil && d.Route != j.d.Route {
		e.metrics.failovers.Inc()
	}
	level := slog.LevelInfo
	if at.Class != ClassDelivered {
		level = slog.LevelWarn
	}
	state := ""
	if d != nil {
		state = d.State
	}
	e.log.Log(context.WithoutCancel(e.life), level, "notification attempt", "notification", j.d.ID, "call", j.c.ID, "trigger", j.d.Trigger,
		"type", j.route.Type, "route", j.route.ID, "attempt", at.Number, "class", at.Class, "category", at.Category,
		"status", at.Status, "millis", at.Millis, "state", state)
}

func attemptID(n int) string {
	const digits = "0123456789"
	return string([]byte{digits[n/100%10], digits[n/10%10], digits[n%10]})
}
