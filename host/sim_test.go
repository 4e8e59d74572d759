package host

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

// The simulated world: real WebSocket framing over a network that is cut at
// random bytes, stalls and is slow, in virtual time.
const (
	simClients  = 50
	simSessions = 10
	simTime     = 30 * time.Second
	simAddr     = "host:80"
)

// sim is one run of it.
type sim struct {
	t        *testing.T
	h        *Host
	net      *simnet.Network
	serving  sync.WaitGroup
	sessions []ahp.URI
	channels []ahp.URI // sessions and chats
	quiet    atomic.Bool
	titles   atomic.Uint64

	mu       sync.Mutex
	applied  map[string]int // how often each title was reduced
	outcomes map[string]int // of reconnects
}

func TestSimulation(t *testing.T) {
	outcomes := make(map[string]int)
	for seed := range scale.Count(10) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, uint64(seed), outcomes) })
		})
	}
	t.Logf("reconnects: %v", outcomes)
	for _, kind := range []string{ahp.ReconnectReplay, ahp.ReconnectSnapshot, "cursors replay", "cursors snapshot"} {
		if outcomes[kind] == 0 {
			t.Errorf("no reconnect ended in %s: the simulation is too tame", kind)
		}
	}
}

func simulate(t *testing.T, seed uint64, outcomes map[string]int) {
	w := newSim(t, seed, outcomes)
	ctx, cancel := context.WithCancel(t.Context())
	rng := rand.New(rand.NewPCG(seed, 0))
	var running, noise sync.WaitGroup
	clients := make([]*simClient, simClients)
	for i := range clients {
		clients[i] = newSimClient(w, i, rand.New(rand.NewPCG(seed, uint64(i+1))))
		running.Go(func() { clients[i].run(ctx) })
	}
	noise.Go(func() { w.agents() })
	noise.Go(func() { w.trouble(clients, rng) })
	time.Sleep(simTime)
	w.quiet.Store(true)
	noise.Wait()
	w.heal(clients)
	time.Sleep(2 * time.Minute) // everybody finds back
	synctest.Wait()
	w.check(clients)
	cancel()
	running.Wait()
}

func newSim(t *testing.T, seed uint64, outcomes map[string]int) *sim {
	w := &sim{t: t, net: simnet.New(seed), applied: make(map[string]int), outcomes: outcomes}
	feature := &lab{reduced: w.count}
	var err error
	w.h, err = New(t.Context(), Options{
		Features: []Feature{feature},
		Limits:   Limits{OutboxBytes: 128 << 10, RingRecords: 1500, ReplayBytes: 32 << 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range simSessions {
		session, chat := fmt.Sprintf("ahp-session:/s%d", i), fmt.Sprintf("ahp-chat:/c%d", i)
		if err := w.h.Create(session, labSession("new"), ""); err != nil {
			t.Fatal(err)
		}
		if err := w.h.Create(chat, labChat(chat), session); err != nil {
			t.Fatal(err)
		}
		w.sessions = append(w.sessions, session)
		w.channels = append(w.channels, session, chat)
	}
	w.serve()
	return w
}

// serve opens the host's door. Everything is waited for when the test ends.
func (w *sim) serve() {
	ln, err := w.net.Listen(simAddr)
	if err != nil {
		w.t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c, err := websocket.Upgrade(rw, r, websocket.Options{WriteTimeout: 5 * time.Second, PingInterval: 10 * time.Second})
		if err != nil {
			return // cut while it upgraded
		}
		_ = w.h.Serve(w.t.Context(), c, Local)
	})}
	w.serving.Go(func() { _ = srv.Serve(ln) })
	w.t.Cleanup(func() {
		if err := w.h.Shutdown(context.Background()); err != nil {
			w.t.Errorf("shutdown: %v", err)
		}
		_ = srv.Close()
		w.serving.Wait()
	})
}

func (w *sim) dial(ctx context.Context, name string) (transport.Conn, error) {
	return websocket.Dial(ctx, "ws://"+simAddr+"/", websocket.DialOptions{
		Options: websocket.Options{WriteTimeout: 5 * time.Second, PingInterval: 10 * time.Second},
		Dialer:  w.net.Dialer(name), Timeout: 3 * time.Second,
	})
}

// title returns a title that is used once.
func (w *sim) title(client string) string { return fmt.Sprintf("%s/%d", client, w.titles.Add(1)) }

func (w *sim) count(a ahp.Action) {
	if t, ok := a.(*ahp.SessionTitleChanged); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.applied[t.Title]++
	}
}

func (w *sim) outcome(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outcomes[kind]++
}

// agents streams turns into all chats.
func (w *sim) agents() {
	var streams sync.WaitGroup
	for i := 1; i < len(w.channels); i += 2 {
		streams.Go(func() { w.stream(w.channels[i]) })
	}
	streams.Wait()
}

func (w *sim) stream(chat ahp.URI) {
	for turn := 0; !w.quiet.Load(); turn++ {
		id := fmt.Sprint("t", turn)
		w.h.Apply(chat, &ahp.ChatTurnStarted{TurnID: id, StartedAt: Now(), Message: &ahp.Message{Text: "go on"}})
		w.h.Apply(chat, &ahp.ChatResponsePart{TurnID: id, Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p"}}})
		for range 60 {
			w.h.Apply(chat, &ahp.ChatDelta{TurnID: id, PartID: "p", Content: "some words "})
			time.Sleep(37 * time.Millisecond)
		}
		w.h.Apply(chat, &ahp.ChatTurnComplete{TurnID: id})
	}
}

// trouble cuts, stalls and slows the links of random clients.
func (w *sim) trouble(clients []*simClient, rng *rand.Rand) {
	for !w.quiet.Load() {
		time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
		k := w.net.Link(clients[rng.IntN(len(clients))].name, simAddr)
		switch rng.IntN(6) {
		case 0:
			k.Cut()
		case 1:
			k.CutAfter(simnet.Up, rng.Int64N(2000))
		case 2:
			k.CutAfter(simnet.Down, rng.Int64N(20_000))
		case 3:
			k.Stall()
		case 4:
			k.Resume()
		case 5:
			k.Set(simnet.Profile{
				Latency: time.Duration(rng.IntN(50)) * time.Millisecond, MaxPieceBytes: 1 + rng.IntN(1000), BufferBytes: 8 << 10,
			})
		}
	}
}

// heal makes all links good.
func (w *sim) heal(clients []*simClient) {
	for _, c := range clients {
		k := w.net.Link(c.name, simAddr)
		k.Resume()
		k.Set(simnet.Profile{})
	}
}

// check compares everybody with the host.
func (w *sim) check(clients []*simClient) {
	states := make(map[ahp.URI]string)
	for _, uri := range w.channels {
		states[uri] = encoded(w.t, w.h.State(uri))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for title, n := range w.applied {
		if n > 1 && title != "" {
			w.t.Errorf("title %s was applied %d times", title, n)
		}
	}
	for _, c := range clients {
		c.mu.Lock()
		for _, uri := range c.want {
			if c.states[uri] == nil {
				w.t.Errorf("%s does not have %s", c.name, uri)
			} else if got := encoded(w.t, c.states[uri]); got != states[uri] {
				w.t.Errorf("%s has another %s:\n%s\nhost:\n%s", c.name, uri, got, states[uri])
			}
		}
		for title := range c.echoed {
			if w.applied[title] != 1 {
				w.t.Errorf("%s saw the echo of %s, which was applied %d times", c.name, title, w.applied[title])
			}
		}
		c.mu.Unlock()
	}
}

func encoded(t *testing.T, state any) string {
	t.Helper()
	raw, err := ahp.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
