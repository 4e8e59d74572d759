package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/feature/session"
	"github.com/causeway-ahp/causeway/feature/tcp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
	"github.com/go-json-experiment/json/jsontext"
)

const hostAddr = "host:7433"

// world is the real host with a scripted agent, reached over a simulated network
// inside a bubble.
type world struct {
	t     *testing.T
	net   *simnet.Network
	agent *puppet
	opts  host.Options
	// services are the options of client services.
	services service.Options
	wrap     func(transport.Conn) transport.Conn // of the host's ends, when set
	// status refuses every upgrade, when set.
	status int

	tcpLimits tcp.Limits

	h      *host.Host
	tcp    *tcp.Feature
	server *http.Server
	conns  sync.WaitGroup
}

// bubble runs a test with a world in a bubble. A goroutine left at the end fails
// it.
func bubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, net: simnet.New(1), agent: newPuppet()}
		w.start()
		t.Cleanup(w.stop)
		test(t, w)
	})
}

// start starts a host. It knows nothing of those before it.
func (w *world) start() {
	w.t.Helper()
	opts := w.opts
	w.tcp = tcp.New(w.tcpOptions())
	opts.Features = []host.Feature{session.New(session.Options{Providers: []agent.Provider{w.agent}}), service.New(w.services), watches{}, w.tcp}
	h, err := host.New(context.Background(), opts)
	if err != nil {
		w.t.Fatalf("new host: %v", err)
	}
	ln, err := w.net.Listen(hostAddr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.h = h
	w.server = &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.upgrade(h, rw, r) })}
	w.conns.Go(func() { _ = w.server.Serve(ln) })
}

func (w *world) upgrade(h *host.Host, rw http.ResponseWriter, r *http.Request) {
	if w.status != 0 {
		rw.WriteHeader(w.status)
		return
	}
	ws, err := websocket.Upgrade(rw, r, websocket.Options{})
	if err != nil {
		return
	}
	var conn transport.Conn = ws
	if w.wrap != nil {
		conn = w.wrap(conn)
	}
	w.conns.Go(func() { _ = h.Serve(context.Background(), conn, host.Local) })
}

// stop ends the host in order.
func (w *world) stop() {
	if err := w.h.Shutdown(context.Background()); err != nil {
		w.t.Errorf("shut down host: %v", err)
	}
	_ = w.server.Close()
	w.conns.Wait()
}

// kill ends the host as a crash would: every connection breaks first.
func (w *world) kill(names ...string) {
	for _, n := range names {
		w.link(n).Cut()
	}
	w.stop()
}

// link is the way of a client, by name, to the host.
func (w *world) link(name string) *simnet.Link { return w.net.Link(name, hostAddr) }

// dial connects a client from a named place.
func (w *world) dial(name string, opts client.Options) *client.Client {
	w.t.Helper()
	if opts.Dialer == nil {
		opts.Dialer = w.net.Dialer(name)
	}
	c, err := client.Dial(w.t.Context(), "ws://"+hostAddr+"/", opts)
	if err != nil {
		w.t.Fatalf("dial: %v", err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// newSession creates a session and returns it with its chat.
func (w *world) newSession(c *client.Client) (*client.Session, *client.Chat) {
	w.t.Helper()
	s := must(c.CreateSession(w.t.Context(), client.CreateSessionOptions{}))(w.t)
	return s, must(s.DefaultChat(w.t.Context()))(w.t)
}

func (w *world) chatState(uri ahp.URI) *ahp.ChatState { return w.h.State(uri).(*ahp.ChatState) }

// waitState waits until a client's connection is in a state.
func waitState(t *testing.T, c *client.Client, want client.State) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for s := range c.Statuses(ctx) {
		if s.State == want {
			return
		}
	}
	t.Fatalf("state is %v, want %v", c.Status(), want)
}

// waitBack waits until a connection that was just cut is live again.
func waitBack(t *testing.T, c *client.Client) {
	t.Helper()
	waitState(t, c, client.Reconnecting)
	waitState(t, c, client.Live)
}

// must returns a function that gives the value or fails the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// wantSame compares two states as they are on the wire.
func wantSame(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := encode(t, got), encode(t, want); g != w {
		t.Errorf("%s\n got %s\nwant %s", what, g, w)
	}
}

func encode(t testing.TB, v any) string {
	t.Helper()
	raw, err := ahp.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// markdown is the text a turn was answered with.
func markdown(parts ahp.List[ahp.ResponsePart]) string {
	var b strings.Builder
	for _, p := range parts.All() {
		if m, ok := p.Part.(*ahp.MarkdownPart); ok {
			b.WriteString(m.Content.String())
		}
	}
	return b.String()
}

// puppet is an agent that answers "ok: <text>" unless a test says otherwise.
type puppet struct {
	turn      func(ctx context.Context, h agent.Host, p agent.Prompt) agent.Outcome
	resources []ahp.ProtectedResourceMetadata

	mu      sync.Mutex
	prompts []string // the texts of all prompts
	tokens  []string // those for resource that agents were opened with
}

func newPuppet() *puppet { return &puppet{} }

func (p *puppet) prompted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.prompts...)
}

func (p *puppet) Describe() agent.Description {
	return agent.Description{Provider: "puppet", DisplayName: "Puppet", MultipleChats: true, Resources: p.resources}
}

func (p *puppet) ResolveConfig(context.Context, []ahp.URI, map[string]jsontext.Value) (agent.Config, error) {
	return agent.Config{Schema: ahp.ConfigSchema{Type: "object"}}, nil
}

func (p *puppet) Open(_ context.Context, spec agent.Spec, h agent.Host) (agent.Session, error) {
	p.mu.Lock()
	p.tokens = append(p.tokens, string(spec.Tokens[resource]))
	p.mu.Unlock()
	return &puppetSession{p: p, host: h, done: make(chan struct{})}, nil
}

func (p *puppet) Close() error { return nil }

type puppetSession struct {
	p    *puppet
	host agent.Host
	done chan struct{}
	once sync.Once

	mu     sync.Mutex
	cancel context.CancelFunc // of the running prompt
}

func (s *puppetSession) Prompt(ctx context.Context, p agent.Prompt) agent.Outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.cancel = cancel
	s.mu.Unlock()
	s.p.mu.Lock()
	s.p.prompts = append(s.p.prompts, p.Message.Text)
	turn := s.p.turn
	s.p.mu.Unlock()
	if turn != nil {
		return turn(ctx, s.host, p)
	}
	_ = s.host.Emit(ctx, agent.Text{TurnID: p.TurnID, Text: "ok: " + p.Message.Text})
	return agent.Outcome{Result: agent.Completed}
}

func (s *puppetSession) Cancel(string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}

func (s *puppetSession) Steer(context.Context, *ahp.Message) bool { return false }

func (s *puppetSession) SetConfig(context.Context, string, jsontext.Value) (map[string]jsontext.Value, error) {
	return nil, nil
}

func (s *puppetSession) ResumeToken() []byte { return nil }

func (s *puppetSession) Done() <-chan struct{} { return s.done }

func (s *puppetSession) Err() error { return nil }

func (s *puppetSession) Close() error {
	s.Cancel("")
	s.once.Do(func() { close(s.done) })
	return nil
}

// untilCancelled is a turn that says something and then runs until it is
// cancelled.
func untilCancelled(ctx context.Context, h agent.Host, p agent.Prompt) agent.Outcome {
	_ = h.Emit(ctx, agent.Text{TurnID: p.TurnID, Text: "working"})
	<-ctx.Done()
	return agent.Outcome{Result: agent.Cancelled}
}

// watches is a feature with a volatile kind of channel.
type watches struct{}

func (watches) Register(r *host.Registry) error {
	return r.Scheme(host.Scheme{
		Kind: ahp.KindResourceWatch, Class: host.Volatile, Reduce: reducer.Apply,
		Validate:  func(any, ahp.Action, host.Actor) string { return "read only" },
		HasEffect: func(ahp.Action) bool { return false },
	})
}

func (watches) Start(context.Context, *host.Host) error { return nil }

func (watches) Stop(context.Context) error { return nil }
