package notify

import "time"

// plan is what decides where a delivery goes after an attempt. It is pure: what
// it must know of the world it is told.
type plan struct {
	routes   int
	eligible func(route int) bool // can take the trigger now
	usable   func(route int) bool // may take it later: it lists it and is not disabled
	hold     func(route int) time.Duration
	now      time.Time
	jitter   func() float64
	limits   *Limits
}

// advance moves a delivery on after an attempt on its route (notifications,
// 6.3). It is delivered, due again on some route, or dead.
func (p *plan) advance(d *delivery, o Outcome) {
	v := &d.Visits[d.Route]
	if v.Since.IsZero() {
		v.Since = p.now
	}
	v.Attempts++
	v.Last = o.Class
	d.Last, d.Moving, d.RetryAt = o.Category, false, time.Time{}
	switch {
	case o.Class == ClassDelivered:
		d.end(deliveryDelivered, "", p.now)
	case d.Trigger == Streaming:
		p.streaming(d, o)
	case o.Abort:
		d.end(deliveryDead, DeadAborted, p.now)
	case o.Class == ClassPermanent:
		p.leave(d, deadReason(o))
	case o.Class == ClassSoft:
		p.soft(d, o)
	default:
		p.transient(d, o)
	}
}

func deadReason(o Outcome) string {
	if o.Disable {
		return DeadDisabled
	}
	return DeadPermanent
}

func (d *delivery) end(state, reason string, now time.Time) {
	d.State, d.Reason, d.Owner, d.Ended, d.Moving = state, reason, "", now, false
}

// streaming items are tried a few times within a short while, and then lost.
func (p *plan) streaming(d *delivery, o Outcome) {
	at, ok := nextTry(1, o, p.now, p.jitter())
	if !ok || o.Abort || d.Attempts >= p.limits.StreamingTries || at.After(d.Fired.Add(p.limits.StreamingFor)) {
		d.end(deliveryLost, "", p.now)
		return
	}
	if next := p.after(d.Route); next >= 0 && o.Class != ClassTransient {
		p.move(d, next)
		return
	}
	d.wait(at)
}

func (d *delivery) wait(at time.Time) {
	d.State, d.Owner, d.Due = deliveryPending, "", at
}

// leave goes to the next route, or back to the best one that was only transient.
func (p *plan) leave(d *delivery, reason string) {
	if !d.Home {
		if next := p.after(d.Route); next >= 0 {
			p.move(d, next)
			return
		}
	}
	if !p.goHome(d) {
		d.end(deliveryDead, reason, p.now)
	}
}

// soft moves on if another route can take it, else keeps trying.
func (p *plan) soft(d *delivery, o Outcome) {
	if !d.Home {
		if next := p.after(d.Route); next >= 0 {
			p.move(d, next)
			return
		}
	}
	if p.goHome(d) {
		return
	}
	p.retry(d, o)
}

// transient stays for a while, while there is another way, and for good when
// there is none.
func (p *plan) transient(d *delivery, o Outcome) {
	if d.Home || p.after(d.Route) < 0 && p.home(d) < 0 {
		p.retry(d, o)
		return
	}
	at, ok := nextTry(d.Visits[d.Route].Attempts, o, p.now, p.jitter())
	until := d.Visits[d.Route].Since.Add(p.hold(d.Route))
	switch {
	case !ok || !until.After(p.now):
		p.leave(d, DeadExhausted)
	case at.Before(until):
		d.wait(at)
	default:
		d.wait(until)
		d.Moving, d.RetryAt = true, at
	}
}

// retry tries the same route again, as long as its schedule lasts.
func (p *plan) retry(d *delivery, o Outcome) {
	at, ok := nextTry(d.Visits[d.Route].Attempts, o, p.now, p.jitter())
	if !ok {
		d.end(deliveryDead, DeadExhausted, p.now)
		return
	}
	d.wait(at)
}

// resume takes a delivery whose time to move on has come. It reports whether it
// is still to be attempted now, where it stands then.
func (p *plan) resume(d *delivery) bool {
	if !d.Moving {
		return true
	}
	retryAt := d.RetryAt
	d.Moving, d.RetryAt = false, time.Time{}
	if next := p.after(d.Route); next >= 0 {
		p.move(d, next)
		return true
	}
	if p.goHome(d) {
		return !d.Due.After(p.now)
	}
	d.wait(retryAt)
	return false
}

// after is the next route down the list that can take it now; -1 for none.
func (p *plan) after(route int) int {
	for i := route + 1; i < p.routes; i++ {
		if p.eligible(i) {
			return i
		}
	}
	return -1
}

// move goes on with another route at once.
func (p *plan) move(d *delivery, to int) {
	d.Route = to
	d.Visits[to].Since = time.Time{}
	d.wait(p.now)
}

// home is the first route, by preference, that failed in a way that may pass
// and has attempts left, other than where the delivery is; -1 for none.
func (p *plan) home(d *delivery) int {
	for i := range d.Visits {
		v := &d.Visits[i]
		if i != d.Route && v.Last == ClassTransient && v.Attempts < len(schedule) && p.usable(i) {
			return i
		}
	}
	return -1
}

// goHome spends the rest of the attempts on the best route that was only
// transient: the one it is on, or an earlier one.
func (p *plan) goHome(d *delivery) bool {
	to := p.home(d)
	here := &d.Visits[d.Route]
	if here.Last == ClassTransient && here.Attempts < len(schedule) && (to < 0 || d.Route < to) && p.usable(d.Route) {
		to = d.Route
	}
	if to < 0 {
		return false
	}
	at, ok := nextTry(d.Visits[to].Attempts, Outcome{}, p.now, p.jitter())
	if !ok {
		return false
	}
	d.Route, d.Home = to, true
	d.wait(at)
	return true
}
