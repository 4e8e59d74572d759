package notify

import "time"

// schedule is the delay before each attempt, from the failure before it: ten
// attempts in a little more than three days (notifications, 7.1.4).
var schedule = []time.Duration{
	0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour,
	5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// mostRetryAfter caps what the other side may ask for.
const mostRetryAfter = 24 * time.Hour

// nextTry is when attempt number made+1 of a schedule is due after a failure
// now. It is never earlier than the schedule says, at most a fifth later, and
// later still if the other side asks for it. ok is false when there is none.
func nextTry(made int, o Outcome, now time.Time, jitter float64) (at time.Time, ok bool) {
	if made >= len(schedule) {
		return at, false
	}
	delay := float64(schedule[made]) * (1 + jitter/5)
	at = now.Add(time.Duration(delay))
	if o.RetryAfter.After(at) {
		at = o.RetryAfter
	}
	return at, true
}
