package measure

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/go-json-experiment/json"
)

// Subject is a server that is measured, in another process of this program. It must
// be ended with Stop, and is not for use by several goroutines.
type Subject struct {
	process *exec.Cmd
	in      io.WriteCloser
	lines   *bufio.Scanner
	addr    string
}

// StartSubject starts this program with args, which make it call Present. The process
// ends with ctx at the latest.
func StartSubject(ctx context.Context, args ...string) (*Subject, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &Subject{process: exec.CommandContext(ctx, self, args...)}
	s.process.Stderr = os.Stderr
	if s.in, err = s.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	s.lines = bufio.NewScanner(out)
	if !s.lines.Scan() {
		return nil, errors.Join(errors.New("what was to be measured does not start"), s.Stop())
	}
	s.addr = s.lines.Text()
	return s, nil
}

// Addr is where the server listens, as it gave it to Present.
func (s *Subject) Addr() string { return s.addr }

// Memory is what the server holds after a collection.
func (s *Subject) Memory() (m Memory, err error) {
	if _, err := io.WriteString(s.in, "\n"); err != nil {
		return m, err
	}
	if !s.lines.Scan() {
		return m, errors.New("what is measured has ended")
	}
	return m, json.Unmarshal(s.lines.Bytes(), &m)
}

// Stop ends the process, by the end of its input, and waits for it.
func (s *Subject) Stop() error { return errors.Join(s.in.Close(), s.process.Wait()) }

// Present is the other side of a Subject: it prints the server's address, and what
// memory this process holds once for each line of in, until that ends.
func Present(addr string, in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, addr); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		m, err := json.Marshal(MemoryNow())
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", m); err != nil {
			return err
		}
	}
	return lines.Err()
}
