package relaybench

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/internal/measure"
)

// Result is what one run measured.
type Result struct {
	Rate     float64       // messages or calls a second
	CPU      time.Duration // of the process, for each
	P50, P99 time.Duration
}

// Payload is a JSON string of about n bytes.
func Payload(n int) []byte {
	return append(append([]byte{'"'}, bytes.Repeat([]byte{'x'}, max(0, n-2))...), '"')
}

// windowBytes bounds what is on its way, so that no queue in between overflows:
// what is measured is what arrives.
const windowBytes, windowMessages = 4 << 20, 512

// Stream sends n payloads of a size and measures until all have arrived.
func (e *Ends) Stream(ctx context.Context, size, n int) (Result, error) {
	payload := Payload(size)
	window := int64(min(windowMessages, windowBytes/size))
	start := e.received.Load()
	began, cpu := time.Now(), measure.CPU()
	for sent := int64(0); sent < int64(n); sent++ {
		if sent-(e.received.Load()-start) >= window {
			if err := e.await(ctx, start+sent-window/2); err != nil {
				return Result{}, err
			}
		}
		if err := e.Notify(payload); err != nil {
			return Result{}, err
		}
	}
	if err := e.await(ctx, start+int64(n)); err != nil {
		return Result{}, err
	}
	took := time.Since(began)
	return Result{Rate: float64(n) / took.Seconds(), CPU: (measure.CPU() - cpu) / time.Duration(n)}, nil
}

// await waits until a number of payloads has arrived in all.
func (e *Ends) await(ctx context.Context, total int64) error {
	if err := e.Flush(); err != nil {
		return err
	}
	e.target.Store(total)
	stuck := time.NewTimer(time.Minute)
	defer stuck.Stop()
	for e.received.Load() < total {
		select {
		case <-e.arrived:
		case <-stuck.C:
			return fmt.Errorf("%s: %d of %d messages arrived", e.Name, e.received.Load(), total)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Idle sends n payloads one at a time and measures how long each takes to arrive.
func (e *Ends) Idle(ctx context.Context, size, n int) (Result, error) {
	payload := Payload(size)
	times := make([]time.Duration, n)
	for i := range times {
		began, before := time.Now(), e.received.Load()
		if err := e.Notify(payload); err != nil {
			return Result{}, err
		}
		if err := e.await(ctx, before+1); err != nil {
			return Result{}, err
		}
		times[i] = time.Since(began)
	}
	return Result{P50: measure.Percentile(times, 0.5), P99: measure.Percentile(times, 0.99)}, nil
}

// IdleCalls makes n calls one after the other.
func (e *Ends) IdleCalls(size, n int) (Result, error) {
	payload := Payload(size)
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		if err := e.Call(payload); err != nil {
			return Result{}, err
		}
		times[i] = time.Since(began)
	}
	return Result{P50: measure.Percentile(times, 0.5), P99: measure.Percentile(times, 0.99)}, nil
}

// callers is how many calls are made at once.
const callers = 32

// Calls makes n calls, many at once.
func (e *Ends) Calls(size, n int) (Result, error) {
	payload := Payload(size)
	each := max(1, n/callers)
	failed := make(chan error, callers)
	began, cpu := time.Now(), measure.CPU()
	var work sync.WaitGroup
	for range callers {
		work.Go(func() {
			for range each {
				if err := e.Call(payload); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	work.Wait()
	select {
	case err := <-failed:
		return Result{}, err
	default:
	}
	total := each * callers
	return Result{Rate: float64(total) / time.Since(began).Seconds(), CPU: (measure.CPU() - cpu) / time.Duration(total)}, nil
}
