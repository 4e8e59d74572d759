// Command tcp measures a forwarded port beside ssh -L, yamux over WebSocket and a
// plain copying proxy, in one run and in turns:
//
//	cd bench && go run ./tcp [-rounds 3] [-mib 512] [-json]
//
// Everything runs as people run it: two processes at the ends of a loopback
// connection (one for the proxy), a local port in front and a destination behind.
// ssh uses aes128-gcm and an sshd of its own, started here without privileges;
// where none is installed that is said. yamux has windows of 4 MiB, as we have.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/internal/tcpbench"
)

func main() {
	role := flag.String("role", "", "what this process is for another one")
	rounds := flag.Int("rounds", 3, "how often each measurement is made; the median counts")
	mib := flag.Int64("mib", 512, "MiB that each measurement of throughput moves")
	asJSON := flag.Bool("json", false, "print each figure as a JSON object")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *role != "" {
		err = play(ctx, *role, flag.Args())
	} else {
		err = run(ctx, *rounds, *mib<<20, *asJSON)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tcp:", err)
		os.Exit(1)
	}
}

// run starts every peer, measures them in turns and prints the report.
func run(ctx context.Context, rounds int, bytes int64, asJSON bool) error {
	d, err := tcpbench.NewDestination()
	if err != nil {
		return err
	}
	defer d.Close()
	dir, err := os.MkdirTemp("", "tcpbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var peers []*peer
	defer func() {
		for _, p := range peers {
			p.stop()
		}
	}()
	for _, start := range []func(context.Context, string, string) (*peer, error){startOurs, startSSH, startYamux, startCopy} {
		p, err := start(ctx, dir, d.Addr())
		if err != nil {
			return err
		}
		peers = append(peers, p)
	}
	r := measure.NewReport("")
	r.Section("Forwarded ports")
	for _, m := range measurements(bytes) {
		values, err := inTurns(ctx, peers, rounds, m)
		if err != nil {
			return err
		}
		report(r, peers, m, values)
	}
	if asJSON {
		return r.WriteJSON(os.Stdout)
	}
	return r.WriteTable(os.Stdout)
}

// measurement is one number of a peer.
type measurement struct {
	name, unit string
	goals      map[string]measure.Goal
	take       func(ctx context.Context, addr string) (float64, error)
}

func measurements(bytes int64) []measurement {
	var all []measurement
	for _, streams := range []int{1, 8} {
		goals := map[string]measure.Goal{"yamux": ">= 1.0 x yamux"}
		if streams == 1 {
			goals = map[string]measure.Goal{"yamux": ">= 1.2 x yamux", "ssh -L": ">= 1.0 x ssh"}
		}
		all = append(all,
			measurement{tcpbench.Streams(streams) + " down", "MiB/s", goals, func(ctx context.Context, addr string) (float64, error) {
				v, err := tcpbench.Download(ctx, addr, streams, bytes/int64(streams))
				return v / (1 << 20), err
			}},
			measurement{tcpbench.Streams(streams) + " up", "MiB/s", goals, func(ctx context.Context, addr string) (float64, error) {
				v, err := tcpbench.Upload(ctx, addr, streams, bytes/int64(streams))
				return v / (1 << 20), err
			}})
	}
	for _, p := range []float64{0.5, 0.99} {
		var goals map[string]measure.Goal
		if p == 0.99 {
			goals = map[string]measure.Goal{"ssh -L": "<= 2,000 us"}
		}
		all = append(all, measurement{fmt.Sprintf("connect and first byte, p%.0f", 100*p), "us", goals, func(ctx context.Context, addr string) (float64, error) {
			times, err := tcpbench.FirstByte(ctx, addr, 500)
			return float64(measure.Percentile(times, p).Nanoseconds()) / 1000, err
		}})
	}
	return all
}

// inTurns measures every peer rounds times, in turns.
func inTurns(ctx context.Context, peers []*peer, rounds int, m measurement) ([]measure.Rounds, error) {
	all := make([]measure.Rounds, len(peers))
	fmt.Fprintln(os.Stderr, "measuring", m.name)
	for range rounds {
		for n, p := range peers {
			if p.absent != "" {
				continue
			}
			v, err := m.take(ctx, p.addr)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", p.name, m.name, err)
			}
			all[n] = append(all[n], v)
		}
	}
	return all, nil
}

// report puts the first peer, which is ours, beside each of the others.
func report(r *measure.Report, peers []*peer, m measurement, values []measure.Rounds) {
	for n, p := range peers[1:] {
		f := measure.Figure{Name: m.name, Unit: m.unit, Goal: m.goals[p.name]}
		r.Add(f.Over(values[0]).Beside(p.name, values[n+1], p.absent))
	}
}
