package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stderrBytes is how much of a child's error output is kept, from its end.
const stderrBytes = 64 << 10

// exitPatience is how long a child may take to end by itself once its input
// has ended.
const exitPatience = 500 * time.Millisecond

// Child is a running program that is spoken to: the leader of its own process
// group, with pipes to its input and from its output. Read and Write may overlap
// each other, and End both.
type Child struct {
	cmd    *exec.Cmd
	group  group
	in     *os.File // its input
	out    *os.File // its output
	errs   *os.File // its error output
	stderr *Capture
	copy   io.Writer // of the error output; nil: nobody
	reader sync.WaitGroup
	ending sync.Once
}

// StartChild starts a program to be spoken to.
func StartChild(c Command) (*Child, error) {
	var pipes [3][2]*os.File // of input, output and error output: read end, write end
	var opened []*os.File
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(opened)
			return nil, fmt.Errorf("make pipe: %w", err)
		}
		pipes[i] = [2]*os.File{r, w}
		opened = append(opened, r, w)
	}
	cmd := c.build()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	g, err := launch(cmd)
	if err != nil {
		closeAll(opened)
		return nil, fmt.Errorf("start program: %w", err)
	}
	closeAll([]*os.File{pipes[0][0], pipes[1][1], pipes[2][1]}) // the child has its own copies
	p := &Child{
		cmd: cmd, group: g,
		in: pipes[0][1], out: pipes[1][0], errs: pipes[2][0], stderr: NewCapture(1<<62, stderrBytes), copy: c.Stderr,
	}
	go p.waitLoop()
	p.reader.Go(p.stderrLoop)
	return p, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing was written that could be lost
	}
}

// waitLoop reaps the leader. When it has ended, what it wrote can still be read
// for DrainTime, whoever else holds its output.
func (p *Child) waitLoop() {
	defer close(p.group.exited)
	_ = p.cmd.Wait() // the exit status is in ProcessState
	_ = p.out.SetReadDeadline(time.Now().Add(DrainTime))
	_ = p.errs.SetReadDeadline(time.Now().Add(DrainTime))
}

// stderrLoop reads the error output until its end.
func (p *Child) stderrLoop() {
	buf := make([]byte, 4<<10)
	for {
		n, err := p.errs.Read(buf)
		if n > 0 {
			_, _ = p.stderr.Write(buf[:n]) // its limit is never reached
			if p.copy != nil {
				_, _ = p.copy.Write(buf[:n]) // whoever shows it has lost interest
			}
		}
		if err != nil {
			return
		}
	}
}

// Read reads what the child writes.
func (p *Child) Read(b []byte) (int, error) { return p.out.Read(b) }

// Write writes to its input.
func (p *Child) Write(b []byte) (int, error) { return p.in.Write(b) }

// Exited is closed when the leader has ended.
func (p *Child) Exited() <-chan struct{} { return p.group.exited }

// Kill ends the group at once, without waiting. End is still to be called.
func (p *Child) Kill() { p.group.signal(syscall.SIGKILL) }

// End lets the child end by itself for a moment, then ends its group, and
// returns when nothing of it is left. It is idempotent.
func (p *Child) End() {
	p.ending.Do(func() {
		_ = p.in.Close()
		if !p.group.waitGone(exitPatience) {
			p.group.terminate()
		}
		now := time.Now()
		_ = p.out.SetReadDeadline(now)
		_ = p.errs.SetReadDeadline(now.Add(DrainTime))
		p.reader.Wait()
		_ = p.errs.Close()
		_ = p.out.Close()
	})
}

// Status is how the leader ended, such as "exit status 1"; "" while it runs.
func (p *Child) Status() string {
	if !p.group.hasExited() {
		return ""
	}
	return p.cmd.ProcessState.String()
}

// LastWords is the last line with text of the error output, "" for none.
func (p *Child) LastWords() string {
	text, _ := p.stderr.Final(stderrBytes)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
