package notify

import "time"

// breakerFailures is how many transient failures in a row open a breaker
// (notifications, 7.1.6).
const breakerFailures = 5

// How long an open breaker waits for its first probe, and at most for a later
// one. Tests in real time shorten them.
var (
	breakerFirst = 30 * time.Second
	breakerMost  = 10 * time.Minute
)

// breaker stops asking a target that does not answer. While it is open nothing
// is sent but a probe now and then; it consumes no attempts.
type breaker struct {
	failures int
	interval time.Duration // 0: closed
	until    time.Time     // when the next probe may go out
	probing  bool
}

// may reports whether something can be sent now; if not, from when on, with the
// zero time for "when the probe has come back".
func (b *breaker) may(now time.Time) (ok bool, at time.Time) {
	switch {
	case b.interval == 0:
		return true, at
	case b.probing:
		return false, at
	case now.Before(b.until):
		return false, b.until
	}
	return true, at
}

// sent says that something was sent.
func (b *breaker) sent() {
	if b.interval > 0 {
		b.probing = true
	}
}

// answered says what came of it, and reports whether the breaker has opened or
// closed, or has put off its next probe.
func (b *breaker) answered(ok bool, now time.Time) (changed bool) {
	probe := b.probing
	switch {
	case ok:
		changed = b.interval > 0
		*b = breaker{}
	case probe:
		b.probing, changed = false, true
		b.interval = min(2*b.interval, breakerMost)
		b.until = now.Add(b.interval)
	case b.interval == 0:
		if b.failures++; b.failures >= breakerFailures {
			b.interval, b.until, changed = breakerFirst, now.Add(breakerFirst), true
		}
	}
	return changed
}
