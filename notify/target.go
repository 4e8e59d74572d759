package notify

import "time"

// health is what the last attempt at a target said of it.
type health int

const (
	healthUnknown health = iota
	healthGood
	healthBad
)

// target is one scheme, host and port: what may be sent to it, and how fast.
type target struct {
	name     string
	limits   TargetLimits
	tokens   float64
	filled   time.Time // when tokens was true
	inFlight int
	queued   int
	breaker  breaker
	paused   time.Time // nothing goes out before
	health   health
	used     time.Time // when something was sent last
	parked   []*lane   // lanes that wait for room here
}

func newTarget(name string, l TargetLimits, now time.Time) *target {
	return &target{name: name, limits: l, tokens: float64(l.Burst), filled: now, used: now}
}

// may reports whether something can be sent now; if not, from when on, with the
// zero time for "when something in flight has come back".
func (t *target) may(now time.Time) (ok bool, at time.Time) {
	if t.inFlight >= t.limits.InFlight {
		return false, at
	}
	if now.Before(t.paused) {
		return false, t.paused
	}
	if ok, at := t.breaker.may(now); !ok {
		return false, at
	}
	t.fill(now)
	if t.tokens < 1 {
		wait := time.Duration((1 - t.tokens) / t.limits.Rate * float64(time.Second))
		return false, now.Add(max(wait, time.Millisecond))
	}
	return true, at
}

func (t *target) fill(now time.Time) {
	if gone := now.Sub(t.filled); gone > 0 {
		t.tokens = min(t.tokens+gone.Seconds()*t.limits.Rate, float64(t.limits.Burst))
	}
	t.filled = now
}

func (t *target) sent(now time.Time) {
	t.used = now
	t.tokens--
	t.inFlight++
	t.breaker.sent()
}

// answered takes what an attempt came to. Any answer that is not transient
// shows that the target lives.
func (t *target) answered(o Outcome, now time.Time) (changed bool) {
	t.inFlight--
	ok := o.Class != ClassTransient
	t.health = healthGood
	if o.Class != ClassDelivered {
		t.health = healthBad
	}
	if o.PauseTarget && o.RetryAfter.After(t.paused) {
		t.paused, changed = o.RetryAfter, true
	}
	return t.breaker.answered(ok, now) || changed
}

// idle reports that forgetting the target would change nothing.
func (t *target) idle(now time.Time) bool {
	t.fill(now)
	return t.inFlight == 0 && t.queued == 0 && t.breaker == breaker{} && !now.Before(t.paused) && t.tokens >= float64(t.limits.Burst)
}
