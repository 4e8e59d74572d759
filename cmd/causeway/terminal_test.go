package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/creack/pty"
)

// These tests run the program on a real terminal, against a real host.

// playground is a directory with a host of its own.
type playground struct {
	t    *testing.T
	work string
	dir  string
}

func newPlayground(t *testing.T) *playground {
	t.Helper()
	p := &playground{t: t, work: t.TempDir()}
	p.dir = filepath.Join(p.work, "d")
	p.command("run", "pwd").must()
	t.Cleanup(func() { p.command("stop").must() })
	return p
}

// program is a run of causeway whose output can be watched while it runs.
type program struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File

	mu      sync.Mutex
	out     bytes.Buffer
	changed chan struct{}
}

func (p *playground) build(args ...string) *program {
	p.t.Helper()
	cmd := exec.Command("causeway", append([]string{args[0], "--data", p.dir}, args[1:]...)...)
	cmd.Dir = p.work
	cmd.Env = append(os.Environ(), "HOME="+p.work, "NO_COLOR=1", urlVariable+"=")
	return &program{t: p.t, cmd: cmd, changed: make(chan struct{}, 1)}
}

// Write implements io.Writer.
func (g *program) Write(b []byte) (int, error) {
	g.mu.Lock()
	g.out.Write(b)
	g.mu.Unlock()
	select {
	case g.changed <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (g *program) text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.out.String()
}

// command prepares a program that writes to pipes.
func (p *playground) command(args ...string) *program {
	g := p.build(args...)
	g.cmd.Stdout, g.cmd.Stderr = g, g
	return g
}

func (g *program) must() {
	g.t.Helper()
	if err := g.cmd.Run(); err != nil {
		g.t.Fatalf("%v: %v\n%s", g.cmd.Args, err, g.text())
	}
}

// onTerminal starts a program on a terminal.
func (p *playground) onTerminal(args ...string) *program {
	p.t.Helper()
	g := p.build(args...)
	tty, err := pty.Start(g.cmd)
	if err != nil {
		p.t.Fatalf("start on a terminal: %v", err)
	}
	g.tty = tty
	var copying sync.WaitGroup
	copying.Go(func() { _, _ = io.Copy(g, tty) })
	p.t.Cleanup(func() {
		_ = g.cmd.Process.Kill()
		_ = tty.Close()
		copying.Wait()
	})
	return g
}

// await waits until the program has printed text.
func (g *program) await(text string) {
	g.t.Helper()
	deadline := time.NewTimer(scriptWait)
	defer deadline.Stop()
	for !strings.Contains(g.text(), text) {
		select {
		case <-g.changed:
		case <-deadline.C:
			g.t.Fatalf("%v did not print %q, but\n%s", g.cmd.Args, text, g.text())
		}
	}
}

func (g *program) typed(text string) {
	g.t.Helper()
	if _, err := io.WriteString(g.tty, text); err != nil {
		g.t.Fatalf("type: %v", err)
	}
}

// code waits for the end of the program.
func (g *program) code() int {
	g.t.Helper()
	err := g.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		g.t.Fatalf("wait: %v", err)
	}
	return g.cmd.ProcessState.ExitCode()
}

func (p *playground) wantCode(g *program, want int) {
	p.t.Helper()
	if got := g.code(); got != want {
		p.t.Errorf("%v: exit code %d, want %d\n%s", g.cmd.Args, got, want, g.text())
	}
}

func (p *playground) client() *client.Client {
	p.t.Helper()
	d, err := datadir.At(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	h, err := d.Find()
	if err != nil {
		p.t.Fatal(err)
	}
	url, err := localURL(d, h)
	if err != nil {
		p.t.Fatal(err)
	}
	c, err := client.Dial(p.t.Context(), url, client.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

// chatOf opens the chat of the session with the title.
func (p *playground) chatOf(c *client.Client, title string) *client.Chat {
	p.t.Helper()
	for s, err := range c.ListSessions(p.t.Context()) {
		if err != nil {
			p.t.Fatal(err)
		}
		if s.Title == title {
			chat, err := c.Chat(p.t.Context(), *s.DefaultChat)
			if err != nil {
				p.t.Fatal(err)
			}
			return chat
		}
	}
	p.t.Fatalf("no session %q", title)
	return nil
}

func TestRunAsksOnATerminal(t *testing.T) {
	p := newPlayground(t)
	g := p.onTerminal("run", "echo hi > note.txt")
	g.await("[y]es, [n]o:")
	g.typed("perhaps\n")
	g.await("[y]es, [n]o:")
	g.typed("y\n")
	p.wantCode(g, exitDone)
	if _, err := os.Stat(filepath.Join(p.work, "note.txt")); err != nil {
		t.Errorf("the command did not run: %v", err)
	}

	g = p.onTerminal("run", "echo no > other.txt")
	g.await("[y]es, [n]o:")
	g.typed("n\n")
	p.wantCode(g, exitFailed)
	if _, err := os.Stat(filepath.Join(p.work, "other.txt")); err == nil {
		t.Error("the command ran although the answer was no")
	}
}

func TestTheFirstAnswerWins(t *testing.T) {
	p := newPlayground(t)
	g := p.onTerminal("run", "echo hi > note.txt")
	g.await("[y]es, [n]o:")
	c := p.client()
	chat := p.chatOf(c, "echo hi > note.txt")
	calls := chat.WaitingCalls()
	if len(calls) != 1 {
		t.Fatalf("%d calls wait, want 1", len(calls))
	}
	d, err := chat.Confirm(calls[0].ToolCallID, true, client.ConfirmOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Wait(t.Context()); err != nil {
		t.Fatalf("the answer was not accepted: %v", err)
	}
	g.await("(answered elsewhere)")
	p.wantCode(g, exitDone)
}

func TestCtrlCCancelsAndNothingIsLeft(t *testing.T) {
	p := newPlayground(t)
	pids := filepath.Join(p.work, "pids")
	command := "echo $$ > " + pids + "; sleep 300 & echo $! >> " + pids + "; echo started; wait"
	g := p.onTerminal("run", "--yes", command)
	g.await("started")
	g.typed("\x03")
	p.wantCode(g, exitInterrupted)
	raw, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), scriptWait)
	defer cancel()
	for _, pid := range strings.Fields(string(raw)) {
		if err := awaitDead(ctx, pid); err != nil {
			t.Errorf("process %s of the command: %v", pid, err)
		}
	}
}

// awaitDead waits until a process is gone, or a zombie nobody has reaped.
func awaitDead(ctx context.Context, pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		stat, _ := os.ReadFile(filepath.Join("/proc", pid, "stat")) // Linux only
		if errors.Is(syscall.Kill(n, 0), syscall.ESRCH) || bytes.Contains(stat, []byte(") Z ")) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("is still alive")
		}
	}
}

func TestWatchSeesATurnWhileItRuns(t *testing.T) {
	p := newPlayground(t)
	w := p.onTerminal("watch")
	w.await("[pwd]") // the session there was before
	gate := filepath.Join(p.work, "gate")
	command := "echo first; until test -e " + gate + "; do sleep 0.05; done; echo last"
	r := p.onTerminal("run", "--yes", command)
	w.await("  first")
	if strings.Contains(w.text(), "  last") {
		t.Error("the end came before the command went on")
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.wantCode(r, exitDone)
	w.await("turn complete")
	got := w.text()
	order := []string{"session of agent shell", "> echo first", "$ echo first", "  first", "  last", "ok: echo first", "turn complete"}
	at := 0
	for _, want := range order {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or comes too early, in\n%s", want, got)
		}
		at += i
	}
	w.typed("\x03")
	p.wantCode(w, exitInterrupted)
}

func TestAHostThatGoesAwayIsTold(t *testing.T) {
	p := newPlayground(t)
	w := p.onTerminal("watch")
	w.await("[pwd]")
	p.command("stop").must()
	w.await("connection lost, reconnecting")
	p.command("run", "pwd").must()
	w.await("connected again")
	w.typed("\x03")
	p.wantCode(w, exitInterrupted)
	if strings.Contains(w.text(), "connected again after 0s") {
		t.Errorf("a loss that took a new host to start counts as none:\n%s", w.text())
	}
	if s := ahp.ErrNotFound; strings.Contains(w.text(), s.Message) {
		t.Errorf("a message meant for programs was shown:\n%s", w.text())
	}
}
