package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/internal/wiretrace"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
)

// world is a link between a client and a server that a trace plays, and a receiver
// of notifications that it watches. It lives in a bubble.
type world struct {
	t      *testing.T
	engine *notify.Engine
	hook   *hookType
	link   *link
	sides  map[string]*side
	pumps  sync.WaitGroup
}

var _ wiretrace.World = (*world)(nil)

// side is the link's end of a connection.
type side struct {
	mu   sync.Mutex
	conn transport.Conn // nil until the trace dials
}

func (s *side) write(message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return errors.New("nobody has dialled")
	}
	return s.conn.Write([][]byte{message})
}

func newWorld(t *testing.T, o notify.Options) *world {
	t.Helper()
	w := &world{t: t, sides: map[string]*side{"client": {}, "server": {}, "hook": {}}}
	w.hook = &hookType{out: w.sides["hook"].write}
	w.engine = newEngine(t, o, w.hook)
	g := newGate(Options{Engine: w.engine, Server: "tools"})
	w.link = newLink(context.WithoutCancel(t.Context()), g, w.sides["server"].write, w.sides["client"].write)
	t.Cleanup(func() {
		w.link.close(errShutdown)
		w.pumps.Wait()
	})
	return w
}

// newEngine returns an engine whose webhooks are the hook.
func newEngine(t *testing.T, o notify.Options, hook notify.RouteType) *notify.Engine {
	t.Helper()
	o.Store, o.Secrets, o.Types = notify.NewMemoryStore(), notify.NewMemorySecrets(), []notify.RouteType{hook}
	e, err := notify.New(context.WithoutCancel(t.Context()), o)
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

// Dial implements wiretrace.World: the names are client, server and hook.
func (w *world) Dial(name string) (transport.Conn, error) {
	s := w.sides[name]
	if s == nil {
		return nil, fmt.Errorf("there is no side %q", name)
	}
	theirs, ours := memory.Pair(memory.Options{})
	s.mu.Lock()
	s.conn = ours
	s.mu.Unlock()
	take, gone := func([]byte) error { return nil }, func() {}
	switch name {
	case "client":
		take, gone = w.link.fromClient, w.link.clientGone
	case "server":
		take, gone = w.link.fromServer, w.link.serverGone
	}
	w.pumps.Go(func() {
		for {
			m, err := ours.Read()
			if err != nil {
				gone()
				_ = ours.Close(transport.CodeNormal, "")
				return
			}
			_ = take(m)
		}
	})
	return theirs, nil
}

// Do implements wiretrace.World.
func (w *world) Do(command string, args []string, _ string) error {
	switch command {
	case "down": // the receiver refuses
		w.hook.set(notify.Outcome{Class: notify.ClassTransient, Category: "http_5xx", Status: 503})
	case "gone": // the receiver wants nothing any more
		w.hook.set(notify.Outcome{Class: notify.ClassPermanent, Category: "http_4xx", Status: 410, Disable: true})
	case "up":
		w.hook.set(notify.Outcome{Class: notify.ClassDelivered, Status: 200})
	default:
		return fmt.Errorf("unknown command %q", command)
	}
	return nil
}

// hookType is a route of type webhook that hands each body to out. Its endpoints begin
// with https://hook/; one that ends in /down takes nothing.
type hookType struct {
	out func(body []byte) error

	mu      sync.Mutex
	outcome notify.Outcome
}

var _ notify.RouteType = (*hookType)(nil)

func (h *hookType) set(o notify.Outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.outcome = o
}

func (h *hookType) Name() string                 { return "webhook" }
func (h *hookType) Admits(principal string) bool { return principal != "" }
func (h *hookType) Show(string) string           { return "https://hook/…" }

func (h *hookType) Validate(_ notify.Caller, r *notify.Route) string {
	switch {
	case !strings.HasPrefix(r.Endpoint, "https://"):
		return notify.RouteInvalidEndpoint
	case !strings.HasPrefix(r.Endpoint, "https://hook/"):
		return notify.RouteNotAllowed
	}
	r.Target = "https://hook:443"
	if r.Payload == "" {
		r.Payload = notify.PayloadThin
	}
	return ""
}

func (h *hookType) Ready(string, *notify.Route) bool { return true }

func (h *hookType) Attempt(_ context.Context, r *notify.Route, m notify.Message, _ notify.Credentials) notify.Outcome {
	h.mu.Lock()
	o := h.outcome
	h.mu.Unlock()
	if strings.HasSuffix(r.Endpoint, "/down") {
		o = notify.Outcome{Class: notify.ClassTransient, Category: "http_5xx", Status: 503}
	}
	if o.Class == "" {
		o = notify.Outcome{Class: notify.ClassDelivered, Status: 200}
	}
	if o.Class == notify.ClassDelivered {
		if err := h.out(m.Body); err != nil {
			return notify.Outcome{Class: notify.ClassTransient, Category: "connection_refused"}
		}
	}
	return o
}

func TestTraces(t *testing.T) {
	for name, o := range map[string]notify.Options{
		"link":    {},
		"require": {RequireCapability: true},
		"small":   {Limits: notify.Limits{ActiveCalls: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			wiretrace.Run(t, "testdata/trace/"+name, func(t *testing.T) wiretrace.World { return newWorld(t, o) })
		})
	}
}
