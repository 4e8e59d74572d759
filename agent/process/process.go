package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Command says what to execute.
type Command struct {
	Argv []string // Argv[0] is looked up in the host's PATH
	Dir  string
	Env  []string // all of it; nothing is inherited
	// Stderr gets a copy of what a Child writes to its error output; nil: nobody.
	Stderr io.Writer
}

// build makes the command the leader of a group of its own.
func (c Command) build() *exec.Cmd {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// Process is a running command: the leader of its own process group and
// whatever it starts there. The goroutine that started it calls Stop, which
// waits for the two loops.
type Process struct {
	Out *Capture // what the group writes

	cmd    *exec.Cmd
	group  group
	pipe   *os.File
	reader sync.WaitGroup
}

// Ending is how a command ended.
type Ending struct {
	State      *os.ProcessState // nil with Abandoned, if the leader itself lives on
	Forced     bool             // the leader was running when Stop was called
	Background bool             // the leader left processes that were ended
	Abandoned  bool             // something outlived SIGKILL, or may not be signalled
}

// Start runs a command with /dev/null as its input and out as its output and
// error output, in order of arrival.
func Start(c Command, out *Capture) (*Process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make output pipe: %w", err)
	}
	defer func() { _ = w.Close() }() // the child has its own copy
	cmd := c.build()
	// Files are handed to the child as they are. Any other writer would make
	// Wait wait for everybody who inherited the pipe.
	cmd.Stdout, cmd.Stderr = w, w
	g, err := launch(cmd)
	if err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("start command: %w", err)
	}
	p := &Process{Out: out, cmd: cmd, pipe: r, group: g}
	go p.waitLoop()
	p.reader.Go(p.readLoop)
	return p, nil
}

// waitLoop reaps the leader. Stop waits for it, except for a leader that
// nothing can end.
func (p *Process) waitLoop() {
	defer close(p.group.exited)
	_ = p.cmd.Wait() // the exit status is in ProcessState
}

// readLoop reads until every holder of the pipe is gone, the output is over its
// limit, or Stop gives up. It never waits for whoever looks at the output.
func (p *Process) readLoop() {
	buf := make([]byte, 32<<10)
	for {
		n, err := p.pipe.Read(buf)
		if n > 0 {
			if _, over := p.Out.Write(buf[:n]); over != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Exited is closed when the leader has ended.
func (p *Process) Exited() <-chan struct{} { return p.group.exited }

// Await returns when the leader has ended, the output is over its limit, or ctx
// is done.
func (p *Process) Await(ctx context.Context) {
	select {
	case <-p.group.exited:
	case <-p.Out.Over:
	case <-ctx.Done():
	}
}

// Kill ends the group at once, without waiting. Stop is still to be called.
func (p *Process) Kill() { p.group.signal(syscall.SIGKILL) }

// Stop ends what is left of the group and returns when nothing is, with all
// output read. It must be called exactly once.
func (p *Process) Stop() Ending {
	e := Ending{Forced: !p.group.hasExited()}
	if e.Forced || !p.group.waitGone(LingerTime) {
		e.Background = !e.Forced
		e.Abandoned = !p.group.terminate()
	}
	if p.group.hasExited() {
		e.State = p.cmd.ProcessState
	}
	p.drain()
	return e
}

// drain reads what is in the pipe still. Who holds it now has left the group,
// so the wait has a limit.
func (p *Process) drain() {
	_ = p.pipe.SetReadDeadline(time.Now().Add(DrainTime))
	p.reader.Wait()
	_ = p.pipe.Close()
}

// OutputOf runs a short command and returns what it wrote. It fails unless the
// command succeeds and writes at most limit bytes.
func OutputOf(ctx context.Context, c Command, limit int) (string, error) {
	out := NewCapture(int64(limit), limit)
	p, err := Start(c, out)
	if err != nil {
		return "", err
	}
	p.Await(ctx)
	e := p.Stop()
	if e.State == nil || !e.State.Success() || out.OverLimit() {
		return "", fmt.Errorf("%s failed", c.Argv[0])
	}
	raw, _ := out.Bytes(limit)
	return string(raw), nil
}
