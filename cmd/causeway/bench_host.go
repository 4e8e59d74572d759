package main

import (
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/spf13/cobra"
)

// newBenchHost builds 'bench host': what the host costs, in this process.
func newBenchHost() *cobra.Command {
	cmd := benchCommand("host", "Fan-out, latency, idle connections, start", func(cmd *cobra.Command, r *measure.Report) error {
		for _, part := range []func(*cobra.Command, *measure.Report) error{benchFanout, benchRoute, benchLatency, benchIdle, benchStart} {
			if err := part(cmd, r); err != nil {
				return err
			}
		}
		return nil
	})
	cmd.GroupID = ""
	return cmd
}
