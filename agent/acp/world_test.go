package acp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// fakeAgent is an agent whose every message the test writes itself. The session
// under test is real, and so are the pipes.
type fakeAgent struct {
	t      testing.TB
	in     *bufio.Reader // what it hears
	inEnd  *io.PipeReader
	out    *io.PipeWriter // what it says
	closed sync.Once
	ended  chan struct{} // closed when the host ended it

	endOnce sync.Once

	mu     sync.Mutex
	status string
	words  string
}

// pipePeer is the host's end of a fakeAgent.
type pipePeer struct {
	io.Reader
	io.Writer
	a *fakeAgent
}

func newFakeAgent(t testing.TB) (*fakeAgent, Peer) {
	hr, hw := io.Pipe() // host to agent
	ar, aw := io.Pipe() // agent to host
	a := &fakeAgent{t: t, in: bufio.NewReaderSize(hr, 1<<20), inEnd: hr, out: aw, ended: make(chan struct{}), status: "exit status 0"}
	return a, &pipePeer{Reader: ar, Writer: hw, a: a}
}

func (p *pipePeer) End()              { p.a.die("signal: terminated", ""); p.a.end() }
func (p *pipePeer) Status() string    { p.a.mu.Lock(); defer p.a.mu.Unlock(); return p.a.status }
func (p *pipePeer) LastWords() string { p.a.mu.Lock(); defer p.a.mu.Unlock(); return p.a.words }

func (a *fakeAgent) end() { a.endOnce.Do(func() { close(a.ended) }) }

// die ends the agent as a crash would.
func (a *fakeAgent) die(status, words string) {
	a.closed.Do(func() {
		a.mu.Lock()
		a.status, a.words = status, words
		a.mu.Unlock()
		_ = a.out.Close()
		_ = a.inEnd.Close()
	})
}

// next is the next message the agent hears.
func (a *fakeAgent) next() jsonrpc.Message {
	a.t.Helper()
	line, err := a.in.ReadBytes('\n')
	if err != nil {
		a.t.Fatalf("the agent waits for a message: %v", err)
	}
	m, err := jsonrpc.Scan(line)
	if err != nil {
		a.t.Fatalf("the host said %q: %v", line, err)
	}
	return m
}

// expect is the next message, which must be of the method.
func (a *fakeAgent) expect(method string) jsonrpc.Message {
	a.t.Helper()
	m := a.next()
	if m.Method != method {
		a.t.Fatalf("the host said %s %s %s, want %s", m.Method, m.Params, m.Result, method)
	}
	return m
}

// answer is the result of the response to the agent's request, the next message.
func (a *fakeAgent) answer(id int) string {
	a.t.Helper()
	m := a.next()
	if m.Kind != jsonrpc.KindResponse || m.ID.String() != fmt.Sprint(id) {
		a.t.Fatalf("the host said %s %s, want the response to %d", m.Method, m.Params, id)
	}
	if m.Error != nil {
		return fmt.Sprintf("error %d %s", m.Error.Code, m.Error.Message)
	}
	return string(m.Result)
}

// say writes a line.
func (a *fakeAgent) say(line string) {
	a.t.Helper()
	if _, err := io.WriteString(a.out, line+"\n"); err != nil {
		a.t.Logf("the agent cannot speak: %v", err)
	}
}

func (a *fakeAgent) reply(m jsonrpc.Message, result string) {
	a.t.Helper()
	a.say(string(jsonrpc.AppendResult(nil, m.ID, jsontext.Value(result))))
}

func (a *fakeAgent) refuse(m jsonrpc.Message, code int64, message string) {
	a.t.Helper()
	a.say(string(jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: code, Message: message})))
}

// update says a session/update.
func (a *fakeAgent) update(u string) {
	a.t.Helper()
	a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":` + u + `}}`)
}

func (a *fakeAgent) text(text string) {
	a.t.Helper()
	a.update(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}`, text))
}

func (a *fakeAgent) tool(kind, members string) {
	a.t.Helper()
	a.update(`{"sessionUpdate":"` + kind + `",` + members + `}`)
}

// request says a request with the params, which it completes with the session.
func (a *fakeAgent) request(id int, method, params string) {
	a.t.Helper()
	a.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"sessionId":"s1",%s}}`, id, method, params))
}

// permit asks for permission about the call.
func (a *fakeAgent) permit(id int, call string) {
	a.t.Helper()
	a.request(id, "session/request_permission", `"toolCall":{"toolCallId":"`+call+`","title":"Write"},"options":[`+
		`{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"yes","name":"Yes","kind":"allow_once"},`+
		`{"optionId":"no","name":"No","kind":"reject_once"}]`)
}

// handshake plays the start of an agent.
func (a *fakeAgent) handshake(initialize, session string) {
	a.t.Helper()
	a.reply(a.expect("initialize"), initialize)
	a.reply(a.expect("session/new"), session)
}

// Plain answers of a start.
const (
	plainInit    = `{"protocolVersion":1,"agentCapabilities":{},"agentInfo":{"name":"fake","title":"Fake","version":"1"}}`
	plainSession = `{"sessionId":"s1"}`
)

// fakeHost notes what a session tells, and answers as the test says.
type fakeHost struct {
	mu     sync.Mutex
	events []string
	raw    []agent.Event
	asked  []agent.Confirmation
	forms  []*ahp.ChatInputRequest

	decisions chan agent.Decision
	answers   chan agent.Answers
	question  chan struct{} // holds a token when somebody was asked
	block     chan struct{} // Emit waits for a value of each while it is set
}

func newFakeHost() *fakeHost {
	return &fakeHost{decisions: make(chan agent.Decision, 8), answers: make(chan agent.Answers, 8), question: make(chan struct{}, 8)}
}

func (h *fakeHost) Emit(_ context.Context, e agent.Event) error {
	if h.block != nil {
		<-h.block
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.raw = append(h.raw, e)
	h.events = append(h.events, show(e))
	return nil
}

func (h *fakeHost) note(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, text)
}

func (h *fakeHost) Confirm(ctx context.Context, c agent.Confirmation) (agent.Decision, error) {
	h.mu.Lock()
	h.asked = append(h.asked, c)
	h.mu.Unlock()
	h.note("ask " + c.ToolCallID)
	select {
	case h.question <- struct{}{}:
	default:
	}
	select {
	case d := <-h.decisions:
		return d, nil
	case <-ctx.Done():
		h.note("unasked " + c.ToolCallID)
		return agent.Decision{Withdrawn: true}, context.Cause(ctx)
	}
}

func (h *fakeHost) Ask(ctx context.Context, _ string, r *ahp.ChatInputRequest) (agent.Answers, error) {
	h.mu.Lock()
	h.forms = append(h.forms, r)
	h.mu.Unlock()
	select {
	case a := <-h.answers:
		return a, nil
	case <-ctx.Done():
		return agent.Answers{Withdrawn: true}, context.Cause(ctx)
	}
}

// take returns what was told since the last call, once the world is quiet.
func (h *fakeHost) take() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	got := h.events
	h.events = nil
	return got
}

// show is an event as the tests write it down.
func show(e agent.Event) string {
	switch e := e.(type) {
	case agent.Text:
		return "text " + e.Text
	case agent.Thought:
		return "thought " + e.Text
	case agent.Break:
		return "break"
	case agent.Content:
		return "content " + e.Ref.URI
	case agent.ToolStarted:
		return fmt.Sprintf("start %s %s %q", e.ToolCallID, e.ToolName, e.DisplayName)
	case agent.ToolRunning:
		input := ""
		if e.Input != nil {
			input = " " + e.Input.Text
		}
		return fmt.Sprintf("run %s %q%s", e.ToolCallID, e.Message.Text, input)
	case agent.ToolContent:
		return fmt.Sprintf("show %s %s", e.ToolCallID, showContent(e.Content))
	case agent.ToolFinished:
		return fmt.Sprintf("end %s %s %s", e.ToolCallID, showResult(e.Result), showContent(e.Result.Content))
	case agent.Notice:
		return "notice " + e.Text.Text
	case agent.Usage:
		return fmt.Sprintf("usage %s", e.Usage.Meta)
	case agent.Activity:
		return "activity " + e.Text
	case agent.Title:
		return "title " + e.Title
	case agent.ConfigValues:
		return "config " + showValues(e.Values)
	case agent.Meta:
		return fmt.Sprintf("meta %s %s", e.Name, e.Value)
	case agent.Models:
		return fmt.Sprintf("models %d", len(e.Models))
	case agent.Commands:
		return fmt.Sprintf("commands %d", len(e.Commands))
	}
	return fmt.Sprintf("%T", e)
}

func showValues(values map[string]jsontext.Value) string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(values)) {
		list = append(list, id+"="+string(values[id]))
	}
	return strings.Join(list, " ")
}

func showResult(r ahp.ToolCallResult) string {
	if r.Error != nil {
		return "failed(" + r.Error.Message + ")"
	}
	return "ok"
}

func showContent(list []ahp.ToolResultContent) string {
	var parts []string
	for _, c := range list {
		switch {
		case c.Text != nil:
			parts = append(parts, *c.Text)
		case c.Type == ahp.ContentFileEdit:
			parts = append(parts, fmt.Sprintf("edit(%s +%d -%d)", c.After.URI, *c.Diff.Added, *c.Diff.Removed))
		default:
			parts = append(parts, c.Type)
		}
	}
	return strings.Join(parts, "|")
}

// world is an open session between a fake agent and a fake host, in a bubble.
type world struct {
	t        *testing.T
	host     *fakeHost
	agent    *fakeAgent
	provider *Provider
	session  agent.Session

	mu       sync.Mutex
	launched int
	launches chan *fakeAgent // those launched, for tests outside of a bubble
}

// newWorld makes a provider whose agents are fakes. launched is called for each.
func newWorld(t *testing.T, o Options) *world {
	w := &world{t: t, host: newFakeHost(), launches: make(chan *fakeAgent, 16)}
	if o.Name == "" {
		o.Name = "fake"
	}
	o.Environ = []string{"PATH=/usr/bin:/bin"}
	o.Log = slog.New(slog.DiscardHandler)
	o.Launch = func(context.Context, string) (Peer, error) {
		a, p := newFakeAgent(t)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.launched, w.agent = w.launched+1, a
		w.launches <- a
		return p, nil
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.provider = p
	return w
}

// launchedSoFar counts the agents launched so far.
func (w *world) launchedSoFar() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.launched
}

// opening opens a session; the test plays the agent meanwhile.
func (w *world) opening(spec agent.Spec, play func(a *fakeAgent)) error {
	w.t.Helper()
	if spec.Directories == nil {
		spec.Directories = []ahp.URI{agent.FileURI(w.t.TempDir())}
	}
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.session, err = w.provider.Open(w.t.Context(), spec, w.host)
	}()
	synctest.Wait()
	if play != nil && w.agent != nil {
		play(w.agent)
	}
	<-done
	return err
}

// with runs a test with an open session, and checks at its end that nothing of
// it is left.
func with(t *testing.T, test func(w *world)) {
	t.Helper()
	withOptions(t, Options{}, plainInit, plainSession, test)
}

func withOptions(t *testing.T, o Options, initialize, session string, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, o)
		if err := w.opening(agent.Spec{}, func(a *fakeAgent) { a.handshake(initialize, session) }); err != nil {
			t.Fatalf("open: %v", err)
		}
		defer w.end()
		test(w)
	})
}

func (w *world) end() {
	w.t.Helper()
	if err := w.provider.Close(); err != nil {
		w.t.Errorf("close: %v", err)
	}
	if w.session == nil {
		return
	}
	select {
	case <-w.session.Done():
	default:
		w.t.Error("the session is closed and not done")
	}
}

// turn is a prompt on its way.
type turnRun struct {
	w       *world
	id      string
	prompt  jsonrpc.Message
	outcome chan agent.Outcome
}

// turn starts a turn and returns when the agent has been prompted.
func (w *world) turn(id string) *turnRun {
	w.t.Helper()
	r := w.start(id, ahp.UserMessage("hi"))
	r.prompt = w.agent.expect("session/prompt")
	return r
}

func (w *world) start(id string, m *ahp.Message) *turnRun {
	r := &turnRun{w: w, id: id, outcome: make(chan agent.Outcome, 1)}
	go func() { r.outcome <- w.session.Prompt(w.t.Context(), agent.Prompt{TurnID: id, Message: m}) }()
	return r
}

// stop answers the prompt and returns the outcome.
func (r *turnRun) stop(reason string) agent.Outcome {
	r.w.t.Helper()
	r.w.agent.reply(r.prompt, `{"stopReason":"`+reason+`"}`)
	return <-r.outcome
}

// told compares what was told since the last call.
func (w *world) told(want ...string) {
	w.t.Helper()
	got := w.host.take()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.t.Errorf("told\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// result checks an outcome.
func (w *world) result(o agent.Outcome, result agent.Result, text string) {
	w.t.Helper()
	got := o.Notice
	if o.Err != nil {
		got = o.Err.ErrorType + ": " + o.Err.Message
	}
	if o.Result != result || !strings.Contains(got, text) {
		w.t.Errorf("outcome %d %q, want %d %q", o.Result, got, result, text)
	}
}

// startError checks why a session could not be opened.
func startError(t *testing.T, err error, kind, text string) {
	t.Helper()
	var e *agent.StartError
	if !errors.As(err, &e) || e.Type != kind || !strings.Contains(e.Message, text) {
		t.Errorf("error %#v (%v), want %s with %q", err, err, kind, text)
	}
}
