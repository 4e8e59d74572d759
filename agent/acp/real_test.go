package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/scale"
	sdk "github.com/coder/acp-go-sdk"
)

// The example agents of the two SDKs, as child processes. They answer any message
// with the same turn: text, a call that reads, one that asks, text (agents.md,
// 3.1). Each takes some seconds.

// exampleDir holds the example agent of the Go SDK, which is pinned in go.mod and
// built once.
var exampleDir string

var buildExample = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "acp-example")
	if err != nil {
		return "", err
	}
	exampleDir = dir
	path := filepath.Join(dir, "agent")
	out, err := exec.Command("go", "build", "-o", path, "github.com/coder/acp-go-sdk/example/agent").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if exampleDir != "" {
		_ = os.RemoveAll(exampleDir)
	}
	os.Exit(code)
}

func goExample(t *testing.T) Command {
	t.Helper()
	path, err := buildExample()
	if err != nil {
		missing(t, "the Go SDK's example agent cannot be built: "+err.Error())
	}
	return Command{Argv: []string{path}}
}

// nodeExample is the example agent of the TypeScript SDK.
func nodeExample(t *testing.T) Command {
	t.Helper()
	script, err := filepath.Abs("../../testdata/node/node_modules/@agentclientprotocol/sdk/dist/examples/agent.js")
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing(t, "Node is not installed")
	}
	if _, err := os.Stat(script); err != nil {
		missing(t, "npm ci --prefix testdata/node has not been run")
	}
	return Command{Argv: []string{node, script}}
}

// missing skips a test, except where everything has to be there.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// eachExample runs a test with the examples: with the one named in an ordinary
// run, which takes seconds as it is, and with all in a nightly one.
func eachExample(t *testing.T, ordinary string, test func(t *testing.T, c Command)) {
	t.Parallel()
	if testing.Short() {
		t.Skip("real agents take seconds")
	}
	for name, command := range map[string]func(*testing.T) Command{"go": goExample, "node": nodeExample} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != ordinary && scale.Count(10) < 10 {
				t.Skip("CAUSEWAY_SCALE=1 runs this with the other example too")
			}
			test(t, command(t))
		})
	}
}

func openReal(t *testing.T, c Command) (agent.Session, *fakeHost) {
	t.Helper()
	p, err := New(Options{Name: "example", Command: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	h := newFakeHost()
	s, err := p.Open(t.Context(), agent.Spec{Directories: []ahp.URI{agent.FileURI(t.TempDir())}}, h)
	if err != nil {
		t.Fatal(err)
	}
	return s, h
}

func (h *fakeHost) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.events, "\n")
}

func TestRealAgent(t *testing.T) {
	for _, tt := range []struct {
		name, ordinary string
		decision       agent.Decision
		want           []string
		never          string
	}{
		{"allowed", "go", agent.Decision{Approved: true}, []string{
			`start 1.call_1 read "Reading project files"`, `run 1.call_1 "Reading project files" {"path":"/project/README.md"}`, "end 1.call_1 ok # My Project",
			`start 1.call_2 edit "Modifying critical configuration file"`, "ask 1.call_2", "end 1.call_2 ok ", "Perfect!",
		}, "skip"},
		{"denied", "node", agent.Decision{}, []string{"ask 1.call_2", "I'll skip"}, "end 1.call_2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachExample(t, tt.ordinary, func(t *testing.T, c Command) {
				s, h := openReal(t, c)
				h.decisions <- tt.decision
				o := s.Prompt(t.Context(), agent.Prompt{TurnID: "t1", Message: ahp.UserMessage("hello")})
				if o.Result != agent.Completed {
					t.Errorf("outcome %+v", o.Err)
				}
				told := h.all()
				at := 0
				for _, want := range tt.want {
					i := strings.Index(told[at:], want)
					if i < 0 {
						t.Fatalf("told\n%s\nwithout %q at its place", told, want)
					}
					at += i
				}
				if strings.Contains(told, tt.never) {
					t.Errorf("told\n%s\nwith %q", told, tt.never)
				}
			})
		})
	}
}

// The permission is open when the turn is cancelled: one of the examples waits for
// its answer for ever, so it must come (agents.md, 3.1).
func TestRealAgentIsCancelledInAPermission(t *testing.T) {
	eachExample(t, "node", func(t *testing.T, c Command) {
		s, h := openReal(t, c)
		outcome := make(chan agent.Outcome, 1)
		go func() {
			outcome <- s.Prompt(t.Context(), agent.Prompt{TurnID: "t1", Message: ahp.UserMessage("hello")})
		}()
		h.asking(t)
		s.Cancel("t1")
		if o := <-outcome; o.Result != agent.Cancelled {
			t.Errorf("outcome %+v", o)
		}
	})
}

func TestRealAgentIsKilled(t *testing.T) {
	eachExample(t, "go", func(t *testing.T, c Command) {
		s, h := openReal(t, c)
		outcome := make(chan agent.Outcome, 1)
		go func() {
			outcome <- s.Prompt(t.Context(), agent.Prompt{TurnID: "t1", Message: ahp.UserMessage("hello")})
		}()
		h.asking(t)
		s.(*session).conn.peer.(interface{ Kill() }).Kill()
		if o := <-outcome; o.Result != agent.Failed || o.Err.ErrorType != "agentExited" || !strings.Contains(o.Err.Message, "killed") {
			t.Errorf("outcome %+v", o.Err)
		}
		<-s.Done()
	})
}

// asking waits until somebody is asked.
func (h *fakeHost) asking(t *testing.T) {
	t.Helper()
	select {
	case <-h.question:
	case <-t.Context().Done():
		t.Fatal("nobody was asked")
	}
}

// sdkAgent is an agent made with the Go SDK that does what the example does not.
type sdkAgent struct {
	conn *sdk.AgentSideConnection
	file string
}

func (a *sdkAgent) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	return sdk.InitializeResponse{ProtocolVersion: sdk.ProtocolVersionNumber}, nil
}
func (a *sdkAgent) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, nil
}
func (a *sdkAgent) NewSession(context.Context, sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	return sdk.NewSessionResponse{SessionId: "sdk"}, nil
}
func (a *sdkAgent) Cancel(context.Context, sdk.CancelNotification) error { return nil }
func (a *sdkAgent) CloseSession(context.Context, sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	return sdk.CloseSessionResponse{}, nil
}
func (a *sdkAgent) ListSessions(context.Context, sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	return sdk.ListSessionsResponse{}, nil
}
func (a *sdkAgent) ResumeSession(context.Context, sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	return sdk.ResumeSessionResponse{}, nil
}
func (a *sdkAgent) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	return sdk.SetSessionModeResponse{}, nil
}
func (a *sdkAgent) SetSessionConfigOption(context.Context, sdk.SetSessionConfigOptionRequest) (sdk.SetSessionConfigOptionResponse, error) {
	return sdk.SetSessionConfigOptionResponse{}, nil
}

// Prompt uses every service of the client: files, a terminal, permission.
func (a *sdkAgent) Prompt(ctx context.Context, p sdk.PromptRequest) (sdk.PromptResponse, error) {
	if _, err := a.conn.WriteTextFile(ctx, sdk.WriteTextFileRequest{SessionId: p.SessionId, Path: a.file, Content: "one\ntwo\n"}); err != nil {
		return sdk.PromptResponse{}, err
	}
	read, err := a.conn.ReadTextFile(ctx, sdk.ReadTextFileRequest{SessionId: p.SessionId, Path: a.file, Line: sdk.Ptr(2)})
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	term, err := a.conn.CreateTerminal(ctx, sdk.CreateTerminalRequest{SessionId: p.SessionId, Command: "cat", Args: []string{a.file}})
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	ref := sdk.TerminalOutputRequest{SessionId: p.SessionId, TerminalId: term.TerminalId}
	if _, err := a.conn.WaitForTerminalExit(ctx, sdk.WaitForTerminalExitRequest(ref)); err != nil {
		return sdk.PromptResponse{}, err
	}
	out, err := a.conn.TerminalOutput(ctx, ref)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	if _, err := a.conn.ReleaseTerminal(ctx, sdk.ReleaseTerminalRequest(ref)); err != nil {
		return sdk.PromptResponse{}, err
	}
	err = a.conn.SessionUpdate(ctx, sdk.SessionNotification{
		SessionId: p.SessionId, Update: sdk.UpdateAgentMessageText(read.Content + out.Output),
	})
	return sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn}, err
}

// The services the example agents do not use, asked for by the SDK's own client
// stubs: what they encode and decode is not ours.
func TestServicesForTheSDK(t *testing.T) {
	dir := t.TempDir()
	served := &sdkAgent{file: filepath.Join(dir, "f")}
	p, err := New(Options{Name: "sdk", Launch: func(context.Context, string) (Peer, error) {
		fake, peer := newFakeAgent(t)
		served.conn = sdk.NewAgentSideConnection(served, fake.out, fake.inEnd)
		return peer, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	h := newFakeHost()
	s, err := p.Open(t.Context(), agent.Spec{Directories: []ahp.URI{agent.FileURI(dir)}}, h)
	if err != nil {
		t.Fatal(err)
	}
	o := s.Prompt(t.Context(), agent.Prompt{TurnID: "t1", Message: ahp.UserMessage("go")})
	if o.Result != agent.Completed || h.all() != "text two\none\ntwo\n" {
		t.Errorf("outcome %+v, told %q", o.Err, h.all())
	}
	if err := s.Err(); err != nil && !errors.Is(err, errEnded) {
		t.Error(err)
	}
}
