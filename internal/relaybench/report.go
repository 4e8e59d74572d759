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
	add  func(name string, ours, theirs []Result, peer string, r *measure.Report)
}

// Compare measures ours, beside peer unless that is nil, in turns, rounds times, and
// adds the medians.
func Compare(ctx context.Context, ours, peer *Ends, rounds, scale int, r *measure.Report, say func(string)) error {
	for _, m := range measurements(scale) {
		say(m.name)
		mine, theirs, err := inTurns(ctx, ours, peer, rounds, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		name := ""
		if peer != nil {
			name = peer.Name
		}
		m.add(m.name, mine, theirs, name, r)
	}
	return nil
}

// inTurns lets both run in each round, so that what disturbs the machine meets both.
func inTurns(ctx context.Context, ours, peer *Ends, rounds int, m measurement) (mine, theirs []Result, err error) {
	for range rounds {
		got, err := m.run(ctx, ours)
		if err != nil {
			return nil, nil, err
		}
		mine = append(mine, got)
		if peer == nil {
			continue
		}
		if got, err = m.run(ctx, peer); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", peer.Name, err)
		}
		theirs = append(theirs, got)
	}
	return mine, theirs, nil
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

func stream(name string, size, n int, rate, cpu measure.Goal) []measurement {
	return []measurement{{
		name: name,
		run:  func(ctx context.Context, e *Ends) (Result, error) { return e.Stream(ctx, size, n) },
		add:  addRate(rate, cpu),
	}}
}

func addRate(rateGoal, cpuGoal measure.Goal) func(string, []Result, []Result, string, *measure.Report) {
	return func(name string, ours, theirs []Result, peer string, r *measure.Report) {
		add(r, measure.Figure{Name: name, Unit: "/s", Goal: rateGoal}, ours, theirs, peer, func(v Result) float64 { return v.Rate })
		f := measure.Figure{Name: name + ", CPU of both ends and the host", Unit: "us each", Goal: cpuGoal}
		add(r, f, ours, theirs, peer, func(v Result) float64 { return us(v.CPU) })
	}
}

func addLatency(goal measure.Goal) func(string, []Result, []Result, string, *measure.Report) {
	return func(name string, ours, theirs []Result, peer string, r *measure.Report) {
		add(r, measure.Figure{Name: name + ", p50", Unit: "us"}, ours, theirs, peer, func(v Result) float64 { return us(v.P50) })
		add(r, measure.Figure{Name: name + ", p99", Unit: "us", Goal: goal}, ours, theirs, peer, func(v Result) float64 { return us(v.P99) })
	}
}

// add puts the median of one number of ours next to that of the peer.
func add(r *measure.Report, f measure.Figure, ours, theirs []Result, peer string, number func(Result) float64) {
	f = f.Over(numbers(ours, number))
	if peer != "" {
		f = f.Beside(peer, numbers(theirs, number), "")
	}
	r.Add(f)
}

func numbers(results []Result, number func(Result) float64) (all measure.Rounds) {
	for _, v := range results {
		all = append(all, number(v))
	}
	return all
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
