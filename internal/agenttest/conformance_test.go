package agenttest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/agent/acp"
	"github.com/causeway-ahp/causeway/agent/script"
	"github.com/causeway-ahp/causeway/agent/shell"
	"github.com/causeway-ahp/causeway/internal/scale"
)

// scriptEnv makes the test binary an agent that replays the built-in scripts over
// its standard streams, for the row of a child process.
const scriptEnv = "AGENTTEST_SCRIPT"

func TestMain(m *testing.M) {
	if os.Getenv(scriptEnv) != "" {
		os.Exit(serveScript())
	}
	os.Exit(m.Run())
}

func serveScript() int {
	t, err := script.Builtin(script.DefaultScript)
	if err != nil {
		return 1
	}
	player := &script.Player{Transcript: t, Speed: 10}
	err = player.Serve(context.Background(), os.Stdin, os.Stdout)
	var exit *script.ExitError
	if errors.As(err, &exit) {
		_, _ = os.Stderr.WriteString(exit.Text + "\n")
		return exit.Code
	}
	return 0
}

// scripts are the messages that provoke each case with the built-in scripts.
var scripts = Subject{
	Stream: "hello", Confirm: "permission", Slow: "slow", Deaf: "stall", Death: "crash", Unknown: "unknown-tool",
	Burst: "burst", Huge: "huge", Late: "late", Title: "title",
}

func TestShell(t *testing.T) {
	Run(t, Subject{
		Name: "shell", Lacks: "a shell lives in the host and says only what its commands write",
		Open:   func(*testing.T) agent.Provider { return shell.New(shell.Options{}) },
		Stream: "/help", Confirm: "echo hi >note", Slow: "/slow 600",
	})
}

func TestScript(t *testing.T) {
	s := scripts
	s.Name = "script"
	s.Open = func(t *testing.T) agent.Provider {
		p, err := script.New(script.Options{Speed: 10})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	Run(t, s)
}

// TestACP runs the same scripts as a child process, which any ACP agent is.
func TestACP(t *testing.T) {
	s := scripts
	s.Name = "acp"
	s.Open = func(t *testing.T) agent.Provider {
		return newACP(t, acp.Command{Argv: []string{os.Args[0]}, Env: []string{scriptEnv + "=1"}})
	}
	Run(t, s)
}

// The example agents of two SDKs, which know one turn.
func TestExamples(t *testing.T) {
	if scale.Count(10) < 10 {
		t.Skip("the whole table against the example agents takes a minute: CAUSEWAY_SCALE=1 runs it; agent/acp has a part of it")
	}
	for name, command := range map[string]func(t *testing.T) []string{"go": goExample, "node": nodeExample} {
		t.Run(name, func(t *testing.T) {
			argv := command(t)
			Run(t, Subject{
				Name: name, Lacks: "the example has one turn",
				Open:   func(t *testing.T) agent.Provider { return newACP(t, acp.Command{Argv: argv}) },
				Stream: "hello", Confirm: "hello", Slow: "hello",
			})
		})
	}
}

func newACP(t *testing.T, c acp.Command) agent.Provider {
	t.Helper()
	p, err := acp.New(acp.Options{Name: "agent", Command: c})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func goExample(t *testing.T) []string {
	path := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/coder/acp-go-sdk/example/agent").CombinedOutput(); err != nil {
		missing(t, "the Go SDK's example agent cannot be built: "+string(out))
	}
	return []string{path}
}

func nodeExample(t *testing.T) []string {
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
	return []string{node, script}
}

// missing skips a test, except where everything has to be there.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
