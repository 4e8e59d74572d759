package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/causeway-ahp/causeway/internal/measure"
)

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "measure little: the figures are then worth little too")
	flag.BoolVar(&o.json, "json", false, "print what was measured where, then each figure, as a JSON object")
	flag.StringVar(&o.page, "markdown", "", "write a dated page to this `file` too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	quick, json bool
	page        string
}

func run(ctx context.Context, o options) error {
	s := full
	if o.quick {
		s = quick
	}
	r, err := measureAll(ctx, s)
	if err != nil {
		return err
	}
	if o.page != "" {
		command := strings.TrimSpace("cd bench && go run . " + strings.Join(os.Args[1:], " "))
		if err := r.WritePageFile(o.page, measure.Page{Command: command, Quick: o.quick}); err != nil {
			return err
		}
	}
	if o.json {
		return r.WriteJSON(os.Stdout)
	}
	return r.WriteTable(os.Stdout)
}

// measureAll builds the programs and lets each measure its part.
func measureAll(ctx context.Context, s size) (*measure.Report, error) {
	dir, err := os.MkdirTemp("", "causeway-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := build(ctx, dir); err != nil {
		return nil, err
	}
	r := measure.NewReport("")
	for _, p := range parts(s) {
		if err := p.measure(ctx, dir, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// build makes the programs that measure.
func build(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join("..", "cmd", "causeway")); err != nil {
		return errors.New("run it in the directory 'bench' of the source tree: cd bench && go run .")
	}
	fmt.Fprintln(os.Stderr, "building")
	for _, p := range []struct{ dir, target string }{{"..", "./cmd/causeway"}, {".", "./relay"}, {".", "./tcp"}, {".", "./sockets"}} {
		cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=auto", "-o", dir, p.target)
		cmd.Dir, cmd.Stderr = p.dir, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build %s: %w", p.target, err)
		}
	}
	return nil
}

// part is a program that prints a report.
type part struct {
	program string
	args    []string
}

// size is how much is measured.
type size struct {
	rounds, mib int
	share       string // of what 'causeway bench' usually measures
	quick       bool   // what relay and sockets make of that
}

var full, quick = size{rounds: 5, mib: 512, share: "1"}, size{rounds: 3, mib: 64, share: "0.1", quick: true}

func parts(s size) []part {
	rounds := fmt.Sprint(s.rounds)
	ours := func(what string) part {
		return part{"causeway", []string{"bench", what, "--json", "--share", s.share}}
	}
	less := func(args ...string) []string {
		if s.quick {
			args = append(args, "-quick")
		}
		return args
	}
	return []part{
		ours("host"), ours("journal"),
		{"relay", less("-json", "-rounds", rounds)},
		{"tcp", []string{"-json", "-rounds", rounds, "-mib", fmt.Sprint(s.mib)}},
		{"sockets", less("-json")},
		ours("notify"),
	}
}

// measure runs the part and takes its figures over. The version of the report is
// that of causeway.
func (p part) measure(ctx context.Context, dir string, r *measure.Report) error {
	cmd := exec.CommandContext(ctx, filepath.Join(dir, p.program), p.args...)
	cmd.Stderr = os.Stderr
	version, err := r.Collect(cmd)
	if p.program == "causeway" {
		r.Version = version
	}
	return err
}
