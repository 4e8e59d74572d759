package acp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/causeway-ahp/causeway/agent/process"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"golang.org/x/sys/unix"
)

// Bounds of the terminals of a session.
const (
	maxTerminals         = 64
	maxTerminalBytes     = 16 << 20 // of output kept for the agent
	defaultTerminalBytes = 1 << 20
)

var errTerminalReleased = errors.New("the terminal was released")

// terminals runs commands for an agent. They have no channel of their own: their
// output stands in the tool call that names them.
type terminals struct {
	files   *files // which knows the session's directories
	dir     string
	env     []string
	changed func() // called when there is output

	life   context.Context
	finish context.CancelCauseFunc
	loops  sync.WaitGroup

	mu   sync.Mutex
	last int
	open map[string]*terminal
	old  []string // released, oldest first: they are shown until others take their place
	ends map[string]*terminal
}

// terminal is a command.
type terminal struct {
	p      *process.Process
	out    *process.Capture
	limit  int
	finish context.CancelCauseFunc
	done   chan struct{} // closed when the command and all it started are gone; end is set then
	end    process.Ending
}

func newTerminals(ctx context.Context, f *files, dir string, env []string, changed func()) *terminals {
	t := &terminals{
		files: f, dir: dir, env: env, changed: changed, open: make(map[string]*terminal), ends: make(map[string]*terminal),
	}
	t.life, t.finish = context.WithCancelCause(ctx)
	return t
}

// close ends every command and waits for them.
func (t *terminals) close() {
	t.finish(errEnded)
	t.loops.Wait()
}

// running reports whether a command runs.
func (t *terminals) running() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, term := range t.open {
		if !term.over() {
			return true
		}
	}
	return false
}

func (t *terminal) over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

type terminalParams struct {
	Command         string   `json:"command"`
	Args            []string `json:"args"`
	Env             []envVar `json:"env"`
	Cwd             *string  `json:"cwd"`
	OutputByteLimit *int     `json:"outputByteLimit"`
}

type envVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type terminalRef struct {
	TerminalID string `json:"terminalId"`
}

// create starts a command. Agents put a whole command line into the command as
// often as not, so one with a space goes to the shell.
func (t *terminals) create(p *terminalParams) (any, error) {
	dir, err := t.directory(p.Cwd)
	if err != nil {
		return nil, err
	}
	limit := defaultTerminalBytes
	if p.OutputByteLimit != nil {
		limit = min(max(*p.OutputByteLimit, 0), maxTerminalBytes)
	}
	env := slices.Clone(t.env)
	for _, v := range p.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	c := process.Command{Argv: append([]string{p.Command}, p.Args...), Dir: dir, Env: append(env, "PWD="+dir)}
	if len(p.Args) == 0 && needsShell(p.Command) {
		c.Argv = []string{"sh", "-c", "--", p.Command}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) >= maxTerminals {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "there are %d terminals; release some", maxTerminals)
	}
	term := &terminal{out: process.NewCapture(1<<62, limit), limit: limit, done: make(chan struct{})}
	if term.p, err = process.Start(c, term.out); err != nil {
		return nil, startFailure(err)
	}
	t.last++
	id := "term-" + strconv.Itoa(t.last)
	t.open[id] = term
	var ctx context.Context
	ctx, term.finish = context.WithCancelCause(t.life)
	t.loops.Go(func() { t.follow(ctx, term) })
	return terminalRef{id}, nil
}

// needsShell reports whether a command without arguments is a command line.
func needsShell(command string) bool {
	for _, r := range command {
		switch r {
		case ' ', '\t', '\n', '|', '&', ';', '<', '>', '$', '`', '*', '"', '\'':
			return true
		}
	}
	return false
}

// directory is where a command runs: inside the session's directories.
func (t *terminals) directory(cwd *string) (string, error) {
	if cwd == nil || *cwd == "" {
		return t.dir, nil
	}
	if _, _, err := t.files.locate(*cwd); err != nil && *cwd != t.dir {
		return "", err
	}
	return *cwd, nil
}

// follow tells of output until the command is over or to be ended.
func (t *terminals) follow(ctx context.Context, term *terminal) {
	for {
		select {
		case <-term.out.Changed:
			t.changed()
			continue
		case <-term.p.Exited():
		case <-ctx.Done():
		}
		break
	}
	term.end = term.p.Stop()
	close(term.done)
	t.changed()
}

func (t *terminals) find(id string) (*terminal, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if term := t.open[id]; term != nil {
		return term, nil
	}
	return nil, jsonrpc.Errorf(codeResourceNotFound, "there is no such terminal")
}

type terminalOutput struct {
	Output     string      `json:"output"`
	Truncated  bool        `json:"truncated"`
	ExitStatus *exitStatus `json:"exitStatus,omitzero"`
}

type exitStatus struct {
	ExitCode *int    `json:"exitCode"`
	Signal   *string `json:"signal"`
}

// output is what the command wrote, cut at the front at a character (agents.md,
// 1.4, 6).
func (t *terminals) output(p *terminalRef) (any, error) {
	term, err := t.find(p.TerminalID)
	if err != nil {
		return nil, err
	}
	over := term.over() // before the output, which is complete then
	text, omitted := term.out.Final(term.limit)
	r := terminalOutput{Output: text, Truncated: omitted > 0}
	if over {
		r.ExitStatus = term.status()
	}
	return r, nil
}

// status is how the command ended. It may be asked after done.
func (t *terminal) status() *exitStatus {
	state := t.end.State
	if state == nil {
		return &exitStatus{Signal: new("SIGKILL")}
	}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return &exitStatus{Signal: new(unix.SignalName(w.Signal()))}
	}
	return &exitStatus{ExitCode: new(state.ExitCode())}
}

func (t *terminals) wait(ctx context.Context, p *terminalRef) (any, error) {
	term, err := t.find(p.TerminalID)
	if err != nil {
		return nil, err
	}
	select {
	case <-term.done:
		return term.status(), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// kill ends the command; the terminal stays.
func (t *terminals) kill(p *terminalRef) (any, error) {
	term, err := t.find(p.TerminalID)
	if err != nil {
		return nil, err
	}
	if !term.over() { // after that the group's id may be somebody else's
		term.p.Kill()
	}
	return nothing{}, nil
}

// release ends the command and forgets the terminal; what it wrote goes on being
// shown.
func (t *terminals) release(_ context.Context, p *terminalRef) (any, error) {
	t.mu.Lock()
	term := t.open[p.TerminalID]
	if term == nil {
		t.mu.Unlock()
		return nil, jsonrpc.Errorf(codeResourceNotFound, "there is no such terminal")
	}
	delete(t.open, p.TerminalID)
	t.ends[p.TerminalID] = term
	if t.old = append(t.old, p.TerminalID); len(t.old) > maxTerminals {
		delete(t.ends, t.old[0])
		t.old = t.old[1:]
	}
	t.mu.Unlock()
	term.finish(errTerminalReleased)
	<-term.done
	return nothing{}, nil
}

// content is what a terminal shows inside a tool call.
func (t *terminals) content(id string) (c ahp.ToolResultContent, ok bool) {
	t.mu.Lock()
	term := t.open[id]
	if term == nil {
		term = t.ends[id]
	}
	t.mu.Unlock()
	if term == nil {
		return c, false
	}
	if !term.over() {
		return ahp.TextContent(term.out.Live(min(term.limit, maxShownBytes))), true
	}
	text, omitted := term.out.Final(min(term.limit, maxShownBytes))
	if omitted > 0 {
		text = leftOut(int(omitted)) + text
	}
	if problem := term.problem(); problem != "" {
		text += fmt.Sprintf("[%s]\n", problem)
	}
	return ahp.TextContent(text), true
}

// problem is what was wrong with how the command ended, "" for nothing.
func (t *terminal) problem() string {
	switch s := t.status(); {
	case s.Signal != nil:
		return "killed by " + *s.Signal
	case *s.ExitCode != 0:
		return fmt.Sprintf("exit status %d", *s.ExitCode)
	}
	return ""
}

// startFailure is what an agent sees of a command that could not be started.
func startFailure(err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return jsonrpc.Errorf(codeResourceNotFound, "program or directory not found")
	case errors.Is(err, fs.ErrPermission):
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "permission denied")
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "the command could not be started")
}

// outputChanged marks the calls that show a terminal, so that their content is
// published anew.
func (s *session) outputChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil {
		return
	}
	for _, c := range s.turn.order {
		if !c.done && slices.ContainsFunc(c.content, func(t toolContent) bool { return t.Type == contentTerminal }) {
			c.dirty = true
			s.poke()
		}
	}
}
