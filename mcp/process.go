package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// stopGrace is how long a server may take to end after its input has; then it is
// asked, and after the same time again it is killed.
const stopGrace = 5 * time.Second

// process is a server that was started, in a process group of its own.
type process struct {
	cmd *exec.Cmd
	in  *os.File // what the server reads
	out *os.File // what it writes

	waiting sync.WaitGroup
	exited  chan struct{} // closed once err is set
	err     error
}

func startServer(g *Gateway) (*process, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		closeAll(theirIn, in)
		return nil, fmt.Errorf("start the server: %w", err)
	}
	defer closeAll(theirIn, theirOut)
	cmd := exec.Command(g.Command[0], g.Command[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = g.Env, theirIn, theirOut, besideClient{g.Stderr}
	cmd.WaitDelay = stopGrace // for a grandchild that holds the log open
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		closeAll(in, out)
		return nil, fmt.Errorf("start the server: %w", err)
	}
	p := &process{cmd: cmd, in: in, out: out, exited: make(chan struct{})}
	p.waiting.Go(p.wait)
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // pipes: nothing is lost
	}
}

func (p *process) wait() {
	defer close(p.exited)
	err := p.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		p.err = &ExitError{Code: exit.ExitCode()}
	case !errors.Is(err, exec.ErrWaitDelay):
		p.err = err
	}
}

// stop ends the server: by the end of its input, then by asking, then by force. It
// returns how the server ended, unless that was by a signal of ours.
func (p *process) stop() error {
	_ = p.in.Close() // closed before, if the client's end did it
	asked := false
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if p.ends(stopGrace) {
			break
		}
		asked = true
		_ = syscall.Kill(-p.cmd.Process.Pid, sig) // it may have ended just now
	}
	p.waiting.Wait()
	if asked {
		return nil
	}
	return p.err
}

// ends reports whether the server ends within d.
func (p *process) ends(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// besideClient is the stream that a server logs to. It goes on when nobody takes it.
type besideClient struct{ w io.Writer }

func (b besideClient) Write(p []byte) (int, error) {
	if b.w != nil {
		_, _ = b.w.Write(p)
	}
	return len(p), nil
}
