package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/wiretrace"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
	"github.com/go-json-experiment/json/jsontext"
)

// world is a host with the lab inside a bubble.
type world struct {
	t       *testing.T
	h       *Host
	lab     *lab
	opts    Options
	store   *gate   // nil without one
	kept    *mortal // nil without an archive
	serving sync.WaitGroup
	ends    map[string]*memory.Conn // client ends by name
}

var (
	_ wiretrace.World  = (*world)(nil)
	_ wiretrace.Cutter = (*world)(nil)
)

func newWorld(t *testing.T, opts Options) *world {
	t.Helper()
	w := &world{t: t, lab: &lab{}, ends: make(map[string]*memory.Conn)}
	w.store, _ = opts.Store.(*gate)
	w.kept, _ = opts.Store.(*mortal)
	opts.Features = append(opts.Features, w.lab)
	if opts.Policy == nil {
		opts.Policy = labPolicy{}
	}
	opts.Info.Name = "lab"
	w.opts = opts
	h, err := New(t.Context(), opts)
	if err != nil {
		t.Fatalf("new host: %v", err)
	}
	w.h = h
	t.Cleanup(func() {
		w.store.release()
		checkCensus(t, w.h)
		if err := w.h.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		w.serving.Wait()
	})
	return w
}

// Dial implements wiretrace.World. The principal is the client's name up to a
// dash, or Local for names of one letter.
func (w *world) Dial(client string) (transport.Conn, error) {
	a, b := memory.Pair(memory.Options{})
	w.ends[client] = a
	name, _, _ := strings.Cut(client, "-")
	principal := Principal(name)
	if len(name) == 1 {
		principal = Local
	}
	w.serving.Go(func() { _ = w.h.Serve(w.t.Context(), b, principal) })
	return a, nil
}

// Cut implements wiretrace.Cutter.
func (w *world) Cut(client string) error {
	return w.ends[client].Close(transport.CodeAbnormal, "")
}

// Do implements wiretrace.World.
func (w *world) Do(command string, args []string, body string) error {
	do := verbs[command]
	if do == nil {
		return fmt.Errorf("unknown command %q", command)
	}
	return do(w, args, body)
}

var verbs = map[string]func(w *world, args []string, body string) error{
	"session": func(w *world, args []string, _ string) error { // session URI
		return w.h.Create(args[0], labSession("untitled"), "")
	},
	"chat": func(w *world, args []string, _ string) error { // chat URI SESSION
		return w.h.Create(args[0], labChat(args[0]), args[1])
	},
	"terminal": func(w *world, args []string, _ string) error { // terminal URI
		return w.h.Create(args[0], &ahp.TerminalState{}, "")
	},
	"remove": func(w *world, args []string, _ string) error { // remove URI
		return must(w.h.Remove(args[0]), "no such channel")
	},
	"apply": func(w *world, args []string, body string) error { // apply URI, the action below
		a, err := ahp.DecodeAction(jsontext.Value(body))
		if err != nil {
			return err
		}
		return must(w.h.Apply(args[0], a), "nothing changed")
	},
	"notify": func(w *world, args []string, body string) error { // notify URI METHOD, the params below
		return must(w.h.Notify(args[0], args[1], jsontext.Value(body)), "no such channel")
	},
	"turns": func(w *world, args []string, _ string) error { // turns URI N
		n, err := strconv.Atoi(args[1])
		for i := range n {
			w.turn(args[0], fmt.Sprint("t", i+1))
		}
		return err
	},
	"effects": func(w *world, args []string, _ string) error { // effects N
		w.lab.mu.Lock()
		defer w.lab.mu.Unlock()
		return must(fmt.Sprint(len(w.lab.effects)) == args[0], fmt.Sprint("effects: ", len(w.lab.effects)))
	},
	"heard": func(w *world, _ []string, body string) error { // heard, the hooks below
		w.lab.mu.Lock()
		defer w.lab.mu.Unlock()
		got := strings.Join(w.lab.heard, "\n")
		w.lab.heard = nil
		return must(got == strings.TrimSpace(body), "heard:\n"+got)
	},
	"slow": func(w *world, _ []string, _ string) error { // effects wait
		w.lab.mu.Lock()
		defer w.lab.mu.Unlock()
		w.lab.slow = make(chan struct{})
		return nil
	},
	"fast": func(w *world, _ []string, _ string) error { // until now
		w.lab.mu.Lock()
		defer w.lab.mu.Unlock()
		close(w.lab.slow)
		w.lab.slow = nil
		return nil
	},
	"deltas": func(w *world, args []string, _ string) error { // deltas URI TURN PART N
		n, err := strconv.Atoi(args[3])
		for range n {
			w.h.Apply(args[0], &ahp.ChatDelta{TurnID: args[1], PartID: args[2], Content: "x"})
		}
		return err
	},
	"commit":  func(w *world, _ []string, _ string) error { w.store.release(); return nil },
	"hold":    func(w *world, _ []string, _ string) error { w.store.hold(nil); return nil },
	"refuse":  func(w *world, _ []string, _ string) error { w.store.hold(errors.New("disk full")); return nil },
	"kill":    func(w *world, _ []string, _ string) error { return w.restart(true) },
	"restart": func(w *world, _ []string, _ string) error { return w.restart(false) },
	"power":   func(w *world, _ []string, _ string) error { w.kept.power = true; return nil },     // from here on it is lost with the next kill
	"break":   func(w *world, args []string, _ string) error { w.kept.broken = args; return nil }, // break URI...
	"idle": func(w *world, args []string, _ string) error { // idle URI: it has left memory
		w.h.seq.mu.Lock()
		defer w.h.seq.mu.Unlock()
		return must(w.h.seq.channels[args[0]].state == nil, "it is in memory")
	},
	"shutdown": func(w *world, _ []string, _ string) error {
		return w.h.Shutdown(context.Background())
	},
}

func must(ok bool, problem string) error {
	if !ok {
		return errors.New(problem)
	}
	return nil
}

// turn adds a completed turn to a chat.
func (w *world) turn(chat ahp.URI, id string) {
	w.h.Apply(chat, &ahp.ChatTurnStarted{TurnID: id, StartedAt: Now(), Message: &ahp.Message{Text: "hello"}})
	w.h.Apply(chat, &ahp.ChatTurnComplete{TurnID: id})
}

// gate is a store that can be held, slow, or made to fail.
type gate struct {
	mu      sync.Mutex
	open    chan struct{} // closed when writes may pass
	err     error         // what a held write fails with
	written []uint64      // numbers of all records
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

// hold makes writes wait until release, or fail with err.
func (g *gate) hold(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
	if err == nil {
		g.open = make(chan struct{})
	}
}

func (g *gate) release() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = nil
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

func (g *gate) Write(group []*journal.Record) error {
	g.mu.Lock()
	open, err := g.open, g.err
	g.mu.Unlock()
	<-open
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range group {
		g.written = append(g.written, r.Seq)
	}
	return nil
}

func (g *gate) Sync() error  { return nil }
func (g *gate) Close() error { return nil }

// TestTraces plays the traces. Each folder has a host of its own kind.
func TestTraces(t *testing.T) {
	worlds := map[string]func() Options{
		"plain": func() Options { return Options{} },
		"small": func() Options {
			return Options{Limits: Limits{
				RingRecords: 4, PageSize: 2, TurnsPage: 2, SubscriptionsPerConn: 3, Sessions: 4, ChatsPerSession: 2,
				EffectsPerChannel: 1, ReconnectGrace: time.Minute, RememberedClients: 2,
			}}
		},
		"narrow": func() Options {
			return Options{Limits: Limits{
				WindowBytes: 1024, WindowFrameBytes: 1024, WindowLagBytes: 300, ReassemblyBytes: 600,
			}}
		},
		"stored": func() Options { return Options{Store: newGate()} },
		"kept":   func() Options { return Options{Store: newMortal(), Limits: Limits{RingRecords: 20}} },
	}
	for name, opts := range worlds {
		t.Run(name, func(t *testing.T) {
			wiretrace.Run(t, "testdata/trace/"+name, func(t *testing.T) wiretrace.World { return newWorld(t, opts()) })
		})
	}
}
