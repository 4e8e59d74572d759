package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
	"github.com/go-json-experiment/json"
	"github.com/gobwas/ws"
)

// server is another process of this program.
type server struct {
	process *exec.Cmd
	in      io.WriteCloser
	lines   *bufio.Scanner
	addr    string
}

func start(ctx context.Context, name string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{process: exec.CommandContext(ctx, self, "-role", name)}
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
		s.stop()
		return nil, fmt.Errorf("the server %s does not start", name)
	}
	s.addr = s.lines.Text()
	return s, nil
}

// stop ends the process, whose input ends.
func (s *server) stop() {
	_ = s.in.Close()
	_ = s.process.Wait()
}

// stream is how many messages a second arrive of n that the server sends.
func (s *server) stream(ctx context.Context, n int) (float64, error) {
	c, err := websocket.Dial(ctx, "ws://"+s.addr+"/", websocket.DialOptions{})
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close(transport.CodeNormal, "") }()
	began := time.Now()
	if err := c.Write([][]byte{[]byte(strconv.Itoa(n))}); err != nil {
		return 0, err
	}
	var msg []byte
	for range n {
		if msg, err = c.ReadOver(msg); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// idle is what each of n connections costs the server, in KB.
func (s *server) idle(ctx context.Context, n int) (float64, error) {
	before, err := s.memory()
	if err != nil {
		return 0, err
	}
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for range n {
		c, _, _, err := ws.Dial(ctx, "ws://"+s.addr+"/")
		if err != nil {
			return 0, err
		}
		conns = append(conns, c)
	}
	after, err := s.memory()
	return (float64(after.InUse()) - float64(before.InUse())) / float64(n) / 1024, err
}

// memory asks the server what it holds.
func (s *server) memory() (m measure.Memory, err error) {
	if _, err := io.WriteString(s.in, "\n"); err != nil {
		return m, err
	}
	if !s.lines.Scan() {
		return m, errors.New("the server has ended")
	}
	return m, json.Unmarshal(s.lines.Bytes(), &m)
}
