// Package examples_test runs the example programs as their users do, against a
// real host over loopback.
package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/session"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
	"github.com/go-json-experiment/json/jsontext"
)

// programs is where the examples were built.
var programs string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "examples")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	programs = dir
	out, err := exec.Command("go", "build", "-o", dir, "./...").CombinedOutput()
	if err != nil {
		_, _ = os.Stderr.Write(out)
		return 1
	}
	return m.Run()
}

// stage is a host on loopback with a session, which a client of the test holds.
type stage struct {
	url        string
	c          *client.Client
	session    *client.Session
	chat       *client.Chat
	subscribed chan struct{} // holds one token for each snapshot that left
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{subscribed: make(chan struct{}, 16)}
	h, err := host.New(t.Context(), host.Options{
		Features: []host.Feature{session.New(session.Options{Providers: []agent.Provider{cautious{}}})},
	})
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Upgrade(rw, r, websocket.Options{})
		if err != nil {
			return
		}
		conns.Go(func() { _ = h.Serve(context.Background(), observed{ws, s.subscribed}, host.Local) })
	}))
	t.Cleanup(func() {
		if err := h.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		server.Close()
		conns.Wait()
	})
	s.url = "ws" + strings.TrimPrefix(server.URL, "http")
	s.open(t)
	return s
}

// open connects the client of the test and makes its session.
func (s *stage) open(t *testing.T) {
	t.Helper()
	var err error
	if s.c, err = client.Dial(t.Context(), s.url, client.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.c.Close() })
	if s.session, err = s.c.CreateSession(t.Context(), client.CreateSessionOptions{}); err != nil {
		t.Fatal(err)
	}
	if s.chat, err = s.session.DefaultChat(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-s.subscribed // the session
	<-s.subscribed // its chat
}

// program is an example that runs.
type program struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// run starts an example and returns once it has subscribed.
func (s *stage) run(t *testing.T, name string, args ...string) *program {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, name), append([]string{s.url}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	<-s.subscribed
	return &program{cmd, bufio.NewScanner(out)}
}

// until reads what the program prints until a line satisfies the condition, and
// returns all of it.
func (p *program) until(t *testing.T, last func(line string) bool) string {
	t.Helper()
	var all strings.Builder
	for p.lines.Scan() {
		fmt.Fprintln(&all, p.lines.Text())
		if last(p.lines.Text()) {
			return all.String()
		}
	}
	t.Fatalf("the program has ended and printed %q", all.String())
	return ""
}

// interrupt ends the program as a user does, which is no failure.
func (p *program) interrupt(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	for p.lines.Scan() { // Wait must not close the pipe while something is in it
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("ended with %v when interrupted", err)
	}
}

// prompt runs a turn to its end.
func (s *stage) prompt(t *testing.T, text string) *ahp.Turn {
	t.Helper()
	turn, err := s.chat.Send(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	done, err := turn.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// observed tells when a snapshot leaves.
type observed struct {
	transport.Conn
	subscribed chan<- struct{}
}

func (o observed) Write(batch [][]byte) error {
	err := o.Conn.Write(batch)
	for _, m := range batch {
		if bytes.Contains(m, []byte(`"fromSeq"`)) {
			o.subscribed <- struct{}{}
		}
	}
	return err
}

// cautious is an agent that asks before it uses the tool its prompt names.
type cautious struct{}

func (cautious) Describe() agent.Description {
	return agent.Description{Provider: "cautious", DisplayName: "Cautious"}
}

func (cautious) ResolveConfig(context.Context, []ahp.URI, map[string]jsontext.Value) (agent.Config, error) {
	return agent.Config{Schema: ahp.ConfigSchema{Type: "object"}}, nil
}

func (cautious) Open(_ context.Context, _ agent.Spec, h agent.Host) (agent.Session, error) {
	return &cautiousSession{host: h, done: make(chan struct{})}, nil
}

func (cautious) Close() error { return nil }

type cautiousSession struct {
	host agent.Host
	done chan struct{}
}

func (s *cautiousSession) Prompt(ctx context.Context, p agent.Prompt) agent.Outcome {
	tool := p.Message.Text
	_ = s.host.Emit(ctx, agent.ToolStarted{TurnID: p.TurnID, ToolCallID: "call", ToolName: tool})
	d, err := s.host.Confirm(ctx, agent.Confirmation{TurnID: p.TurnID, ToolCallID: "call", Message: ahp.Plain("Use " + tool)})
	if err != nil {
		return agent.Outcome{Result: agent.Cancelled}
	}
	answer := "may not use " + tool
	if d.Approved {
		answer = "used " + tool
	}
	_ = s.host.Emit(ctx, agent.Text{TurnID: p.TurnID, Text: answer})
	return agent.Outcome{Result: agent.Completed}
}

func (s *cautiousSession) Cancel(string) {}

func (s *cautiousSession) Steer(context.Context, *ahp.Message) bool { return false }

func (s *cautiousSession) SetConfig(context.Context, string, jsontext.Value) (map[string]jsontext.Value, error) {
	return nil, nil
}

func (s *cautiousSession) ResumeToken() []byte { return nil }

func (s *cautiousSession) Done() <-chan struct{} { return s.done }

func (s *cautiousSession) Err() error { return nil }

func (s *cautiousSession) Close() error { close(s.done); return nil }
