package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestReport(t *testing.T) {
	signalled := errors.New("interrupt signal received")
	tests := []struct {
		name      string
		err       error
		interrupt bool
		want      int
		says      string
	}{
		{"done", nil, false, exitDone, ""},
		{"done although interrupted", nil, true, exitDone, ""},
		{"failed", errors.New("no luck"), false, exitFailed, "test: no luck\n"},
		{"failed while interrupted", errors.New("no luck"), true, exitFailed, "test: no luck\n"},
		{"usage", fmt.Errorf("x: %w", usagef("bad flag")), false, exitUsage, "test: x: bad flag\nRun 'test --help' for usage.\n"},
		{"interrupted", fmt.Errorf("x: %w", context.Canceled), true, exitInterrupted, ""},
		{"interrupted, by its cause", fmt.Errorf("x: %w", signalled), true, exitInterrupted, ""},
		{"cancelled by something else", context.Canceled, false, exitFailed, "test: context canceled\n"},
		{"a code of its own", fmt.Errorf("x: %w", exitError(7)), false, 7, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tt.interrupt {
				cancel(signalled)
			}
			var stderr bytes.Buffer
			if got := report(ctx, &stderr, &cobra.Command{Use: "test"}, tt.err); got != tt.want {
				t.Errorf("exit code %d, want %d", got, tt.want)
			}
			if got := stderr.String(); got != tt.says {
				t.Errorf("says %q, want %q", got, tt.says)
			}
		})
	}
}

// TestEveryCommandHelps keeps the help complete.
func TestEveryCommandHelps(t *testing.T) {
	root := newRoot()
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "" || cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: group %q, short %q", cmd.Name(), cmd.GroupID, cmd.Short)
		}
	}
}
