package acp

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// The rows about agents that do not start (agents.md, 4.7): each failure is told
// in words, by its type, and leaves nothing running.
func TestAgentDoesNotStart(t *testing.T) {
	for _, tt := range []struct {
		name       string
		play       func(a *fakeAgent)
		kind, text string
	}{
		{"dies at once", func(a *fakeAgent) { a.die("exit status 1", "Cannot find module 'x'") },
			"agentStartFailed", "fake ended before it was ready (exit status 1): Cannot find module 'x'"},
		{"dies after initialize", func(a *fakeAgent) { a.reply(a.expect("initialize"), plainInit); a.die("exit status 2", "") },
			"agentStartFailed", "Fake ended before it was ready (exit status 2)"},
		{"another version", func(a *fakeAgent) {
			a.reply(a.expect("initialize"), `{"protocolVersion":2,"agentInfo":{"name":"n","title":"N","version":"1"}}`)
		}, "unsupportedAcpVersion", "N speaks version 2 of ACP; this host speaks version 1"},
		{"no version", func(a *fakeAgent) { a.reply(a.expect("initialize"), `{}`) }, "unsupportedAcpVersion", "version 0"},
		{"nothing it says is a message", func(a *fakeAgent) {
			for range maxNoise + 1 {
				a.say("Usage: agent [options]")
			}
		}, "agentStartFailed", "ended before it was ready"},
		{"never answers", func(*fakeAgent) {}, "agentStartFailed", "did not answer within 2m0s"},
		{"an error", func(a *fakeAgent) {
			a.reply(a.expect("initialize"), plainInit)
			a.refuse(a.expect("session/new"), -32603, "Claude Code process exited with code 1")
		}, "agentStartFailed", "Fake could not open a session: Claude Code process exited with code 1"},
		{"no session id", func(a *fakeAgent) { a.handshake(plainInit, `{}`) }, "agentStartFailed", "without an id"},
		{"wants a sign-in", func(a *fakeAgent) {
			a.reply(a.expect("initialize"), `{"protocolVersion":1,"authMethods":[{"id":"oauth","name":"Log in with X","description":null},`+
				`{"id":"key","name":"Use a key","type":"env_var","vars":[{"name":"X_API_KEY"}]}]}`)
			a.refuse(a.expect("session/new"), -32000, "Authentication required")
		}, "authRequired", "fake needs you to sign in: Authentication required. It offers: Log in with X (oauth); " +
			"Use a key (key), which takes X_API_KEY from the host's environment"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{})
				defer w.end()
				startError(t, w.opening(agent.Spec{}, tt.play), tt.kind, tt.text)
				<-w.agent.ended
			})
		})
	}
}

func TestCommandMissing(t *testing.T) {
	p, err := New(Options{Name: "x", Command: Command{Argv: []string{"no-such-agent-anywhere"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	_, err = p.Open(t.Context(), agent.Spec{Directories: []ahp.URI{agent.FileURI(t.TempDir())}}, newFakeHost())
	startError(t, err, "agentStartFailed", `no program "no-such-agent-anywhere" on the host's PATH`)
	_, err = p.Open(t.Context(), agent.Spec{Directories: []ahp.URI{"file:///no/such/directory"}}, newFakeHost())
	startError(t, err, "workingDirectoryNotFound", "/no/such/directory")
	_, err = p.Open(t.Context(), agent.Spec{}, newFakeHost())
	startError(t, err, "workingDirectoryNotFound", "needs a working directory")
}

// An agent that fails to start is started more and more seldom (agents.md, 4.7).
func TestStartsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		defer w.end()
		var waits []time.Duration
		for range 9 {
			begun := time.Now()
			err := w.openingAfterWait(func(a *fakeAgent) { a.die("exit status 1", "") })
			startError(t, err, "agentStartFailed", "ended before")
			waits = append(waits, time.Since(begun).Round(time.Second))
		}
		want := []time.Duration{0, 1, 2, 4, 8, 16, 32, 60, 60}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(waits, want) {
			t.Errorf("waited %v, want %v", waits, want)
		}
	})
}

// openingAfterWait is opening for an agent that is launched some time later.
func (w *world) openingAfterWait(play func(a *fakeAgent)) error {
	done := make(chan error, 1)
	before := w.launchedSoFar()
	go func() {
		_, err := w.provider.Open(w.t.Context(), agent.Spec{Directories: []ahp.URI{agent.FileURI(os.TempDir())}}, w.host)
		done <- err
	}()
	for synctest.Wait(); w.launchedSoFar() == before; synctest.Wait() {
		time.Sleep(time.Second)
	}
	play(w.agent)
	return <-done
}

// Signing in that needs nobody is done: by the method configured, or by a key that
// is in the environment.
func TestSignInByItself(t *testing.T) {
	const init = `{"protocolVersion":1,"authMethods":[{"id":"oauth","name":"Log in"},` +
		`{"id":"key","name":"Key","type":"env_var","vars":[{"name":"X_API_KEY"},{"name":"X_ORG","optional":true}]}]}`
	for _, tt := range []struct {
		name   string
		o      Options
		tokens map[string]agent.Token
		method string
	}{
		{"configured", Options{AuthMethod: "oauth"}, nil, "oauth"},
		{"a key", Options{Command: Command{Env: []string{"X_API_KEY=k"}}}, nil, "key"},
		{"a client's key", keyed, map[string]agent.Token{"https://x.example": "k"}, "key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tt.o)
				defer w.end()
				err := w.opening(agent.Spec{Tokens: tt.tokens}, func(a *fakeAgent) {
					a.reply(a.expect("initialize"), init)
					a.refuse(a.expect("session/new"), -32000, "Authentication required")
					m := a.expect("authenticate")
					if want := `{"methodId":"` + tt.method + `"}`; string(m.Params) != want {
						t.Errorf("params %s, want %s", m.Params, want)
					}
					a.reply(m, `{}`)
					a.reply(a.expect("session/new"), plainSession)
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// keyed agents find a client's token in a variable.
var keyed = Options{Tokens: []TokenVariable{{Variable: "X_API_KEY", Resource: ahp.ProtectedResourceMetadata{Resource: "https://x.example"}}}}

// A token is in the environment of the agent of whoever brought it, and nowhere else: not
// in that of the commands it runs through the host, nor in what is said of its end.
func TestTokenOfAClient(t *testing.T) {
	o := keyed
	o.Name, o.Environ = "keyed", []string{"PATH=/usr/bin:/bin", "X_API_KEY=of-the-host"}
	o.Command = Command{Argv: []string{"sh", "-c", "echo the key is $X_API_KEY >&2; exit 4"}}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if r := p.Describe().Resources; len(r) != 1 || r[0].Resource != "https://x.example" {
		t.Errorf("it wants %+v", r)
	}
	spec := agent.Spec{Directories: []ahp.URI{agent.FileURI(t.TempDir())}}
	_, err = p.Open(t.Context(), spec, newFakeHost())
	startError(t, err, "agentStartFailed", "the key is of-the-host")
	spec.Tokens = map[string]agent.Token{"https://x.example": "planted"}
	_, err = p.Open(t.Context(), spec, newFakeHost())
	startError(t, err, "agentStartFailed", "the key is [token]")
	if slices.ContainsFunc(p.env, func(kv string) bool { return strings.Contains(kv, "planted") }) {
		t.Error("the next agent, or a command, inherits it")
	}
}

// An agent that was started ahead with one client's token is not taken over for another.
func TestPreparedAgentKeepsItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, keyed)
		defer w.end()
		spec := agent.Spec{Directories: []ahp.URI{agent.FileURI(t.TempDir())}, Tokens: map[string]agent.Token{"https://x.example": "a"}}
		prepared := make(chan struct{})
		go func() { w.provider.Prepare(t.Context(), spec); close(prepared) }()
		synctest.Wait()
		w.agent.handshake(plainInit, plainSession)
		<-prepared
		other := spec
		other.Tokens = map[string]agent.Token{"https://x.example": "b"}
		if err := w.opening(other, func(a *fakeAgent) { a.handshake(plainInit, plainSession) }); err != nil {
			t.Fatal(err)
		}
		if w.launched != 2 {
			t.Errorf("launched %d agents", w.launched)
		}
		time.Sleep(spareTime + time.Second)
	})
}

// A session is taken up again where the agent can; where it cannot, the next turn
// says so (agents.md, 4.7, host restart).
func TestSessionIsTakenUp(t *testing.T) {
	const (
		loads   = `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`
		resumes = `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}`
	)
	lost := []string{"notice fake was started anew and has no memory of the earlier turns."}
	for _, tt := range []struct {
		name string
		init string
		play func(a *fakeAgent)
		told []string
	}{
		{"resume", resumes, func(a *fakeAgent) { a.reply(a.expect("session/resume"), `{}`) }, nil},
		{"load, which repeats everything", loads, func(a *fakeAgent) {
			m := a.expect("session/load")
			a.update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"q1"}}`)
			a.update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"q1 more"}}`)
			a.text("a1")
			a.tool("tool_call", `"toolCallId":"c","title":"T","status":"completed"`)
			a.update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"q2"}}`)
			a.reply(m, `null`)
		}, nil},
		{"resume fails, load works", resumes, func(a *fakeAgent) {
			a.refuse(a.expect("session/resume"), -32603, "no")
			a.reply(a.expect("session/load"), `{}`)
		}, nil},
		{"load fails", loads, func(a *fakeAgent) {
			a.refuse(a.expect("session/load"), -32002, "not found")
			a.reply(a.expect("session/new"), plainSession)
		}, lost},
		{"it cannot", plainInit, func(a *fakeAgent) { a.reply(a.expect("session/new"), plainSession) },
			[]string{"notice Fake was started anew and has no memory of the earlier turns."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{})
				defer w.end()
				err := w.opening(agent.Spec{ResumeToken: []byte(`{"sessionId":"s1"}`), Turns: 2}, func(a *fakeAgent) {
					a.reply(a.expect("initialize"), tt.init)
					tt.play(a)
				})
				if err != nil {
					t.Fatal(err)
				}
				w.told()
				r := w.turn("t3")
				w.agent.tool("tool_call", `"toolCallId":"c","title":"T"`)
				w.told(append(tt.told, `start 3.c tool "T"`)...)
				r.stop("end_turn")
				if got := string(w.session.ResumeToken()); got != `{"sessionId":"s1"}` {
					t.Errorf("token %s", got)
				}
				if m := w.session.(*session).replayed.messages; strings.HasPrefix(tt.name, "load, which") && m != 2 {
					t.Errorf("%d messages counted, want 2", m)
				}
			})
		})
	}
}

// The order at a shutdown: cancel, close the session, end the process (agents.md,
// 4.7, host shutdown).
func TestShutdown(t *testing.T) {
	const closes = `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}}}}`
	withOptions(t, Options{}, closes, plainSession, func(w *world) {
		r := w.turn("t1")
		closed := make(chan error, 1)
		go func() { closed <- w.session.Close() }()
		w.agent.expect("session/cancel")
		if o := r.stop("cancelled"); o.Result != agent.Cancelled {
			t.Errorf("outcome %+v", o)
		}
		w.agent.reply(w.agent.expect("session/close"), `{}`)
		<-closed
		<-w.agent.ended
	})
}

// An agent that is deaf at a shutdown holds nobody up for long.
func TestShutdownOfADeafAgent(t *testing.T) {
	const closes = `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}}}}`
	withOptions(t, Options{}, closes, plainSession, func(w *world) {
		r := w.turn("t1")
		begun := time.Now()
		_ = w.session.Close()
		if took := time.Since(begun); took > cancelGrace+closeGrace {
			t.Errorf("took %v", took)
		}
		<-r.outcome
	})
}

// Options, modes and models of all ages become configuration (agents.md, 4.6, 5).
func TestOptionsBecomeConfiguration(t *testing.T) {
	const (
		modes = `"modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code","description":"d"}]}`
		opts  = `"configOptions":[{"id":"m","name":"Model","category":"model","type":"select","currentValue":"big","options":[` +
			`{"group":"g","name":"G","options":[{"value":"big","name":"Big"},{"value":"small","name":"Small"}]}]},` +
			`{"id":"fast","name":"Fast","type":"boolean","currentValue":false},{"id":"x","name":"X","type":"slider","currentValue":3}]`
	)
	t.Run("options", func(t *testing.T) {
		withOptions(t, Options{}, plainInit, `{"sessionId":"s1",`+modes+`,`+opts+`}`, func(w *world) {
			got := w.host.take()
			if got[0] != `config fast=false m="big"` || got[1] != "models 2" || !strings.HasPrefix(got[2], "meta acp.configOptions [") {
				t.Errorf("told %q", got)
			}
			c, err := w.provider.ResolveConfig(w.t.Context(), nil, map[string]jsontext.Value{"m": jsontext.Value(`"small"`)})
			if err != nil || string(c.Values["m"]) != `"small"` || len(c.Schema.Properties["m"].Enum) != 2 || c.Schema.Properties["fast"].Type != "boolean" {
				t.Errorf("config %+v, %v", c, err)
			}
			for _, bad := range []map[string]jsontext.Value{
				{"m": jsontext.Value(`"huge"`)}, {"nope": jsontext.Value(`1`)}, {"fast": jsontext.Value(`"yes"`)}, {"mcpServers": jsontext.Value(`[{}]`)},
			} {
				if _, err := w.provider.ResolveConfig(w.t.Context(), nil, bad); err == nil {
					t.Errorf("%s was accepted", showValues(bad))
				}
			}
			go func() {
				m := w.agent.expect("session/set_config_option")
				if string(m.Params) != `{"sessionId":"s1","configId":"fast","type":"boolean","value":true}` {
					t.Errorf("params %s", m.Params)
				}
				w.agent.reply(m, `{`+strings.Replace(opts, `"currentValue":false`, `"currentValue":true`, 1)+`}`)
			}()
			values, err := w.session.SetConfig(w.t.Context(), "fast", jsontext.Value("true"))
			if err != nil || showValues(values) != `fast=true m="big"` {
				t.Errorf("values %s, %v", showValues(values), err)
			}
			w.agent.update(`{"sessionUpdate":"config_option_update",` + strings.Replace(opts, `"currentValue":"big"`, `"currentValue":"small"`, 1) + `}`)
			if got := w.host.take(); got[0] != `config fast=false m="small"` {
				t.Errorf("told %q", got)
			}
		})
	})
	t.Run("modes", func(t *testing.T) {
		withOptions(t, Options{}, plainInit, `{"sessionId":"s1",`+modes+`}`, func(w *world) {
			w.host.take()
			w.agent.update(`{"sessionUpdate":"current_mode_update","currentModeId":"code"}`)
			w.told(`config mode="code"`)
			go func() { w.agent.reply(w.agent.expect("session/set_mode"), `{}`) }()
			if values, err := w.session.SetConfig(w.t.Context(), "mode", jsontext.Value(`"ask"`)); err != nil || showValues(values) != `mode="ask"` {
				t.Errorf("values %s, %v", showValues(values), err)
			}
			if _, err := w.session.SetConfig(w.t.Context(), "mode", jsontext.Value(`"fly"`)); err == nil {
				t.Error("an unknown mode was taken")
			}
		})
	})
}

// The model a message asks for is chosen before the prompt.
func TestModelOfAMessage(t *testing.T) {
	const models = `{"sessionId":"s1","models":{"currentModelId":"a","availableModels":[{"modelId":"a","name":"A"},{"modelId":"b","name":"B"}]}}`
	withOptions(t, Options{}, plainInit, models, func(w *world) {
		w.host.take()
		m := ahp.UserMessage("hi")
		m.Model = &ahp.ModelSelection{ID: "b"}
		r := w.start("t1", m)
		w.agent.reply(w.agent.expect("session/set_model"), `{}`)
		r.prompt = w.agent.expect("session/prompt")
		w.told(`config model="b"`)
		r.stop("end_turn")
		r = w.start("t2", m) // it has it by now
		r.prompt = w.agent.expect("session/prompt")
		r.stop("end_turn")
	})
}

// A session begins with the values it was created with.
func TestConfigurationOfANewSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		defer w.end()
		spec := agent.Spec{Config: map[string]jsontext.Value{"mode": jsontext.Value(`"code"`), "gone": jsontext.Value("1")}}
		err := w.opening(spec, func(a *fakeAgent) {
			a.handshake(plainInit, `{"sessionId":"s1","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"A"},{"id":"code","name":"C"}]}}`)
			a.reply(a.expect("session/set_mode"), `{}`)
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.host.take(); got[0] != `config mode="code"` {
			t.Errorf("told %q", got)
		}
	})
}

// What an agent offers is found out by starting one, which the session then takes
// over: nothing is started twice.
func TestPreparedAgentIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		defer w.end()
		spec := agent.Spec{Directories: []ahp.URI{agent.FileURI(t.TempDir())}}
		prepared := make(chan struct{})
		go func() { w.provider.Prepare(t.Context(), spec); close(prepared) }()
		synctest.Wait()
		w.agent.handshake(plainInit, `{"sessionId":"s1","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"A"}]}}`)
		w.agent.update(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"x","description":""}]}`)
		<-prepared
		if !w.provider.Prepared() {
			t.Fatal("not prepared")
		}
		if err := w.opening(spec, nil); err != nil {
			t.Fatal(err)
		}
		if w.launched != 1 {
			t.Errorf("launched %d agents", w.launched)
		}
		if got := w.host.take(); got[0] != `config mode="ask"` || got[len(got)-1] != "commands 1" {
			t.Errorf("told %q", got)
		}
		w.turn("t1").stop("end_turn")
	})
}

// An agent that was prepared and not taken ends; what failed is not tried twice.
func TestPreparedAgentThatIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		defer w.end()
		dirs := []ahp.URI{agent.FileURI(t.TempDir())}
		go w.provider.Prepare(t.Context(), agent.Spec{Directories: dirs})
		synctest.Wait()
		w.agent.handshake(plainInit, plainSession)
		time.Sleep(spareTime + time.Second)
		<-w.agent.ended
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		defer w.end()
		dirs := []ahp.URI{agent.FileURI(t.TempDir())}
		go w.provider.Prepare(t.Context(), agent.Spec{Directories: dirs})
		synctest.Wait()
		w.agent.die("exit status 1", "")
		synctest.Wait()
		startError(t, w.opening(agent.Spec{Directories: dirs}, nil), "agentStartFailed", "ended before it was ready")
		if w.launched != 1 {
			t.Errorf("launched %d agents", w.launched)
		}
	})
}

// MCP servers of the configuration and of the session reach the agent, in the
// forms it takes.
func TestMCPServers(t *testing.T) {
	var servers []MCPServer
	for _, text := range []string{"git=A=1 sh -c 'x y'", "web=https://example.com/mcp"} {
		m, err := ParseMCPServer(text)
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, m)
	}
	own := jsontext.Value(`[{"name":"own","command":"/bin/own"},{"type":"http","name":"far","url":"http://far"}]`)
	for _, tt := range []struct {
		name, init string
		want       []string
		told       []string
	}{
		{"http", `{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`, []string{"git", "web", "own", "far"}, nil},
		{"stdio only", `{"protocolVersion":1}`, []string{"git", "own"},
			[]string{"notice The MCP server web is not available: the agent cannot reach servers over http. The MCP server far is not available: the agent cannot reach servers over http."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{MCPServers: servers})
				defer w.end()
				err := w.opening(agent.Spec{Config: map[string]jsontext.Value{"mcpServers": own}}, func(a *fakeAgent) {
					a.reply(a.expect("initialize"), tt.init)
					m := a.expect("session/new")
					var p struct {
						MCPServers []struct {
							Name    string    `json:"name"`
							Command string    `json:"command"`
							Args    *[]string `json:"args"`
							Env     *[]envVar `json:"env"`
						} `json:"mcpServers"`
					}
					var names []string
					if err := decode(m.Params, &p); err != nil {
						t.Error(err)
					}
					for _, s := range p.MCPServers {
						names = append(names, s.Name)
						if s.Command != "" && (s.Args == nil || s.Env == nil) {
							t.Errorf("server %s lacks a member that must be there", s.Name)
						}
					}
					if !slices.Equal(names, tt.want) {
						t.Errorf("servers %q, want %q", names, tt.want)
					}
					if s := p.MCPServers[0]; !strings.HasPrefix(s.Command, "/") || !slices.Equal(*s.Args, []string{"-c", "x y"}) || (*s.Env)[0] != (envVar{"A", "1"}) {
						t.Errorf("server %+v", s)
					}
					a.reply(m, plainSession)
				})
				if err != nil {
					t.Fatal(err)
				}
				r := w.turn("t1")
				w.told(tt.told...)
				r.stop("end_turn")
			})
		})
	}
}

// What is attached goes along in the richest form the agent takes.
func TestAttachments(t *testing.T) {
	attached := []ahp.MessageAttachment{
		{Type: ahp.AttachmentResource, Label: "a.go", URI: new("file:///a.go")},
		{Type: ahp.AttachmentEmbeddedResource, Label: "n", Data: new("aGk="), ContentType: new("text/plain")},
		{Type: ahp.AttachmentEmbeddedResource, Label: "p", Data: new("AAAA"), ContentType: new("image/png")},
		{Type: ahp.AttachmentSimple, Label: "s", ModelRepresentation: new("simply")},
	}
	for _, tt := range []struct{ init, want string }{
		{plainInit, "text resource_link text text text"},
		{`{"protocolVersion":1,"agentCapabilities":{"promptCapabilities":{"image":true,"embeddedContext":true}}}`, "text resource_link resource image text"},
	} {
		withOptions(t, Options{}, tt.init, plainSession, func(w *world) {
			m := ahp.UserMessage("hi")
			m.Attachments = attached
			r := w.start("t1", m)
			r.prompt = w.agent.expect("session/prompt")
			var p promptParams
			if err := decode(r.prompt.Params, &p); err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, b := range p.Prompt {
				kinds = append(kinds, b.Type)
			}
			if got := strings.Join(kinds, " "); got != tt.want {
				t.Errorf("blocks %s, want %s", got, tt.want)
			}
			r.stop("end_turn")
		})
	}
}

func TestOpenIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		defer w.end()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := w.provider.Open(ctx, agent.Spec{Directories: []ahp.URI{agent.FileURI(os.TempDir())}}, w.host)
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; err == nil {
			t.Error("opened")
		}
		<-w.agent.ended
	})
}
