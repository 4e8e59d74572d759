package main

import (
	"context"
	"fmt"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/spf13/cobra"
)

// benchLatency is the time from a client's dispatch to its echo, over a loopback
// WebSocket, at several rates.
func benchLatency(cmd *cobra.Command, r *measure.Report) error {
	ctx := cmd.Context()
	b, err := openBenchHost(ctx)
	if err != nil {
		return err
	}
	c, err := client.Dial(ctx, b.url(), client.Options{})
	if err != nil {
		return err
	}
	s, err := c.CreateSession(ctx, client.CreateSessionOptions{Directories: []ahp.URI{directoryURI(b.dir)}})
	if err != nil {
		return err
	}
	for _, rate := range []int{1, 100, 10_000} {
		measuring(cmd, "dispatch to echo at %d actions a second", rate)
		times, err := echoes(ctx, s, rate, benchRounds(cmd, min(5*rate, 20_000)))
		if err != nil {
			return err
		}
		name := fmt.Sprintf("dispatch to echo at %s/s", measure.Number(float64(rate)))
		p50, p99 := measure.Percentile(times, 0.5), measure.Percentile(times, 0.99)
		r.Add(measure.Figure{
			Name: name, Value: microseconds(p50), Unit: "us, p50", Note: fmt.Sprintf("p99 %s us of %d", measure.Number(microseconds(p99)), len(times)),
		})
	}
	if err := c.Close(); err != nil {
		return err
	}
	return b.close(ctx)
}

// echoes dispatches n actions at a rate a second, whatever the echoes do, and
// returns how long each took.
func echoes(ctx context.Context, s *client.Session, rate, n int) ([]time.Duration, error) {
	times := make(chan time.Duration, n)
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for i := range n {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		began := time.Now()
		d := s.Dispatch(&ahp.SessionTitleChanged{Title: fmt.Sprint("title ", i)})
		go func() {
			<-d.Done()
			times <- time.Since(began)
		}()
	}
	all := make([]time.Duration, n)
	for i := range all {
		select {
		case all[i] = <-times:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return all, nil
}
