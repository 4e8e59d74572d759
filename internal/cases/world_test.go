package cases

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/session"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

const (
	hostAddr = "host:7433"
	hostURL  = "ws://" + hostAddr + "/"
)

// world is a host behind WebSockets on a simulated network, in a bubble.
type world struct {
	t      *testing.T
	net    *simnet.Network
	agents *troupe
	h      *host.Host
	socket websocket.Options // of the host's side
}

// bubble runs a test in a world of its own with virtual time.
func bubble(t *testing.T, p play, test func(t *testing.T, w *world)) {
	t.Helper()
	bubbleWith(t, p, host.Options{}, test)
}

func bubbleWith(t *testing.T, p play, o host.Options, test func(t *testing.T, w *world)) {
	t.Helper()
	bubbleOver(t, p, o, websocket.Options{}, test)
}

// bubbleOver is a bubble whose host has such WebSockets.
func bubbleOver(t *testing.T, p play, o host.Options, socket websocket.Options, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, net: simnet.New(1), agents: &troupe{play: p}, socket: socket}
		o.Features = append(o.Features, session.New(session.Options{Providers: []agent.Provider{w.agents}, Log: o.Log}))
		var err error
		if w.h, err = host.New(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		listener, err := w.net.Listen(hostAddr)
		if err != nil {
			t.Fatal(err)
		}
		w.serve(listener)
		// A test that waits for what never comes would see pings for ever.
		watchdog := time.AfterFunc(24*time.Hour, func() { panic("a day has passed in this bubble") })
		defer watchdog.Stop()
		test(t, w)
	})
}

// serve upgrades whoever comes, until the test ends.
func (w *world) serve(listener net.Listener) {
	var serving sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Upgrade(rw, r, w.socket)
		if err != nil {
			return
		}
		serving.Go(func() { _ = w.h.Serve(context.Background(), conn, host.Local) })
	})}
	serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			w.t.Errorf("serve: %v", err)
		}
	})
	w.t.Cleanup(func() {
		if err := w.h.Shutdown(context.Background()); err != nil {
			w.t.Errorf("shutdown: %v", err)
		}
		if err := server.Close(); err != nil {
			w.t.Errorf("close server: %v", err)
		}
		serving.Wait()
	})
}

// link is the way from a place, by name, to the host.
func (w *world) link(name string) *simnet.Link { return w.net.Link(name, hostAddr) }

// client is our own client, at a place of its name.
func (w *world) client(name string) *client.Client {
	w.t.Helper()
	return w.clientWith(client.Options{ClientID: name, Dialer: w.net.Dialer(name)})
}

func (w *world) clientWith(o client.Options) *client.Client {
	w.t.Helper()
	return value(client.Dial(w.t.Context(), hostURL, o))(w.t, func(c *client.Client) { _ = c.Close() })
}

// value returns a function that gives the value, to be ended with the test, or
// fails the test.
func value[T any](v T, err error) func(t *testing.T, end func(T)) T {
	return func(t *testing.T, end func(T)) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { end(v) })
		return v
	}
}

// must returns a function that gives the value or fails the test.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (w *world) session(c *client.Client) *client.Session {
	w.t.Helper()
	return must(c.CreateSession(w.t.Context(), client.CreateSessionOptions{}))(w.t)
}

// chat makes a session and returns its chat.
func (w *world) chat(c *client.Client) *client.Chat {
	w.t.Helper()
	return must(w.session(c).DefaultChat(w.t.Context()))(w.t)
}

// turn runs one turn to its end.
func (w *world) turn(chat *client.Chat, message string) *ahp.Turn {
	w.t.Helper()
	turn := must(chat.Send(w.t.Context(), message))(w.t)
	return must(turn.Wait(w.t.Context()))(w.t)
}

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
	t.Fatalf("the client is %v, want %v", c.Status(), want)
}

// markdown is the text a turn was answered with.
func markdown(parts ahp.List[ahp.ResponsePart]) string {
	var text []byte
	for _, p := range parts.All() {
		if m, ok := p.Part.(*ahp.MarkdownPart); ok {
			text = append(text, m.Content.String()...)
		}
	}
	return string(text)
}

// connections is how many the host has open.
func (w *world) connections() float64 {
	w.t.Helper()
	return w.measured("causeway_connections", "")
}

// closes is how many connections the host ended for a cause.
func (w *world) closes(cause string) float64 {
	w.t.Helper()
	return w.measured("causeway_closes_total", cause)
}

// measured reads one of the host's numbers, that with a label of this value if
// one is given.
func (w *world) measured(name, label string) (sum float64) {
	w.t.Helper()
	for _, f := range must(w.h.Metrics().Gather())(w.t) {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			found := label == ""
			for _, l := range m.GetLabel() {
				found = found || l.GetValue() == label
			}
			if found {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
