package toolnotify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/feature/toolnotify"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/wiretrace"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
	"github.com/go-json-experiment/json/jsontext"
)

// sessions are the least of sessions and chats, whose actions a trace applies.
type sessions struct{ h *host.Host }

func (s *sessions) Register(r *host.Registry) error {
	never := func(ahp.Action) bool { return false }
	yes := func(any, ahp.Action, host.Actor) string { return "" }
	return errors.Join(
		r.Scheme(host.Scheme{Kind: ahp.KindSession, Reduce: reducer.Apply, Validate: yes, HasEffect: never}),
		r.Scheme(host.Scheme{Kind: ahp.KindChat, Reduce: reducer.Apply, Validate: yes, HasEffect: never}),
	)
}

func (s *sessions) Start(_ context.Context, h *host.Host) error { s.h = h; return nil }

// Stop cancels what runs, as a host does that ends.
func (s *sessions) Stop(context.Context) error {
	s.h.Apply("ahp-chat:/c", &ahp.ChatTurnCancelled{TurnID: "last"})
	return nil
}

// book is a policy: "guest" sees nothing but the root channel until it is let in.
type book struct {
	mu  sync.Mutex
	out map[host.Principal]bool
}

func (b *book) Allow(p host.Principal, _ host.Op, channel ahp.URI) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return channel == ahp.RootURI || !b.out[p]
}

func (b *book) set(p host.Principal, out bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out[p] = out
}

// world is a host with the feature, and a receiver of notifications called hook.
type world struct {
	t       *testing.T
	h       *host.Host
	engine  *notify.Engine
	policy  *book
	serving sync.WaitGroup

	mu   sync.Mutex
	hook *memory.Conn
}

var _ wiretrace.World = (*world)(nil)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, policy: &book{out: map[host.Principal]bool{"guest": true}}}
	w.engine = newEngine(t, notify.NewMemoryStore(), w.deliver)
	w.h = w.start(nil)
	t.Cleanup(func() {
		w.shutdown()
		w.serving.Wait()
	})
	for _, err := range []error{
		w.h.Create("ahp-session:/s", session(), ""), w.h.Create("ahp-chat:/c", chat("ahp-chat:/c"), "ahp-session:/s"),
		w.h.Create("ahp-session:/other", session(), ""), w.h.Create("ahp-chat:/d", chat("ahp-chat:/d"), "ahp-session:/other"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func newEngine(t *testing.T, store notify.Store, deliver func([]byte) error) *notify.Engine {
	t.Helper()
	e, err := notify.New(context.WithoutCancel(t.Context()), notify.Options{
		Store: store, Secrets: notify.NewMemorySecrets(), Types: []notify.RouteType{hookType{deliver}},
	})
	if err != nil {
		t.Fatalf("new engine: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := e.Shutdown(ctx); err != nil {
			t.Errorf("shut the engine down: %v", err)
		}
	})
	return e
}

func (w *world) start(more []host.Feature) *host.Host {
	w.t.Helper()
	features := append([]host.Feature{toolnotify.New(toolnotify.Options{Engine: w.engine}), &sessions{}}, more...)
	h, err := host.New(context.WithoutCancel(w.t.Context()), host.Options{
		Features: features, Policy: w.policy, Info: ahp.Implementation{Name: "lab"},
	})
	if err != nil {
		w.t.Fatalf("new host: %v", err)
	}
	return h
}

func (w *world) shutdown() {
	if err := w.h.Shutdown(context.Background()); err != nil {
		w.t.Errorf("shutdown: %v", err)
	}
}

func session() *ahp.SessionState {
	s := reducer.New(ahp.KindSession).(*ahp.SessionState)
	s.Provider, s.Title, s.Lifecycle = "lab", "untitled", ahp.LifecycleReady
	return s
}

func chat(uri ahp.URI) *ahp.ChatState {
	s := reducer.New(ahp.KindChat).(*ahp.ChatState)
	s.ChatInfo = ahp.ChatInfo{Resource: uri, Title: "chat", Status: ahp.StatusIdle, ModifiedAt: host.Now()}
	return s
}

func (w *world) deliver(body []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hook == nil {
		return errors.New("nobody has dialled")
	}
	return w.hook.Write([][]byte{body})
}

// Dial implements wiretrace.World. The name is the principal; "local" and names of one
// letter are the host's own user. The hook is not connected to the host.
func (w *world) Dial(name string) (transport.Conn, error) {
	theirs, ours := memory.Pair(memory.Options{})
	if name == "hook" {
		w.mu.Lock()
		w.hook = ours
		w.mu.Unlock()
		return theirs, nil
	}
	p := host.Principal(name)
	if len(name) == 1 {
		p = host.Local
	}
	w.serving.Go(func() { _ = w.h.Serve(context.WithoutCancel(w.t.Context()), ours, p) })
	return theirs, nil
}

// Do implements wiretrace.World.
func (w *world) Do(command string, args []string, body string) error {
	switch command {
	case "apply": // apply URI, the action below
		a, err := ahp.DecodeAction(jsontext.Value(body))
		if err != nil {
			return err
		}
		if !w.h.Apply(args[0], a) {
			return errors.New("nothing changed")
		}
	case "turn": // turn URI TURN CALL: a turn with a call that runs
		w.h.Apply(args[0], &ahp.ChatTurnStarted{TurnID: args[1], StartedAt: host.Now(), Message: ahp.UserMessage("go")})
		return w.call(args[0], args[1], args[2])
	case "call": // call URI TURN CALL: one more
		return w.call(args[0], args[1], args[2])
	case "session":
		return w.h.Create(args[0], session(), "")
	case "chat": // chat URI SESSION
		return w.h.Create(args[0], chat(args[0]), args[1])
	case "remove":
		if !w.h.Remove(args[0]) {
			return errors.New("no such channel")
		}
	case "lock": // lock PRINCIPAL: it sees nothing any more
		w.policy.set(host.Principal(args[0]), true)
	case "admit":
		w.policy.set(host.Principal(args[0]), false)
	case "shutdown":
		w.shutdown()
	default:
		return fmt.Errorf("unknown command %q", command)
	}
	return nil
}

func (w *world) call(uri, turn, id string) error {
	ref := ahp.ToolCallRef{TurnID: turn, ToolCallID: id}
	ok := w.h.Apply(uri, &ahp.ChatToolCallStart{ToolCallRef: ref, ToolName: "build.all", DisplayName: "Build"})
	confirmed := "not-needed"
	ok = ok && w.h.Apply(uri, &ahp.ChatToolCallReady{ToolCallRef: ref, Confirmed: &confirmed})
	if !ok {
		return errors.New("nothing changed")
	}
	return nil
}

// hookType is a route of type webhook whose endpoints begin with https://hook/.
type hookType struct{ deliver func([]byte) error }

func (hookType) Name() string                     { return "webhook" }
func (hookType) Admits(p string) bool             { return p != "" }
func (hookType) Show(string) string               { return "https://hook/…" }
func (hookType) Ready(string, *notify.Route) bool { return true }
func (hookType) Validate(c notify.Caller, r *notify.Route) string {
	if !strings.HasPrefix(r.Endpoint, "https://hook/") && !c.Trusted {
		return notify.RouteNotAllowed
	}
	r.Target = "https://hook:443"
	if r.Payload == "" {
		r.Payload = notify.PayloadThin
	}
	return ""
}

func (t hookType) Attempt(_ context.Context, _ *notify.Route, m notify.Message, _ notify.Credentials) notify.Outcome {
	if t.deliver(m.Body) != nil {
		return notify.Outcome{Class: notify.ClassTransient, Category: "connection_refused"}
	}
	return notify.Outcome{Class: notify.ClassDelivered, Status: 200}
}

func TestTraces(t *testing.T) {
	wiretrace.Run(t, "testdata/trace", func(t *testing.T) wiretrace.World { return newWorld(t) })
}
