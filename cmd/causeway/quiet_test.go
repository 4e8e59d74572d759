package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/telemetry"
	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"
)

// notebook is everything somebody wrote down or showed.
type notebook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notebook) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

func (n *notebook) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// mark begins whatever is planted.
const mark = "PLANTED"

// quiet is a host at its most talkative, with profiles, beside which everything that
// comes out of it is kept.
type quiet struct {
	t     *testing.T
	ctx   context.Context
	dir   datadir.Dir
	host  datadir.Host
	token string
	seen  *notebook
	log   *slog.Logger
}

func newQuiet(t *testing.T) *quiet {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	q := &quiet{t: t, ctx: ctx, dir: stateDir(t), seen: new(notebook)}
	o := serveOptions{listen: "127.0.0.1:0", level: slog.LevelDebug, logFormat: logJSON, pprof: true, cwd: q.dir.Path()}
	o.agents = agentOptions{ // an agent that says its token to whoever reads its error output
		commands: []string{`keyed=sh -c 'echo "I was given $THE_KEY" >&2; exit 4'`}, tokens: []string{"keyed:THE_KEY=https://api.example"},
	}
	q.log = o.logger(q.seen)
	serveCtx, stop := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := serve(serveCtx, &o, q.dir, io.Discard, q.log); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() { stop(); serving.Wait() })
	var err error
	if q.host, err = awaitHost(q.ctx, q.dir); err != nil {
		t.Fatal(err)
	}
	if q.token, err = q.dir.Token(); err != nil {
		t.Fatal(err)
	}
	return q
}

// client connects one.
func (q *quiet) client(name string) *client.Client {
	q.t.Helper()
	c, err := client.Dial(q.ctx, "ws://"+q.host.Address+"/?tkn="+q.token, client.Options{ClientID: name, Log: q.log})
	if err != nil {
		q.t.Fatal(err)
	}
	q.t.Cleanup(func() { _ = c.Close() })
	return c
}

// refused keeps an error that was wanted.
func (q *quiet) refused(what string, err error) {
	q.t.Helper()
	if err == nil {
		q.t.Errorf("%s succeeded", what)
	}
	fmt.Fprintln(q.seen, what, err)
}

// show keeps what the host answers.
func (q *quiet) show(path string) {
	q.t.Helper()
	r, err := http.NewRequestWithContext(q.ctx, http.MethodGet, "http://"+q.host.Address+path, nil)
	if err != nil {
		q.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+q.token)
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		q.t.Fatal(err)
	}
	defer answer.Body.Close()
	fmt.Fprintln(q.seen, path, answer.Status, answer.Header)
	if _, err := io.Copy(q.seen, answer.Body); err != nil {
		q.t.Fatal(err)
	}
}

// prompt runs a command through an agent, and one that fails.
func (q *quiet) prompt() {
	q.t.Helper()
	self, err := os.Executable()
	if err != nil {
		q.t.Fatal(err)
	}
	for _, text := range []string{"echo " + mark + "-command", "echo " + mark + "-failure >&2; exit 3"} {
		cmd := exec.CommandContext(q.ctx, self)
		cmd.Args = []string{"causeway", "run", "--data", q.dir.Path(), "--yes", text}
		if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), mark) {
			q.t.Errorf("%s did not run: %v %s", text, err, out)
		}
	}
}

// forward sends bytes to a destination that sends them back, and asks for one that is
// not allowed.
func (q *quiet) forward(c *client.Client) {
	q.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		q.t.Fatal(err)
	}
	defer ln.Close()
	var echoing sync.WaitGroup
	defer echoing.Wait()
	echoing.Go(func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.Copy(conn, conn)
	})
	conn, err := c.DialTCP(q.ctx, "127.0.0.1", ln.Addr().(*net.TCPAddr).Port, client.TCPOptions{})
	if err != nil {
		q.t.Fatal(err)
	}
	defer conn.Close()
	sent := mark + "-bytes"
	if _, err := io.WriteString(conn, sent); err != nil {
		q.t.Fatal(err)
	}
	if got := make([]byte, len(sent)); true {
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != sent {
			q.t.Fatalf("got %q, %v", got, err)
		}
	}
	_, err = c.DialTCP(q.ctx, "192.0.2.1", 80, client.TCPOptions{})
	q.refused("a destination", err)
}

// offer registers a service, which is called, notified, and asked for what it does not
// have.
func (q *quiet) offer(owner, caller *client.Client) {
	q.t.Helper()
	type words struct {
		Text string `json:"text"`
	}
	heard := make(chan words, 1)
	m := new(client.Methods)
	client.OnCall(m, "say", func(_ context.Context, _ client.Sender, in words) (words, error) { return in, nil })
	client.OnNotify(m, "hear", func(_ context.Context, _ client.Sender, in words) { heard <- in })
	r, err := owner.Register(q.ctx, map[string]string{"name": mark + "-metadata"}, m)
	if err != nil {
		q.t.Fatal(err)
	}
	defer r.Close()
	s, in := caller.Service(r.ID()), words{mark + "-params"}
	if out, err := client.CallService[words](q.ctx, s, "say", in); err != nil || out != in {
		q.t.Fatalf("got %v, %v", out, err)
	}
	if err := s.Notify(q.ctx, "hear", in); err != nil {
		q.t.Fatal(err)
	}
	<-heard
	q.refused("a method", s.Call(q.ctx, "nothing", in, nil))
	q.refused("a service", caller.Service("nobody").Call(q.ctx, "say", in, nil))
	q.refused("a request", caller.Call(q.ctx, "x/y", map[string]string{"channel": "ahp-root://", "text": mark + "-request"}, nil))
}

// sign brings a token for an agent, which fails, and one for nobody.
func (q *quiet) sign(c *client.Client) {
	q.t.Helper()
	if err := c.Authenticate(q.ctx, client.Credential{Resource: "https://api.example", Token: mark + "-agent-token"}); err != nil {
		q.t.Fatal(err)
	}
	_, err := c.CreateSession(q.ctx, client.CreateSessionOptions{Provider: "keyed"})
	q.refused("an agent", err)
	q.refused("a token", c.Authenticate(q.ctx, client.Credential{Resource: "https://nobody.example", Token: mark + "-token"}))
	q.refused("a broken token", c.Authenticate(q.ctx, client.Credential{Resource: "https://api.example", Token: mark + "\n"}))
}

// babble says what no client of ours would.
func (q *quiet) babble() {
	q.t.Helper()
	c, _, err := websocket.Dial(q.ctx, "ws://"+q.host.Address+"/?tkn="+q.token, nil)
	if err != nil {
		q.t.Fatal(err)
	}
	answers := 0
	for _, m := range []string{
		strings.Replace(initializeMessage, "tester", "babbler", 1),
		`{"jsonrpc":"2.0","method":"` + mark + `/method","params":{"text":"` + mark + `"}}`,
		mark + ` is not JSON`,
		`{"jsonrpc":"2.0","method":7,"` + mark + `":"` + mark + `"}`,
		`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-root://","clientSeq":1,"action":{"type":"` + mark + `","text":"` + mark + `"}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"createSession","params":{"channel":"ahp-session:/x","provider":"` + mark + `"}}`,
		`{"jsonrpc":"2.0","id":8,"method":"subscribe","params":{"channel":7,"` + mark + `":1}}`,
		`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"channel":"ahp-root://"}}`,
	} {
		if err := c.Write(q.ctx, websocket.MessageText, []byte(m)); err != nil {
			q.t.Fatal(err)
		}
	}
	for {
		_, data, err := c.Read(q.ctx)
		if err != nil {
			q.t.Fatal(err)
		}
		answers++
		if strings.Contains(string(data), `"id":9`) {
			break
		}
	}
	if answers < 5 {
		q.t.Errorf("%d answers: not everything was handled", answers)
	}
	_ = c.Close(websocket.StatusCode(4000), mark+"-reason")
}

// watch keeps what the host says of itself as telemetry, at its most talkative level.
func (q *quiet) watch(c *client.Client) {
	q.t.Helper()
	for method, channel := range map[string]string{
		ahp.MethodExportLogs: telemetry.LogsPrefix + "trace", ahp.MethodExportTraces: telemetry.TracesURI, ahp.MethodExportMetrics: telemetry.MetricsURI,
	} {
		q.t.Cleanup(c.OnNotification(method, func(params jsontext.Value) { fmt.Fprintf(q.seen, "%s %s\n", method, params) }))
		ch, err := c.Subscribe(q.ctx, channel, client.SubscribeOptions{})
		if err != nil {
			q.t.Fatal(err)
		}
		q.t.Cleanup(func() { _ = ch.Close() })
	}
}

// Nothing that passes through a host is repeated where an operator looks: not by its log
// at the most talkative level, nor by that of its clients, by its telemetry, by what it measures, by its
// health, its profiles and its errors. Tokens are not, either (AHP core, 15.4, R20).
func TestNothingAnOperatorSeesRepeatsAPayload(t *testing.T) {
	q := newQuiet(t)
	laptop, phone := q.client("laptop"), q.client("phone")
	q.watch(phone)
	for _, query := range []string{"?tkn=" + mark + "-token", "?token=" + mark + "-token", "?tkn=" + q.token + "&token=" + mark} {
		_, err := client.Dial(q.ctx, "ws://"+q.host.Address+"/"+query, client.Options{Log: q.log})
		q.refused("dial", err)
	}
	q.prompt()
	q.forward(laptop)
	q.offer(laptop, phone)
	q.sign(laptop)
	q.babble()
	for _, path := range []string{
		"/metrics", "/healthz", "/livez", "/?tkn=" + mark, "/no/such?tkn=" + mark, "/debug/pprof/",
		"/debug/pprof/goroutine?debug=1", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1", "/debug/pprof/cmdline",
	} {
		q.show(path)
	}
	text := q.seen.String()
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "/?tkn=") || strings.HasPrefix(line, "/no/such") {
			_, line, _ = strings.Cut(line, mark) // what was asked for
		}
		if strings.Contains(line, mark) || strings.Contains(line, q.token) {
			t.Errorf("repeated: %s", line)
		}
	}
	for _, expected := range []string{
		`"reason":"token"`, `"msg":"client initialized","conn":`, `"client":"babbler","principal":"local"`, `"code":4000`,
		`causeway_messages_received_total{kind="other"} 2`, `causeway_messages_received_total{kind="malformed"} 2`,
		`causeway_turns_total{outcome="completed"}`, "I was given [token]", `causeway_authentications_total{outcome="accepted"} 1`, "goroutine profile", `"status":"ok"`, "writeLoop",
		`"body":{"stringValue":"client initialized"}`, `"name":"tool call","kind":1`, `otlp/exportMetrics`,
	} {
		if !strings.Contains(text, expected) {
			t.Errorf("nothing was searched that holds %s", expected)
		}
	}
}
