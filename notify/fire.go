package notify

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// finish ends a call in the store, unless it has ended already, and starts what
// is to be delivered.
func (e *Engine) finish(ctx context.Context, id string, end End) (Report, error) {
	var report Report
	var fired []*delivery
	now := time.Now()
	err := e.update(ctx, func(tx Tx) error {
		rec, err := get[call](tx, Calls, id)
		if err != nil {
			return err
		}
		clean, hidden := end.clean(e.mask(ctx, rec))
		if rec.State != callRunning {
			report = rec.report()
			report.Late = true
			return rec.late(tx, clean)
		}
		fired, err = e.end(tx, rec, clean, hidden, now)
		report = rec.report()
		return err
	})
	if err != nil {
		return Report{}, err
	}
	e.start(fired)
	if !report.Late {
		e.metrics.triggers.WithLabelValues(string(end.Trigger)).Inc()
	}
	return report, nil
}

func (e *Engine) mask(ctx context.Context, c *call) MaskPolicy {
	if e.opts.Mask == nil {
		return MaskPolicy{}
	}
	return e.opts.Mask(ctx, c.Server, c.Tool)
}

// late keeps what came after the terminal trigger.
func (c *call) late(tx Tx, end End) error {
	if end.Result == nil || c.Late != nil || c.State != callEnded {
		return nil
	}
	const bound = 1 << 20
	if len(end.Result) <= bound {
		c.Late = end.Result
	}
	return putCall(tx, c)
}

func (c *call) report() Report {
	return Report{Ack: c.Ack, Trigger: c.Trigger, Notifications: c.Items, Errors: c.Errors}
}

// end writes the outcome of a call and what is to be delivered.
func (e *Engine) end(tx Tx, c *call, end End, hidden []string, now time.Time) ([]*delivery, error) {
	running, err := e.foldStreaming(tx, c, now)
	if err != nil {
		return nil, err
	}
	c.State, c.Owner, c.Trigger, c.Ended, c.Deadline = callEnded, "", end.Trigger, now, time.Time{}
	if c.Missed > 0 && !end.Silent {
		c.Errors = append(c.Errors, Missed{Trigger: Streaming, Code: DeadNoRoute, Count: c.Missed})
		e.metrics.noRoute.WithLabelValues(noRouteReported).Inc()
	} else if c.Missed > 0 {
		e.metrics.noRoute.WithLabelValues(noRouteDropped).Inc()
	}
	fired, err := e.fire(tx, c, item{trigger: end.Trigger, end: end, hidden: hidden, fired: now}, running)
	if err != nil {
		return nil, err
	}
	if end.Result != nil && len(end.Result) <= e.limits.ResultBytes {
		row := Row{ID: c.ID, Principal: c.Principal, Created: now, Size: int64(len(end.Result)), Doc: end.Result}
		if err := tx.Put(Results, row); err != nil {
			return nil, err
		}
	}
	return fired, putCall(tx, c)
}

// fire makes the delivery of one trigger in the transaction of what caused it
// (notifications, 6.2). Nothing is made for a trigger that no route asked for.
// running is a streaming delivery of the call that is just being attempted.
func (e *Engine) fire(tx Tx, c *call, it item, running *delivery) ([]*delivery, error) {
	if !slices.Contains(c.Configured, it.trigger) {
		return nil, nil
	}
	route, verify, err := e.choose(tx, c, it.trigger)
	if err != nil {
		return nil, err
	}
	if route < 0 && !it.trigger.Terminal() {
		c.Missed++
		return nil, nil
	}
	c.Seq++
	it.id, it.seq, it.level = newID(deliveryPrefix), c.Seq, c.level(it.trigger)
	d := &delivery{
		ID: it.id, Call: c.ID, Principal: c.Principal, Trigger: it.trigger, Seq: it.seq, Route: route, Verify: verify,
		State: deliveryPending, Owner: e.owner, Fired: it.fired, Due: it.fired, Visits: make([]visit, len(c.Routes)),
	}
	if route >= 0 {
		it.route, d.Target = c.Routes[route].ID, c.Routes[route].Target
		err = e.hold(tx, c, d, running)
	} else {
		e.noRoute(c, d, it.end.Silent)
	}
	if err != nil {
		return nil, err
	}
	if it.trigger.Terminal() {
		c.Items = append(c.Items, d.ID)
	}
	return []*delivery{d}, e.freeze(tx, c, d, &it)
}

// hold lets a delivery wait for what must come first.
func (e *Engine) hold(tx Tx, c *call, d *delivery, running *delivery) error {
	if running != nil && running.Route == d.Route {
		d.After = running.ID
	}
	if c.Routes[d.Route].InOrder && d.After == "" {
		before, err := c.lastOpen(tx, d.Route)
		if err != nil {
			return err
		}
		d.After = before
	}
	if d.Verify || d.After != "" {
		d.State, d.Owner = deliveryWaiting, ""
	}
	if e.isClosing() {
		d.Owner = ""
	}
	return nil
}

// lastOpen is the latest delivery of a route that has not come to its end.
func (c *call) lastOpen(tx Tx, route int) (id string, err error) {
	var last *delivery
	for _, state := range []string{deliveryPending, deliveryWaiting} {
		open, err := find[delivery](tx, Deliveries, Query{Where: []Cond{{ByParent, c.ID}, {ByState, state}}})
		if err != nil {
			return "", err
		}
		for _, d := range open {
			if d.Route == route && (last == nil || d.Seq > last.Seq) {
				last = d
			}
		}
	}
	if last == nil {
		return "", nil
	}
	return last.ID, nil
}

// noRoute does one of the two that the proposal allows, and keeps a dead letter
// in both cases (notifications, 6.4).
func (e *Engine) noRoute(c *call, d *delivery, silent bool) {
	d.State, d.Owner, d.Reason, d.Ended, d.NoRoute = deliveryDead, "", DeadNoRoute, d.Fired, noRouteDropped
	if !silent {
		d.NoRoute = noRouteReported
		c.Errors = append(c.Errors, Missed{Trigger: d.Trigger, Code: DeadNoRoute})
	}
	e.metrics.noRoute.WithLabelValues(d.NoRoute).Inc()
	e.metrics.ended(d)
}

// freeze writes the body and the delivery.
func (e *Engine) freeze(tx Tx, c *call, d *delivery, it *item) error {
	body := c.freeze(it, &e.limits)
	d.Bytes = int64(len(body))
	if len(body) <= maxFresh {
		d.fresh = &fresh{c, body}
	}
	if err := tx.Put(Bodies, Row{ID: d.ID, Parent: c.ID, Size: d.Bytes, Doc: body}); err != nil {
		return err
	}
	return putDelivery(tx, d)
}

// level is the least that any route listing the trigger wants told: the body is
// the same on all of them.
func (c *call) level(t Trigger) Level {
	level, found := PayloadFull, false
	for i := range c.Routes {
		if r := &c.Routes[i]; r.Lists(t) {
			found = true
			if r.Payload == PayloadNone || r.Payload == PayloadThin && level == PayloadFull {
				level = r.Payload
			}
		}
	}
	if !found {
		return PayloadThin
	}
	return level
}

// start hands fresh deliveries to the dispatcher.
func (e *Engine) start(fired []*delivery) {
	for _, d := range fired {
		if d.State == deliveryPending && d.Owner == e.owner {
			e.dispatch.offer(d)
		}
	}
}

// foldStreaming withdraws the streaming items of a call that are not just being
// attempted, because its end is told now. It returns one that is.
func (e *Engine) foldStreaming(tx Tx, c *call, now time.Time) (running *delivery, err error) {
	if c.Seq == 0 {
		return nil, nil
	}
	open, err := find[delivery](tx, Deliveries, Query{Where: []Cond{{ByParent, c.ID}, {ByState, deliveryPending}}})
	if err != nil {
		return nil, err
	}
	for _, d := range open {
		switch {
		case d.Trigger != Streaming:
		case e.dispatch.attempting(d.ID):
			running = d
		default:
			d.State, d.Owner, d.Ended = deliveryFolded, "", now
			if err := e.closeStreaming(tx, d); err != nil {
				return nil, err
			}
		}
	}
	return running, nil
}

// closeStreaming ends a streaming item: only counted, not kept.
func (e *Engine) closeStreaming(tx Tx, d *delivery) error {
	e.metrics.ended(d)
	if err := tx.Delete(Bodies, d.ID); err != nil {
		return err
	}
	return putDelivery(tx, d)
}

func (c *call) summary(tx Tx) (Summary, error) {
	s := Summary{
		CallID: c.ID, RequestID: c.RequestID, Tool: c.Tool, Server: c.Server, State: c.State, Trigger: c.Trigger,
		StartedAt: c.Started, EndedAt: c.Ended, Late: c.Late,
	}
	row, err := tx.Get(Results, c.ID)
	if err == nil {
		s.Result = jsontext.Value(row.Doc)
	}
	return s, ignoreNotFound(err)
}
