package script

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/agent/acp"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/agenttest"
)

// agents.md, 7.2 names the scripts there must be.
var named = strings.Fields("hello tools permission reasoning plan diff terminal ask usage title modes slow stall refuse " +
	"truncate crash unknown-tool late burst huge garbage auth old-models interleave")

func TestBuiltinScriptsAreAllThere(t *testing.T) {
	script, err := Builtin(DefaultScript)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, turn := range script.Turns {
		words = append(words, turn.Word)
	}
	if !slices.Equal(words, named) {
		t.Errorf("scripts %q, want %q", words, named)
	}
	for _, name := range Names() {
		if _, err := Builtin(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := Builtin("nope"); err == nil || !strings.Contains(err.Error(), "old-models") {
		t.Errorf("an unknown script: %v", err)
	}
}

// play plays one message with a script, in virtual time unless it starts commands.
func play(t *testing.T, p *acp.Provider, host *agenttest.Host, message string) agent.Outcome {
	t.Helper()
	defer func() { _ = p.Close() }()
	s, err := p.Open(t.Context(), agent.Spec{Directories: []ahp.URI{agent.FileURI(t.TempDir())}}, host)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	host.Begin("t")
	o := s.Prompt(t.Context(), agent.Prompt{TurnID: "t", Message: ahp.UserMessage(message)})
	host.End()
	for _, b := range host.Breaches() {
		t.Error(b)
	}
	return o
}

func provider(t *testing.T, o Options) *acp.Provider {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each script ends as it says, and says it through the real adapter.
func TestBuiltinScriptsPlay(t *testing.T) {
	results := map[string]agent.Result{
		"refuse": agent.Refused, "truncate": agent.Truncated, "crash": agent.Failed, "auth": agent.Failed,
	}
	says := map[string]string{
		"hello": "Hello from a script.", "tools": "Two tools worked", "permission": "The port is 8080 now.", "reasoning": "42",
		"ask": "As you like.", "slow": "10\n", "garbage": "Excuse the noise.", "modes": "mode to code", "interleave": "Meanwhile… the second",
		"/hello": "Hello", "": "There is no script", "nonsense": "There is no script",
	}
	for _, word := range slices.Concat(named, []string{"", "nonsense", "/hello"}) {
		if word == "stall" || word == "terminal" || word == "huge" {
			continue // stall and huge: internal/agenttest; terminal: below
		}
		t.Run(word, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := agenttest.NewHost()
				o := play(t, provider(t, Options{}), host, word+" please")
				if o.Result != results[word] {
					t.Errorf("outcome %d %+v, want %d", o.Result, o.Err, results[word])
				}
				if !strings.Contains(host.Text(), says[word]) {
					t.Errorf("said %q, want %q", host.Text(), says[word])
				}
			})
		})
	}
}

func TestTerminalScript(t *testing.T) {
	host := agenttest.NewHost()
	play(t, provider(t, Options{Speed: -1}), host, "terminal")
	for _, e := range host.Events() {
		if e, ok := e.(agent.ToolFinished); ok && len(e.Result.Content) == 1 && *e.Result.Content[0].Text == "begun\ndone\n" {
			return
		}
	}
	t.Errorf("told %+v", host.Events())
}

func TestBranches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := agenttest.NewHost()
		host.Decide = func(context.Context, agent.Confirmation) agent.Decision { return agent.Decision{} }
		play(t, provider(t, Options{}), host, "permission")
		if got := host.Text(); got != "Then it stays as it is.\n" {
			t.Errorf("said %q", got)
		}
	})
}

func TestOtherScripts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script, err := Builtin("auth")
		if err != nil {
			t.Fatal(err)
		}
		p := provider(t, Options{Transcript: script})
		defer func() { _ = p.Close() }()
		_, err = p.Open(t.Context(), agent.Spec{Directories: []ahp.URI{agent.FileURI(os.TempDir())}}, agenttest.NewHost())
		if err == nil || !strings.Contains(err.Error(), "SCRIPT_API_KEY") {
			t.Errorf("open: %v", err)
		}
		if script, err = Builtin("old-models"); err != nil {
			t.Fatal(err)
		}
		host := agenttest.NewHost()
		play(t, provider(t, Options{Transcript: script}), host, "hello")
		if host.Text() != "Hello from the old days.\n" {
			t.Errorf("said %q", host.Text())
		}
	})
}

func TestReadRefuses(t *testing.T) {
	const head = `{"acpTranscript":1}` + "\n"
	for name, text := range map[string]string{
		"empty": "", "no header": `{"update":{}}`, "not JSON": head + "{", "unknown member": head + `{"upd":{}}`, "says nothing": head + `{"t":1}`,
		"unknown deed": head + `{"do":"dance"}`, "unknown side": head + `{"from":"me","update":{}}`, "no message": head + `{"msg":{"a":1}}`,
		"newer": `{"acpTranscript":2}`,
	} {
		if _, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range Names() {
		data, err := scripts.ReadFile("scripts/" + name + ".jsonl")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"acpTranscript":1}` + "\n" + `{"prompt":"Hello, world"}` + "\n")) // not as firstWord has it
	f.Fuzz(func(t *testing.T, data []byte) {
		script, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, turn := range script.Turns {
			if found := script.find(turn.Word, 0); found == nil {
				t.Errorf("turn %q is not found", turn.Word)
			}
		}
	})
}

// shown are the events of a turn, for a comparison of two.
func shown(host *agenttest.Host) (list []string) {
	for _, e := range host.Events() {
		if agent.TurnOf(e) != "" {
			list = append(list, fmt.Sprintf("%T", e))
		}
	}
	return append(list, host.Text())
}

// A recording replays to the same events as what was recorded, also when the
// client answers otherwise than the one recorded.
func TestRecordingReplays(t *testing.T) {
	for _, word := range []string{"hello", "tools", "permission", "plan", "interleave", "garbage", "crash", "usage"} {
		t.Run(word, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var file bytes.Buffer
				recorder, err := NewRecorder(&file, Header{Agent: "script"})
				if err != nil {
					t.Fatal(err)
				}
				script, err := Builtin(DefaultScript)
				if err != nil {
					t.Fatal(err)
				}
				live := agenttest.NewHost()
				p, err := acp.New(acp.Options{Name: "live", Launch: func(ctx context.Context, _ string) (acp.Peer, error) {
					return recorder.Tee(launch(ctx, &Player{Transcript: script, Speed: 1})), nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				before := play(t, p, live, word)
				if recorder.Err() != nil {
					t.Fatal(recorder.Err())
				}
				recorded, err := Read(&file)
				if err != nil {
					t.Fatalf("read what was recorded: %v", err)
				}
				again := agenttest.NewHost()
				after := play(t, provider(t, Options{Transcript: recorded}), again, word)
				if before.Result != after.Result {
					t.Errorf("outcome %d (%+v), then %d (%+v)", before.Result, before.Err, after.Result, after.Err)
				}
				if got, want := shown(again), shown(live); !slices.Equal(got, want) {
					t.Errorf("replayed\n%s\nrecorded\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if word == "permission" {
					denied := agenttest.NewHost()
					denied.Decide = func(context.Context, agent.Confirmation) agent.Decision { return agent.Decision{} }
					play(t, provider(t, Options{Transcript: recorded}), denied, "anything else")
					if ok, _ := denied.Ended(); ok != 0 {
						t.Error("a call that was denied went on as in the recording")
					}
				}
			})
		})
	}
}

// A recording holds nothing of this machine.
func TestRecordingIsMasked(t *testing.T) {
	var file bytes.Buffer
	r, err := NewRecorder(&file, Header{})
	if err != nil {
		t.Fatal(err)
	}
	r.Replace = [][2]string{{"/home/me/work", "/project"}}
	r.note(FromClient, []byte(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/home/me/work/x","mcpServers":[{"name":"m","env":[{"name":"KEY","value":"s3cret"}]}]}}`))
	r.note(FromAgent, []byte("reading /home/me/work"))
	got := file.String()
	if strings.Contains(got, "s3cret") || strings.Contains(got, "/home/me") || !strings.Contains(got, `"cwd":"/project/x"`) {
		t.Errorf("recorded %s", got)
	}
	if _, err := Read(&file); err != nil {
		t.Error(err)
	}
}

// The player under a client that knows nothing of us: ids, cancel, and requests
// that are none of its business.
func TestPlayerSpeaksACP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script, err := Builtin(DefaultScript)
		if err != nil {
			t.Fatal(err)
		}
		inR, inW := io.Pipe()
		var out safeBuffer
		served := make(chan error, 1)
		go func() { served <- (&Player{Transcript: script, Speed: 1}).Serve(t.Context(), inR, &out) }()
		say := func(line string) {
			if _, err := io.WriteString(inW, line+"\n"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1}}`)
		say(`{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
		say(`{"jsonrpc":"2.0","id":8,"method":"session/set_config_option","params":{"sessionId":"script-1","configId":"mode","value":"code"}}`)
		say(`{"jsonrpc":"2.0","id":9,"method":"nonsense"}`)
		say(`not a message`)
		say(`{"jsonrpc":"2.0","id":10,"method":"session/prompt","params":{"sessionId":"script-1","prompt":[{"type":"text","text":"slow"}]}}`)
		say(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"script-1"}}`)
		for _, want := range []string{
			`"id":"i","result":{"protocolVersion":1`, `"id":7,"result":{"sessionId":"script-1"`, `"currentValue":"code"`,
			`"id":9,"error":{"code":-32601`, `"id":10,"result":{"stopReason":"cancelled"}`, `available_commands_update`,
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("said\n%s\nwithout %s", out.String(), want)
			}
		}
		_ = inW.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
