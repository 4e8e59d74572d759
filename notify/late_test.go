package notify

import (
	"testing"
	"testing/synctest"
	"time"
)

// A retry may be due, and claimed from the store, before the attempt it follows has
// come back to the queue: the machine slept between the two. It is made then, and
// not taken for the attempt that is in flight.
func TestRetryThatIsDueBeforeItsAttemptIsBack(t *testing.T) {
	for _, asleep := range []time.Duration{0, schedule[1] + time.Second, time.Hour} {
		t.Run(asleep.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer func() { crashPoint = nil }()
				slept := false // attempts of one delivery follow one another
				crashPoint = func(name string) {
					if name == "after-record" && !slept {
						slept = true
						time.Sleep(asleep)
					}
				}
				b := newBench(t)
				b.box.answer("one", transient, delivered)
				b.finish(b.admit(toOne), fine)
				time.Sleep(2 * time.Hour)
				b.stop()
				if posts := b.box.posts("one"); len(posts) != 2 {
					t.Errorf("%d attempts, want 2", len(posts))
				}
			})
		})
	}
}
