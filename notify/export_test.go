package notify

import "time"

// OnCrashPoint calls fn at every point at which a crash must lose nothing.
func OnCrashPoint(fn func(name string)) { crashPoint = fn }

// CrashPoints are the points there are.
var CrashPoints = []string{
	"before-admit", "after-admit", "before-finish", "after-finish", "before-send", "after-send", "after-record",
}

// HurrySchedule makes attempts, and the probes of an open breaker, follow one
// another fast, for tests in real time.
func HurrySchedule() {
	breakerFirst, breakerMost = 20*time.Millisecond, 100*time.Millisecond
	for i := range schedule {
		schedule[i] = time.Duration(i) * 20 * time.Millisecond
	}
}
