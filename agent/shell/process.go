package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Patience with processes.
const (
	lingerTime = 250 * time.Millisecond // for the rest of a group after its leader
	termGrace  = 2 * time.Second        // between SIGTERM and SIGKILL
	killGrace  = 2 * time.Second        // for SIGKILL to have ended the group
	drainTime  = 500 * time.Millisecond // for reading on after the group is gone
	maxPoll    = 50 * time.Millisecond  // between two looks at a group
)

// command says what to execute.
type command struct {
	argv []string // argv[0] is looked up in the host's PATH
	dir  string
	env  []string
}

// process is a running command: the leader of its own process group and
// whatever it starts there. The goroutine that started it calls stop, which
// waits for the two loops.
type process struct {
	cmd    *exec.Cmd
	pgid   int
	pipe   *os.File // what the group writes
	out    *capture
	exited chan struct{} // closed when the leader has ended and cmd.ProcessState is set
	reader sync.WaitGroup
}

// ending is how a command ended.
type ending struct {
	state      *os.ProcessState // nil with abandoned, if the leader itself lives on
	forced     bool             // the leader was running when stop was called
	background bool             // the leader left processes that were ended
	abandoned  bool             // something outlived SIGKILL, or may not be signalled
}

// start runs a command with /dev/null as its input and out as its output and
// error output, in order of arrival. It is the only place where this package
// starts a process.
func start(c command, out *capture) (*process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make output pipe: %w", err)
	}
	defer func() { _ = w.Close() }() // the child has its own copy
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.env
	// Files are handed to the child as they are. Any other writer would make
	// Wait wait for everybody who inherited the pipe.
	cmd.Stdout, cmd.Stderr = w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("start command: %w", err)
	}
	p := &process{cmd: cmd, pgid: cmd.Process.Pid, pipe: r, out: out, exited: make(chan struct{})}
	go p.waitLoop()
	p.reader.Go(p.readLoop)
	return p, nil
}

// waitLoop reaps the leader. stop waits for it, except for a leader that
// nothing can end.
func (p *process) waitLoop() {
	defer close(p.exited)
	_ = p.cmd.Wait() // the exit status is in ProcessState
}

// readLoop reads until every holder of the pipe is gone, the output is over its
// limit, or stop gives up. It never waits for whoever looks at the output.
func (p *process) readLoop() {
	buf := make([]byte, 32<<10)
	for {
		n, err := p.pipe.Read(buf)
		if n > 0 {
			if _, over := p.out.Write(buf[:n]); over != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// await returns when the leader has ended, the output is over its limit, or ctx
// is done.
func (p *process) await(ctx context.Context) {
	select {
	case <-p.exited:
	case <-p.out.over:
	case <-ctx.Done():
	}
}

// stop ends what is left of the group and returns when nothing is, with all
// output read. It must be called exactly once.
func (p *process) stop() ending {
	e := ending{forced: !p.hasExited()}
	if e.forced || !p.waitGone(lingerTime) {
		e.background = !e.forced
		e.abandoned = !p.terminate()
	}
	if p.hasExited() {
		e.state = p.cmd.ProcessState
	}
	p.drain()
	return e
}

// terminate asks the group to end, then makes it. It reports whether all of it
// is gone.
func (p *process) terminate() bool {
	if p.signal(syscall.SIGTERM); p.waitGone(termGrace) {
		return true
	}
	p.signal(syscall.SIGKILL)
	return p.waitGone(killGrace)
}

// signal sends to the group. An error says that nobody is left to hear it, or
// that it may not be sent; waitGone finds out which.
func (p *process) signal(sig syscall.Signal) { _ = syscall.Kill(-p.pgid, sig) }

// waitGone waits until leader and group are gone and reports whether they are.
// Nothing tells the end of a group, so it looks, less and less often.
func (p *process) waitGone(limit time.Duration) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	poll := time.NewTimer(0)
	defer poll.Stop()
	for pause := time.Millisecond; ; pause = min(2*pause, maxPoll) {
		if p.hasExited() && !groupAlive(p.pgid) {
			return true
		}
		poll.Reset(pause)
		select {
		case <-deadline.C:
			return false
		case <-poll.C:
		}
	}
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// drain reads what is in the pipe still. Who holds it now has left the group,
// so the wait has a limit.
func (p *process) drain() {
	_ = p.pipe.SetReadDeadline(time.Now().Add(drainTime))
	p.reader.Wait()
	_ = p.pipe.Close()
}

// outputOf runs a short command of our own and returns what it wrote. It fails
// unless the command succeeds within the limit of its output.
func outputOf(ctx context.Context, c command) (string, error) {
	out := newCapture(probeBytes, probeBytes)
	p, err := start(c, out)
	if err != nil {
		return "", err
	}
	p.await(ctx)
	e := p.stop()
	if e.state == nil || !e.state.Success() || out.overLimit() {
		return "", fmt.Errorf("%s failed", c.argv[0])
	}
	raw, _ := out.bytes(probeBytes)
	return string(raw), nil
}
