package main

import (
	"errors"

	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/internal/relaybench"
	"github.com/spf13/cobra"
)

// benchRelay is messages from a client to another's service, over loopback
// WebSockets.
func benchRelay(cmd *cobra.Command, r *measure.Report) error {
	ctx := cmd.Context()
	b, err := openBenchHost(ctx)
	if err != nil {
		return err
	}
	e, err := relaybench.Causeway(ctx, b.url())
	if err != nil {
		return errors.Join(err, b.close(ctx))
	}
	err = relaybench.Compare(ctx, e, nil, 3, benchAmount(cmd, 1000), r, func(name string) { measuring(cmd, "%s", name) })
	return errors.Join(err, e.Close(), b.close(ctx))
}
