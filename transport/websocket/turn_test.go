package websocket

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurnIsOneOwners: a reader that takes the turn over and over and a Close that
// waits for it, in vain at times, never have it at once, and in the end Close has it.
func TestTurnIsOneOwners(t *testing.T) {
	for _, patience := range []time.Duration{time.Microsecond, time.Minute} {
		var turn turn
		var owners, taken atomic.Int32
		own := func() {
			if owners.Add(1) != 1 {
				t.Error("two owners")
			}
			owners.Add(-1)
		}
		var reader sync.WaitGroup
		over, first := make(chan struct{}), make(chan struct{})
		reader.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if turn.try() {
					own()
					turn.give()
					if taken.Add(1) == 1 {
						close(first)
					}
				}
			}
		})
		<-first
		for range 200 {
			timer := time.NewTimer(patience)
			if turn.wait(timer.C) {
				own()
				turn.give()
			}
			timer.Stop()
		}
		turn.wait(nil)
		close(over)
		reader.Wait()
		if turn.try() {
			t.Error("the turn was kept and is free")
		}
	}
}

// TestTurnIsWaitedFor: who waits has the turn when it is given back, or gives up in
// time and leaves it where it is.
func TestTurnIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn turn
		if !turn.try() || turn.try() {
			t.Fatal("the turn is not one")
		}
		began := time.Now()
		if turn.wait(time.After(time.Second)) || time.Since(began) != time.Second {
			t.Errorf("the wait ended after %v", time.Since(began))
		}
		turn.give()
		if !turn.try() {
			t.Fatal("the turn was lost")
		}
		go func() {
			time.Sleep(time.Second)
			turn.give()
		}()
		if !turn.wait(nil) || turn.try() {
			t.Error("the turn was not passed on")
		}
	})
}
