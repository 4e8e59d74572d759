package relaybench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/causeway-ahp/causeway/internal/measure"
)

// measurement is one row of the comparison.
type measurement struct {
	name string
	run  func(ctx context.Context, e *Ends) (Result, error)
	add  func(name string, ours Result, ratio *Comparison, r *measure.Report)
}

// Comparison is a peer's result in the same run.
type Comparison struct {
	Peer   string
	Result Result
}

// Compare measures ours, beside peer unless that is nil, in turns, rounds times, and
// adds the figures of the best round of each: what disturbs a machine only slows.
func Compare(ctx context.Context, ours, peer *Ends, rounds, scale int, r *measure.Report, say func(string)) error {
	for _, m := range measurements(scale) {
		say(m.name)
		var mine, theirs []Result
		for range rounds {
			got, err := m.run(ctx, ours)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			mine = append(mine, got)
			if peer == nil {
				continue
			}
			if got, err = m.run(ctx, peer); err != nil {
				return fmt.Errorf("%s, %s: %w", m.name, peer.Name, err)
			}
			theirs = append(theirs, got)
		}
		var c *Comparison
		if peer != nil {
			c = &Comparison{Peer: peer.Name, Result: best(theirs)}
		}
		m.add(m.name, best(mine), c, r)
	}
	return nil
}

// best takes the best of each number over the rounds.
func best(rounds []Result) Result {
	b := rounds[0]
	for _, r := range rounds[1:] {
		b.Rate = max(b.Rate, r.Rate)
		b.CPU = min(b.CPU, r.CPU)
		b.P50 = min(b.P50, r.P50)
		b.P99 = min(b.P99, r.P99)
	}
	return b
}

func measurements(scale int) []measurement {
	return slices.Concat(
		stream("notifications of 200 B", 200, 200*scale, ">= 1.3 x", "<= 1.2 us"),
		stream("notifications of 16 KiB", 16<<10, 10*scale, "", ""),
		[]measurement{{
			name: "idle notification of 200 B",
			run:  func(ctx context.Context, e *Ends) (Result, error) { return e.Idle(ctx, 200, 2*scale) },
			add:  addLatency("<= 1.0 x"),
		}, {
			name: "calls of 200 B, 32 at once",
			run:  func(_ context.Context, e *Ends) (Result, error) { return e.Calls(200, 20*scale) },
			add:  addRate("", ""),
		}, {
			name: "idle call of 200 B",
			run:  func(_ context.Context, e *Ends) (Result, error) { return e.IdleCalls(200, 2*scale) },
			add:  addLatency(""),
		}},
	)
}

func stream(name string, size, n int, rate, cpu string) []measurement {
	return []measurement{{
		name: name,
		run:  func(ctx context.Context, e *Ends) (Result, error) { return e.Stream(ctx, size, n) },
		add:  addRate(rate, cpu),
	}}
}

func addRate(rateGoal, cpuGoal string) func(string, Result, *Comparison, *measure.Report) {
	return func(name string, ours Result, c *Comparison, r *measure.Report) {
		rate := r.Add(measure.Figure{Name: name, Value: ours.Rate, Unit: "/s", Goal: rateGoal})
		cpu := r.Add(measure.Figure{Name: name + ", CPU of both ends and the host", Value: us(ours.CPU), Unit: "us each", Goal: cpuGoal})
		if c != nil {
			beside(rate, c.Peer, c.Result.Rate)
			beside(cpu, c.Peer, us(c.Result.CPU))
		}
	}
}

func addLatency(goal string) func(string, Result, *Comparison, *measure.Report) {
	return func(name string, ours Result, c *Comparison, r *measure.Report) {
		p50 := r.Add(measure.Figure{Name: name + ", p50", Value: us(ours.P50), Unit: "us"})
		p99 := r.Add(measure.Figure{Name: name + ", p99", Value: us(ours.P99), Unit: "us", Goal: goal})
		if c != nil {
			beside(p50, c.Peer, us(c.Result.P50))
			beside(p99, c.Peer, us(c.Result.P99))
		}
	}
}

// beside puts a peer's value next to ours.
func beside(f *measure.Figure, peer string, value float64) {
	f.Peer = peer
	if value > 0 {
		f.Ratio = f.Value / value
		f.Note = "(" + measure.Number(value) + ")"
	}
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
