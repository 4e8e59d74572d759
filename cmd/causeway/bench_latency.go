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
		if err := benchEchoes(cmd, r, s, rate); err != nil {
			return err
		}
	}
	if err := c.Close(); err != nil {
		return err
	}
	return b.close(ctx)
}

// benchEchoes measures one rate. One a second is measured once: the rounds would
// take a minute.
func benchEchoes(cmd *cobra.Command, r *measure.Report, s *client.Session, rate int) error {
	measuring(cmd, "dispatch to echo at %d actions a second", rate)
	n := benchAmount(cmd, max(20, 2*rate))
	take := func() ([]float64, error) {
		times, err := echoes(cmd.Context(), s, rate, n)
		return []float64{microseconds(measure.Percentile(times, 0.5)), microseconds(measure.Percentile(times, 0.99))}, err
	}
	var rounds []measure.Rounds
	if rate == 1 {
		one, err := take()
		if err != nil {
			return err
		}
		rounds = []measure.Rounds{one[:1], one[1:]}
	} else {
		var err error
		if rounds, err = benchRounds(cmd, 2, take); err != nil {
			return err
		}
	}
	for i, p := range []string{"p50", "p99"} {
		name := fmt.Sprintf("dispatch to echo at %s/s, %s", grouped(rate), p)
		r.Add(measure.Figure{Name: name, Unit: "us", Note: fmt.Sprintf("of %s", grouped(n))}.Over(rounds[i]))
	}
	return nil
}

// grouped writes a count with its thousands apart.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return measure.Number(float64(n))
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
