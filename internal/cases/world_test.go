package cases

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/session"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/transport/websocket"
	"github.com/go-json-experiment/json/jsontext"
)

const hostURL = "ws://host:7433/"

// world is a host behind WebSockets on a simulated network, in a bubble.
type world struct {
	t   *testing.T
	net *simnet.Network
	h   *host.Host
}

func newWorld(t *testing.T, talk talker) *world {
	t.Helper()
	f := session.New(session.Options{Providers: []agent.Provider{talk}})
	h, err := host.New(t.Context(), host.Options{Features: []host.Feature{f}})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, net: simnet.New(1), h: h}
	listener, err := w.net.Listen("host:7433")
	if err != nil {
		t.Fatal(err)
	}
	w.serve(listener)
	return w
}

// serve upgrades whoever comes, until the test ends.
func (w *world) serve(listener net.Listener) {
	var serving sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Upgrade(rw, r, websocket.Options{})
		if err != nil {
			return
		}
		serving.Go(func() { _ = w.h.Serve(w.t.Context(), conn, host.Local) })
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

func (w *world) client(name string) *client.Client {
	w.t.Helper()
	c, err := client.Dial(w.t.Context(), hostURL, client.Options{ClientID: name, Dialer: w.net.Dialer(name)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// raw is a client that writes literal messages.
func (w *world) raw(name string) *websocket.Conn {
	w.t.Helper()
	conn, err := websocket.Dial(w.t.Context(), hostURL, websocket.DialOptions{Dialer: w.net.Dialer(name)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close(1000, "") })
	return conn
}

func (w *world) chat(c *client.Client) *client.Chat {
	w.t.Helper()
	s, err := c.CreateSession(w.t.Context(), client.CreateSessionOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	chat, err := s.DefaultChat(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return chat
}

// talker is an agent that answers with what it computes from a message.
type talker func(message string) (pieces []string)

func (f talker) Describe() agent.Description {
	return agent.Description{Provider: "talker", DisplayName: "Talker"}
}

func (f talker) ResolveConfig(context.Context, []ahp.URI, map[string]jsontext.Value) (agent.Config, error) {
	return agent.Config{}, nil
}

func (f talker) Open(_ context.Context, _ agent.Spec, h agent.Host) (agent.Session, error) {
	return &talk{f: f, h: h, done: make(chan struct{})}, nil
}

func (f talker) Close() error { return nil }

type talk struct {
	f    talker
	h    agent.Host
	done chan struct{}
	once sync.Once
}

func (t *talk) Prompt(ctx context.Context, p agent.Prompt) agent.Outcome {
	for _, piece := range t.f(p.Message.Text) {
		if err := t.h.Emit(ctx, agent.Text{TurnID: p.TurnID, Text: piece}); err != nil {
			return agent.Outcome{Result: agent.Failed}
		}
	}
	return agent.Outcome{Result: agent.Completed}
}

func (t *talk) Cancel(string)                            {}
func (t *talk) Steer(context.Context, *ahp.Message) bool { return false }
func (t *talk) SetConfig(context.Context, string, jsontext.Value) (map[string]jsontext.Value, error) {
	return nil, nil
}
func (t *talk) ResumeToken() []byte   { return nil }
func (t *talk) Done() <-chan struct{} { return t.done }
func (t *talk) Err() error            { return nil }
func (t *talk) Close() error {
	t.once.Do(func() { close(t.done) })
	return nil
}
