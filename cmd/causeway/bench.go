package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/spf13/cobra"
)

const benchLong = `Measure this program on this machine: all of it, or one part.

Every figure stands beside its goal; a value is the median of several rounds. What is
measured beside other programs in the same run is in the module 'bench' of the source
tree: cd bench && go run .`

// benchPart is what is measured together, in a process of its own, so that nothing
// pays for what another part left behind.
type benchPart struct {
	name, short string
	section     string // in tables
	run         func(cmd *cobra.Command, r *measure.Report) error
}

func benchParts() []benchPart {
	return []benchPart{
		{"host", "Fan-out, routing, latency, idle connections, start", "Host", benchHostAll},
		{"journal", "Records written to disk", "Journal", benchJournal},
		{"relay", "Notifications and calls to client services", "Client services", benchRelay},
		{"tcp", "A forwarded port: throughput, connect and first byte", "Forwarded ports", benchTCP},
		{"notify", "Notifications to a webhook, alone and beside dead endpoints", "Webhooks", benchNotifyAll},
	}
}

// newBench builds the command 'bench': all parts, or one of them as a command.
func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure this program on this machine",
		Long:    benchLong,
		GroupID: groupOther,
		Args:    args(noSuchCommand),
		RunE:    func(cmd *cobra.Command, _ []string) error { return benchReport(cmd, benchEverything) },
	}
	flags := cmd.PersistentFlags()
	flags.Bool("json", false, "print what was measured where, then each figure, as a JSON object")
	flags.Bool("quick", false, "measure little: the figures are then worth little too")
	flags.Float64("share", 1, "which part of the usual amount to measure") // for tests
	if err := flags.MarkHidden("share"); err != nil {
		panic(err) // it was defined above
	}
	flags.String("markdown", "", "write a dated page to this `file` too")
	for _, p := range benchParts() {
		cmd.AddCommand(newBenchPart(p))
	}
	cmd.AddCommand(newBenchIdleHost())
	return cmd
}

func newBenchPart(p benchPart) *cobra.Command {
	return &cobra.Command{
		Use: p.name, Short: p.short, Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return benchReport(cmd, func(cmd *cobra.Command, r *measure.Report) error {
				r.Section(p.section)
				return p.run(cmd, r)
			})
		},
	}
}

// benchEverything measures each part in a process of its own.
func benchEverything(cmd *cobra.Command, r *measure.Report) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, p := range benchParts() {
		part := exec.CommandContext(cmd.Context(), self, "bench", p.name, "--json", "--share", fmt.Sprint(benchShare(cmd)))
		part.Stderr = cmd.ErrOrStderr()
		if _, err := r.Collect(part); err != nil {
			return err
		}
	}
	return nil
}

// benchReport lets run fill in a report and prints it.
func benchReport(cmd *cobra.Command, run func(cmd *cobra.Command, r *measure.Report) error) error {
	defer paceCollector()() // as a host has it
	r := measure.NewReport("causeway " + buildVersion())
	err := run(cmd, r)
	endMeasuring(cmd)
	if err != nil {
		return err
	}
	if path, _ := cmd.Flags().GetString("markdown"); path != "" {
		page := measure.Page{Command: "causeway " + strings.Join(os.Args[1:], " "), Quick: benchShare(cmd) < 1}
		if err := r.WritePageFile(path, page); err != nil {
			return err
		}
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return r.WriteJSON(cmd.OutOrStdout())
	}
	return r.WriteTable(cmd.OutOrStdout())
}

// benchShare is which part of the usual amount is measured.
func benchShare(cmd *cobra.Command) float64 {
	if quick, _ := cmd.Flags().GetBool("quick"); quick {
		return 0.1
	}
	share, _ := cmd.Flags().GetFloat64("share")
	return share
}

// benchAmount is how much of something to do, of n.
func benchAmount(cmd *cobra.Command, n int) int { return max(1, int(benchShare(cmd)*float64(n))) }

// benchRounds measures several numbers a few times over.
func benchRounds(cmd *cobra.Command, numbers int, take func() ([]float64, error)) ([]measure.Rounds, error) {
	rounds := 5
	if benchShare(cmd) < 1 {
		rounds = 3
	}
	all := make([]measure.Rounds, numbers)
	for range rounds {
		got, err := take()
		if err != nil {
			return nil, err
		}
		for i, v := range got {
			all[i] = append(all[i], v)
		}
	}
	return all, nil
}

// benchFigure measures one number a few times over and adds it.
func benchFigure(cmd *cobra.Command, r *measure.Report, f measure.Figure, take func() (float64, error)) error {
	measuring(cmd, "%s", f.Name)
	rounds, err := benchRounds(cmd, 1, func() ([]float64, error) {
		v, err := take()
		return []float64{v}, err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	r.Add(f.Over(rounds[0]))
	return nil
}

// clearLine takes a live line away.
const clearLine = "\r\x1b[K"

// measuring says on stderr what a benchmark is about to do: on a terminal in a line
// that the next one takes the place of.
func measuring(cmd *cobra.Command, format string, a ...any) {
	text := fmt.Sprintf("measuring "+format, a...)
	if styleOf(cmd.ErrOrStderr()).on {
		fmt.Fprint(cmd.ErrOrStderr(), clearLine+text)
		return
	}
	fmt.Fprintln(cmd.ErrOrStderr(), text)
}

// endMeasuring takes the last of those lines away.
func endMeasuring(cmd *cobra.Command) {
	if styleOf(cmd.ErrOrStderr()).on {
		fmt.Fprint(cmd.ErrOrStderr(), clearLine)
	}
}
