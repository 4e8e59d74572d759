package main

import (
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/spf13/cobra"
)

// benchHostAll is what the host costs.
func benchHostAll(cmd *cobra.Command, r *measure.Report) error {
	for _, part := range []func(*cobra.Command, *measure.Report) error{
		benchFanout, benchRoute, benchDelta, benchLatency, benchIdle, benchStart,
	} {
		if err := part(cmd, r); err != nil {
			return err
		}
	}
	return nil
}
