package main

import (
	"fmt"

	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/spf13/cobra"
)

const benchLong = `Measure this program on this machine.

Every figure stands beside its goal. What is measured beside other programs in the
same run is in the module 'bench' of the source tree.`

// newBench builds the command 'bench'; what is measured is a command each.
func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure this program on this machine",
		Long:    benchLong,
		GroupID: groupOther,
		Args:    args(noSuchCommand),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().Bool("json", false, "print each figure as a JSON object")
	cmd.PersistentFlags().Bool("quick", false, "measure little: the figures are then worth little too")
	cmd.AddCommand(newBenchHost(), newBenchRelay(), newBenchTCP())
	cmd.AddCommand(newBenchNotify())
	return cmd
}

// benchCommand is a benchmark that fills in a report, which is then printed.
func benchCommand(use, short string, run func(cmd *cobra.Command, r *measure.Report) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := measure.NewReport("causeway " + buildVersion())
			if err := run(cmd, r); err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return r.WriteJSON(cmd.OutOrStdout())
			}
			return r.WriteTable(cmd.OutOrStdout())
		},
	}
}

// benchRounds is how often to do what is measured: n times, or a tenth of it.
func benchRounds(cmd *cobra.Command, n int) int {
	if quick, _ := cmd.Flags().GetBool("quick"); quick {
		return max(1, n/10)
	}
	return n
}

// measuring says on stderr what a benchmark is about to do.
func measuring(cmd *cobra.Command, format string, a ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "measuring "+format+"\n", a...)
}
