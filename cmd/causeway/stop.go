package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/spf13/cobra"
)

// stopTimeout is how long stop waits: a host takes at most shutdownTimeout.
const stopTimeout = shutdownTimeout + 5*time.Second

func newStop() *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "End the local host",
		Long: `End the host that runs on the state directory (--data) and wait until it has
gone. Running turns are cancelled. That none runs is not an error.`,
		GroupID: groupHost,
		Args:    args(cobra.NoArgs),
		RunE:    runStop,
	}
}

func runStop(cmd *cobra.Command, _ []string) error {
	dir, err := dataDir(cmd)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), stopTimeout, fmt.Errorf("it has not ended after %v", stopTimeout))
	defer cancel()
	h, err := settledHost(ctx, dir)
	if err == nil {
		err = stopHost(ctx, dir, h)
	}
	switch {
	case errors.Is(err, datadir.ErrNoHost):
		fmt.Fprintf(cmd.ErrOrStderr(), "No host is running on %s.\n", dir.Path())
		return nil
	case err != nil && h.PID != 0:
		return fmt.Errorf("%w; kill -9 %d ends it at once", err, h.PID)
	case err != nil:
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "The host (pid %d) has ended.\n", h.PID)
	return nil
}

// stopHost asks a host to end and waits for it.
func stopHost(ctx context.Context, dir datadir.Dir, h datadir.Host) error {
	if err := dir.Signal(h, syscall.SIGTERM); err != nil && !errors.Is(err, datadir.ErrNotReady) {
		return err
	}
	return dir.WaitGone(ctx)
}
