package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/causeway-ahp/causeway/agent/script"
	"github.com/spf13/cobra"
)

func newAgent() *cobra.Command {
	cmd := &cobra.Command{
		Use: "agent", Short: "Replay and record agents", GroupID: groupOther,
		Long: `Tools for whoever writes a client or reports a bug in an agent.

A transcript is a file of lines, each a JSON object: what the client and the agent
said, and when. It needs no key, no network and no model to be replayed.`,
		Args: args(cobra.NoArgs), RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAgentScript(), newAgentRecord())
	return cmd
}

const agentScriptLong = `Without --stdio lists the built-in scripts, or the turns of one. With --stdio it is
an agent: it speaks ACP over its standard input and output, and answers a message
with the turn whose name is the message's first word.

Every host has the built-in scripts as the agent "script":
  causeway run --agent script permission`

const agentScriptExample = `  causeway agent script                                   what there is
  causeway agent script default
  causeway serve --agent old='causeway agent script --stdio old-models'
  causeway serve --agent bug='causeway agent script --stdio bug.jsonl'`

func newAgentScript() *cobra.Command {
	cmd := &cobra.Command{
		Use: "script [NAME|FILE]", Short: "Replay a transcript as an agent", Long: agentScriptLong, Example: agentScriptExample,
		Args: args(cobra.MaximumNArgs(1)), RunE: runAgentScript,
	}
	cmd.Flags().Bool("stdio", false, "speak ACP over standard input and output")
	cmd.Flags().Float64("speed", 1, "play so many times faster; 0 leaves out all waits")
	return cmd
}

func runAgentScript(cmd *cobra.Command, names []string) error {
	stdio, err := cmd.Flags().GetBool("stdio")
	if err != nil {
		return err
	}
	speed, err := cmd.Flags().GetFloat64("speed")
	if err != nil {
		return err
	}
	if speed < 0 {
		return usagef("--speed must not be negative")
	}
	if len(names) == 0 && !stdio {
		return listScripts(cmd.OutOrStdout())
	}
	name := script.DefaultScript
	if len(names) == 1 {
		name = names[0]
	}
	t, err := openScript(name)
	if err != nil {
		return err
	}
	if !stdio {
		return listTurns(cmd.OutOrStdout(), t)
	}
	return playScript(cmd.Context(), &script.Player{Transcript: t, Speed: speed}, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
}

// openScript opens a transcript by the name of a built-in one or of a file.
func openScript(name string) (*script.Transcript, error) {
	if !strings.ContainsAny(name, "./") {
		return script.Builtin(name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open transcript: %w", err)
	}
	defer func() { _ = f.Close() }()
	t, err := script.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

func listScripts(w io.Writer) error {
	for _, name := range script.Names() {
		t, err := script.Builtin(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%-12s %s\n", name, t.Header.About); err != nil {
			return err
		}
	}
	return nil
}

func listTurns(w io.Writer, t *script.Transcript) error {
	for _, turn := range t.Turns {
		if _, err := fmt.Fprintln(w, turn.Word); err != nil {
			return err
		}
	}
	return nil
}

// playScript is the agent until its client ends.
func playScript(ctx context.Context, p *script.Player, in io.Reader, out, errs io.Writer) error {
	err := p.Serve(ctx, in, out)
	var exit *script.ExitError
	if errors.As(err, &exit) {
		if exit.Text != "" {
			fmt.Fprintln(errs, exit.Text)
		}
		return exitError(exit.Code)
	}
	return err
}
