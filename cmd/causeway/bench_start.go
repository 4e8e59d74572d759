package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/spf13/cobra"
)

// benchStart is the time from starting this program as a host to READY, as tools
// that start hosts see it.
func benchStart(cmd *cobra.Command, r *measure.Report) error {
	measuring(cmd, "the time to READY")
	var times measure.Rounds
	for range max(3, benchAmount(cmd, 21)) {
		d, err := timeToReady(cmd.Context())
		if err != nil {
			return err
		}
		times = append(times, milliseconds(d))
	}
	r.Add(measure.Figure{Name: "start to READY", Unit: "ms", Goal: "<= 100 ms"}.Over(times))
	return nil
}

// timeToReady starts a host on a directory of its own and ends it again.
func timeToReady(ctx context.Context) (time.Duration, error) {
	dir, err := os.MkdirTemp("", "causeway-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	host := exec.CommandContext(ctx, self, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--cwd", dir)
	out, err := host.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := host.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "READY:") {
	}
	took := time.Since(began)
	if err := host.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	if err := host.Wait(); err != nil {
		return 0, fmt.Errorf("the host that was measured: %w", err)
	}
	return took, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
