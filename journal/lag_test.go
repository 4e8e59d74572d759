package journal

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestLag: what the store has not taken is counted from the moment its oldest record
// came, through refusals and into the next group; every group is told of.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var groups []string
		began := time.Now()
		s := &scripted{delay: 4 * time.Second, fail: 1}
		j := New(Options{Store: s, Wrote: func(n int, took time.Duration) { groups = append(groups, fmt.Sprint(n, " in ", took)) }})
		expect := func(records int, since time.Duration) {
			t.Helper()
			synctest.Wait()
			lag := j.Lag()
			if lag.Records != records || lag.Bytes != int64(records*(&Record{}).Size()) || (lag.Since.IsZero()) != (records == 0) {
				t.Errorf("after %v got %+v, want %d records", time.Since(began), lag, records)
			}
			if records > 0 && lag.Since.Sub(began) != since {
				t.Errorf("after %v the oldest came at %v, want %v", time.Since(began), lag.Since.Sub(began), since)
			}
		}
		expect(0, 0)
		appendAll(t, j, 1)
		expect(1, 0)
		time.Sleep(time.Second)
		appendAll(t, j, 2, 3)
		expect(3, 0)
		time.Sleep(4 * time.Second) // the first group was refused and is tried again with the rest
		appendAll(t, j, 4)
		expect(4, 0)
		time.Sleep(3500 * time.Millisecond)
		expect(1, 5*time.Second)
		time.Sleep(time.Minute)
		expect(0, 0)
		if got, want := fmt.Sprint(groups), "[1 in 4s 3 in 4s 1 in 4s]"; got != want {
			t.Errorf("groups %s, want %s", got, want)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
