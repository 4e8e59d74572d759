package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/spf13/cobra"
)

const runLong = `Hands one message to an agent and prints what it answers. Without a host one is
started in the background, as tmux does; it ends by itself when it is idle.

With the shell agent, the default, the message is a command. Read-only commands
run at once. Others wait for somebody's consent: in this terminal, or from any
other client of the session. Without a terminal the answer is no, unless --yes.

Exit codes: 0 done, 1 the command failed or was refused, 130 interrupted.`

const runExample = `  causeway run 'git log --oneline -3'
  causeway run --yes 'make test'
  causeway run --session 8c1e… 'git status'     go on in a session`

func newRun() *cobra.Command {
	cmd := &cobra.Command{
		Use: "run MESSAGE", Short: "Hand one message to an agent and print the answer", GroupID: groupClient,
		Long: runLong, Example: runExample,
		Args: args(cobra.MinimumNArgs(1)), RunE: runRun,
	}
	addURLFlag(cmd)
	addResourceTokenFlag(cmd)
	cmd.Flags().String("session", "", "session to go on in (default: a new one)")
	cmd.Flags().String("agent", "", "agent of a new session (default: the host's first)")
	cmd.Flags().String("cwd", "", "working directory of a new session (default: this one)")
	cmd.Flags().String("notify", "", "`URL` that is told when each tool call of the session ends, also when you have left")
	cmd.Flags().Bool("yes", false, "approve every question")
	cmd.Flags().Bool("json", false, "print the chat's action envelopes, one a line")
	return cmd
}

func runRun(cmd *cobra.Command, words []string) error {
	ctx := cmd.Context()
	tokens, err := readResourceTokens(cmd)
	if err != nil {
		return err
	}
	url, err := resolveOrStart(cmd)
	if err != nil {
		return err
	}
	c, err := connectWith(ctx, url, client.Options{Token: tokens.token})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := tokens.push(ctx, c); err != nil {
		return err
	}
	message := strings.Join(words, " ")
	chat, err := runChat(cmd, c, message)
	if err != nil {
		return err
	}
	if err := notifyOf(cmd, c, chat); err != nil {
		return err
	}
	r := newRunner(cmd, chat)
	err = r.follow(ctx, message)
	if ctx.Err() != nil {
		return r.interrupt(context.WithoutCancel(ctx))
	}
	if err != nil {
		return err
	}
	return r.finish(ctx)
}

// runChat returns the chat a message goes to: that of a session named, or of a
// new one, titled by the message.
func runChat(cmd *cobra.Command, c *client.Client, message string) (*client.Chat, error) {
	ctx := cmd.Context()
	flags := cmd.Flags()
	named, err := flags.GetString("session")
	if err != nil {
		return nil, err
	}
	if named != "" {
		uri, err := sessionURI(named)
		if err != nil {
			return nil, err
		}
		s, err := c.Session(ctx, uri)
		if err != nil {
			return nil, fmt.Errorf("open session %s: %w", uri, err)
		}
		return s.DefaultChat(ctx)
	}
	dirs, err := workingDirectory(cmd)
	if err != nil {
		return nil, err
	}
	provider, err := flags.GetString("agent")
	if err != nil {
		return nil, err
	}
	s, err := c.CreateSession(ctx, client.CreateSessionOptions{Provider: provider, Directories: dirs})
	if errors.Is(err, ahp.ErrProviderNotFound) {
		return nil, fmt.Errorf("the host has no agent %q", provider)
	}
	if err != nil {
		return nil, err
	}
	if err := s.SetTitle(oneLine(message, 80)).Wait(ctx); err != nil {
		return nil, fmt.Errorf("name the session: %w", err)
	}
	return s.DefaultChat(ctx)
}

// cancelWait is how long an interrupted run waits for the host to end its turn.
const cancelWait = 10 * time.Second

// interrupt cancels the turn and waits until it is over.
func (r *runner) interrupt(ctx context.Context) error {
	if r.turn == nil {
		return exitError(exitInterrupted)
	}
	ctx, cancel := context.WithTimeout(ctx, cancelWait)
	defer cancel()
	if _, err := r.chat.Cancel(); err == nil {
		if _, err := r.turn.Wait(ctx); err != nil {
			fmt.Fprintf(r.errs, "the turn could not be cancelled: %v\n", err)
		}
	}
	return exitError(exitInterrupted)
}

// finish tells how the turn ended.
func (r *runner) finish(ctx context.Context) error {
	turn, err := r.turn.Wait(ctx)
	if err != nil {
		return fmt.Errorf("the turn did not run to its end: %w", err)
	}
	switch turn.State {
	case ahp.TurnCancelled:
		fmt.Fprintln(r.errs, "the turn was cancelled, by another client or by the host")
		return exitError(exitFailed)
	case ahp.TurnError:
		fmt.Fprintln(r.errs, "error: "+errorText(turn))
		return exitError(exitFailed)
	}
	if failed := failures(turn); failed != "" {
		fmt.Fprintln(r.errs, failed)
		return exitError(exitFailed)
	}
	return nil
}

// errorText is what ended a turn.
func errorText(t *ahp.Turn) string {
	for i := t.ResponseParts.Len() - 1; i >= 0; i-- {
		if e, ok := t.ResponseParts.At(i).Part.(*ahp.ErrorPart); ok {
			return e.Error.Message
		}
	}
	return "the turn failed"
}

// failures says what became of the tool calls that did not succeed, "" if all did.
func failures(t *ahp.Turn) string {
	var lines []string
	for _, p := range t.ResponseParts.All() {
		part, ok := p.Part.(*ahp.ToolCallPart)
		if !ok {
			continue
		}
		call := part.ToolCall
		switch {
		case call.Status == ahp.ToolCancelled:
			lines = append(lines, "not run: "+callText(call))
		case call.Success != nil && !*call.Success && call.Error != nil:
			lines = append(lines, call.Error.Message+": "+callText(call))
		case call.Success != nil && !*call.Success:
			lines = append(lines, "failed: "+callText(call))
		}
	}
	return strings.Join(lines, "\n")
}
