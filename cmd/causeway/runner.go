package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/causeway-ahp/causeway/agent/shell"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// runner follows one turn: it prints what the agent answers and puts its
// questions to the user.
type runner struct {
	chat *client.Chat
	turn *client.Turn
	out  io.Writer
	errs io.Writer
	json bool
	ask  *asker

	line  lineWriter      // of out
	prose bool            // the part shown last is prose
	shown map[int]*stream // what was printed of each part, by its place
	put   map[string]bool // questions that were put to the user
}

func newRunner(cmd *cobra.Command, chat *client.Chat) *runner {
	yes, _ := cmd.Flags().GetBool("yes")
	json, _ := cmd.Flags().GetBool("json")
	r := &runner{
		chat: chat, out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), json: json,
		shown: make(map[int]*stream), put: make(map[string]bool),
	}
	r.line.w = r.out
	r.ask = &asker{yes: yes, errs: r.errs, style: styleOf(r.errs)}
	if f, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		r.ask.in = f
	}
	return r
}

// follow starts a turn and prints it until it is over.
func (r *runner) follow(ctx context.Context, message string) error {
	next, stop := iter.Pull2(r.chat.Updates(ctx))
	defer stop()
	if _, err, _ := next(); err != nil { // the state before: from here on nothing is missed
		return err
	}
	r.turn = r.chat.Start(ahp.UserMessage(message))
	defer r.ask.open.Wait()
	for {
		u, err, ok := next()
		if errors.Is(err, client.ErrSlowReader) {
			continue // a snapshot comes next
		}
		if err != nil || !ok {
			return err
		}
		if over := r.show(u); over {
			return nil
		}
		r.questions(ctx, u.State.(*ahp.ChatState))
	}
}

// show prints what an update brought; over tells that the turn has ended.
func (r *runner) show(u client.Update) (over bool) {
	if r.json && len(u.Envelope) > 0 {
		fmt.Fprintf(r.out, "%s\n", u.Envelope)
	}
	s := u.State.(*ahp.ChatState)
	if s.ActiveTurn != nil && s.ActiveTurn.ID == r.turn.ID() {
		r.print(s.ActiveTurn.ResponseParts)
		return false
	}
	if i, ok := s.Turns.Find(r.turn.ID()); ok {
		r.print(s.Turns.At(i).ResponseParts)
	}
	if r.prose {
		r.endLine()
	}
	return true
}

// print writes what is new in the parts of the turn.
func (r *runner) print(parts ahp.List[ahp.ResponsePart]) {
	if r.json {
		return
	}
	for i, p := range parts.All() {
		s := r.shown[i]
		if s == nil {
			s = r.begin(p.Part)
			r.shown[i] = s
		}
		switch p := p.Part.(type) {
		case *ahp.MarkdownPart:
			s.text(p.Content.String())
		case *ahp.SystemNotificationPart:
			s.text(p.Content.Text + "\n")
		case *ahp.ToolCallPart:
			s.call(p.ToolCall)
		}
	}
}

// begin begins to show a part. Prose stands on lines of its own; the output of one
// command after another is left as it is. Tools other than a command are named,
// beside the output.
func (r *runner) begin(p ahp.Part) *stream {
	_, prose := p.(*ahp.MarkdownPart)
	if prose || r.prose {
		r.endLine()
	}
	r.prose = prose
	if call, ok := p.(*ahp.ToolCallPart); ok && call.ToolCall.ToolName != shell.ProviderID {
		fmt.Fprintln(r.errs, styleOf(r.errs).dim("· "+oneLine(call.ToolCall.DisplayName, 200)))
	}
	return &stream{w: &r.line, errs: r.errs, terminal: styleOf(r.out).on}
}

// endLine ends a line of the output that was begun.
func (r *runner) endLine() {
	if r.line.begun {
		_, _ = io.WriteString(&r.line, "\n")
	}
}

// lineWriter knows whether a line was begun.
type lineWriter struct {
	w     io.Writer
	begun bool
}

func (l *lineWriter) Write(b []byte) (int, error) {
	if len(b) > 0 {
		l.begun = b[len(b)-1] != '\n'
	}
	return l.w.Write(b)
}

// questions puts what waits for a decision and was not put before.
func (r *runner) questions(ctx context.Context, s *ahp.ChatState) {
	for _, call := range r.chat.WaitingCalls() {
		if !r.put[call.ToolCallID] {
			r.put[call.ToolCallID] = true
			r.ask.confirm(ctx, r.chat, call)
		}
	}
	for _, q := range openRequests(s) {
		if !r.put[q.ID] {
			r.put[q.ID] = true
			r.ask.answer(ctx, r.chat, q)
		}
	}
}

// openRequests are the questions of the active turn nobody has answered.
func openRequests(s *ahp.ChatState) (open []*ahp.ChatInputRequest) {
	if s.ActiveTurn == nil {
		return nil
	}
	for _, p := range s.ActiveTurn.ResponseParts.All() {
		if q, ok := p.Part.(*ahp.InputRequestPart); ok && q.Response == nil {
			open = append(open, q.Request)
		}
	}
	return open
}
