package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/agent/acp"
	"github.com/causeway-ahp/causeway/agent/process"
	"github.com/causeway-ahp/causeway/agent/script"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/spf13/cobra"
)

const agentRecordLong = `Runs an agent and writes what is said into a transcript, which 'causeway agent script'
replays. Paths of your home and working directory are replaced and MCP servers left
out; read the file before you send it anywhere, since it holds what was said.

With --prompt it is the client: it opens a session in this directory, hands over
each message, and prints the answers. Without, it stands between a client and the
agent, with its standard input and output.`

const agentRecordExample = `  causeway agent record --prompt 'list the files' -- npx -y @agentclientprotocol/claude-agent-acp
  causeway serve --agent x='causeway agent record -o /tmp/x.jsonl -- x-agent --acp'`

type recordOptions struct {
	file    string
	prompts []string
	yes     bool
}

func newAgentRecord() *cobra.Command {
	var o recordOptions
	cmd := &cobra.Command{
		Use: "record [flags] -- COMMAND [ARG…]", Short: "Record an agent into a transcript", Long: agentRecordLong, Example: agentRecordExample,
		Args: args(cobra.MinimumNArgs(1)), RunE: func(cmd *cobra.Command, argv []string) error { return runRecord(cmd, argv, &o) },
	}
	cmd.Flags().StringVarP(&o.file, "output", "o", "transcript.jsonl", "transcript `file`, made anew, readable by you alone")
	cmd.Flags().StringArrayVar(&o.prompts, "prompt", nil, "`message` for the agent; repeatable")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "with --prompt: approve every question; otherwise the answer is no")
	return cmd
}

func runRecord(cmd *cobra.Command, argv []string, o *recordOptions) (err error) {
	if _, err := exec.LookPath(argv[0]); err != nil {
		return fmt.Errorf("there is no program %q on the PATH; install it, or name it by its path", argv[0])
	}
	f, err := os.OpenFile(o.file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("make transcript: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	recorder, err := script.NewRecorder(f, script.Header{Agent: filepath.Base(argv[0])})
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	recorder.Replace = [][2]string{{dir, "/project"}}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		recorder.Replace = append(recorder.Replace, [2]string{home, "/home/user"})
	}
	if len(o.prompts) > 0 {
		err = recordPrompts(cmd, argv, o, dir, recorder)
	} else {
		err = recordBetween(cmd, argv, dir, recorder)
	}
	if err = errors.Join(err, recorder.Err()); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "transcript written to %s\n", o.file)
	return nil
}

// startRecorded starts the agent with its ears and mouth tapped.
func startRecorded(argv []string, dir string, recorder *script.Recorder) (acp.Peer, error) {
	child, err := process.StartChild(process.Command{Argv: argv, Dir: dir, Env: os.Environ()})
	if err != nil {
		return nil, err
	}
	return recorder.Tee(child), nil
}

// recordBetween passes on what the client and the agent say, until one of them
// ends.
func recordBetween(cmd *cobra.Command, argv []string, dir string, recorder *script.Recorder) error {
	peer, err := startRecorded(argv, dir, recorder)
	if err != nil {
		return err
	}
	defer peer.End()
	heard := make(chan struct{})
	go func() { // ends with our own input, or is left behind at the end of the program
		defer close(heard)
		_, _ = io.Copy(peer, cmd.InOrStdin())
	}()
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = io.Copy(cmd.OutOrStdout(), peer)
	}()
	select {
	case <-said:
	case <-heard:
		peer.End() // as the client would have ended the agent
		<-said
	case <-cmd.Context().Done():
	}
	return nil
}

// recordPrompts is the client itself.
func recordPrompts(cmd *cobra.Command, argv []string, o *recordOptions, dir string, recorder *script.Recorder) error {
	provider, err := acp.New(acp.Options{
		Name: filepath.Base(argv[0]), Version: buildVersion(),
		Launch: func(context.Context, string) (acp.Peer, error) { return startRecorded(argv, dir, recorder) },
	})
	if err != nil {
		return err
	}
	defer func() { _ = provider.Close() }()
	printer := &recordPrinter{out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), yes: o.yes}
	s, err := provider.Open(cmd.Context(), agent.Spec{Directories: []ahp.URI{agent.FileURI(dir)}}, printer)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	stop := context.AfterFunc(cmd.Context(), func() { _ = s.Close() })
	defer stop()
	for i, text := range o.prompts {
		fmt.Fprintln(printer.errs, "> "+text)
		r := s.Prompt(cmd.Context(), agent.Prompt{TurnID: fmt.Sprint(i), Message: ahp.UserMessage(text)})
		fmt.Fprintln(printer.out)
		if cmd.Context().Err() != nil {
			return exitError(exitInterrupted)
		}
		if r.Err != nil {
			fmt.Fprintln(printer.errs, "the turn failed: "+r.Err.Message)
		}
	}
	return nil
}

// recordPrinter prints what an agent says while it is recorded, and answers for
// the user.
type recordPrinter struct {
	out, errs io.Writer
	yes       bool
}

// Emit implements agent.Host.
func (p *recordPrinter) Emit(_ context.Context, e agent.Event) error {
	switch e := e.(type) {
	case agent.Text:
		_, err := io.WriteString(p.out, e.Text)
		return err
	case agent.ToolStarted:
		fmt.Fprintln(p.errs, "\ntool: "+e.DisplayName)
	case agent.Notice:
		fmt.Fprintln(p.errs, "\n"+e.Text.Text)
	}
	return nil
}

// Confirm implements agent.Host.
func (p *recordPrinter) Confirm(_ context.Context, c agent.Confirmation) (agent.Decision, error) {
	answer := "no (--yes approves)"
	if p.yes {
		answer = "yes"
	}
	fmt.Fprintf(p.errs, "\nquestion: %s: %s\n", c.Message.Text, answer)
	return agent.Decision{Approved: p.yes, Reason: ahp.ReasonDenied}, nil
}

// Ask implements agent.Host.
func (p *recordPrinter) Ask(context.Context, string, *ahp.ChatInputRequest) (agent.Answers, error) {
	return agent.Answers{Response: ahp.InputDecline}, nil
}
