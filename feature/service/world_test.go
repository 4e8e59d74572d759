package service_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/wiretrace"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
	"github.com/go-json-experiment/json/jsontext"
)

// world is a host with client services and nothing else.
type world struct {
	ctx     context.Context
	t       testing.TB
	h       *host.Host
	f       *service.Feature
	policy  *book
	serving sync.WaitGroup
	mu      sync.Mutex
	ends    map[string]*memory.Conn // client ends by name
	closed  bool
}

var (
	_ wiretrace.World  = (*world)(nil)
	_ wiretrace.Cutter = (*world)(nil)
)

func newWorld(t testing.TB, o service.Options, ho host.Options) *world {
	t.Helper()
	w := makeWorld(t.Context(), t, o, ho)
	t.Cleanup(w.close)
	return w
}

// makeWorld makes a world whose maker closes it.
func makeWorld(ctx context.Context, t testing.TB, o service.Options, ho host.Options) *world {
	t.Helper()
	w := &world{ctx: ctx, t: t, policy: newBook(), ends: make(map[string]*memory.Conn)}
	if o.Policy == nil {
		o.Policy = w.policy
	}
	w.f = service.New(o)
	ho.Features, ho.Info = append(ho.Features, w.f), ahp.Implementation{Name: "lab"}
	h, err := host.New(ctx, ho)
	if err != nil {
		t.Fatalf("new host: %v", err)
	}
	w.h = h
	return w
}

func (w *world) close() {
	if w.closed {
		return
	}
	w.closed = true
	if err := w.h.Shutdown(context.Background()); err != nil {
		w.t.Errorf("shutdown: %v", err)
	}
	w.serving.Wait()
}

// Dial implements wiretrace.World. The principal is the client's name up to a
// dash, or host.Local for names of one letter.
func (w *world) Dial(client string) (transport.Conn, error) {
	name, _, _ := strings.Cut(client, "-")
	principal := host.Principal(name)
	if len(name) == 1 {
		principal = host.Local
	}
	return w.dial(client, principal)
}

func (w *world) dial(client string, principal host.Principal) (transport.Conn, error) {
	a, b := memory.Pair(memory.Options{})
	w.mu.Lock()
	w.ends[client] = a
	w.mu.Unlock()
	w.serving.Go(func() { _ = w.h.Serve(w.ctx, b, principal) })
	return a, nil
}

// Cut implements wiretrace.Cutter.
func (w *world) Cut(client string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ends[client].Close(transport.CodeAbnormal, "")
}

// Do implements wiretrace.World.
func (w *world) Do(command string, args []string, _ string) error {
	switch command {
	case "allow", "deny": // allow see|notify|call|register WHO OWNER
		w.policy.set(strings.Join(args, " "), command == "allow")
		w.f.PolicyChanged()
		return nil
	case "idle": // nothing is left of what was relayed
		if n := w.f.CallsInFlight(); n != 0 {
			return fmt.Errorf("%d calls are in flight", n)
		}
		return nil
	case "shutdown":
		return w.h.Shutdown(context.Background())
	}
	return fmt.Errorf("unknown command %q", command)
}

// book is a policy that says yes to one principal about itself, and to others
// what is written in it.
type book struct {
	service.SamePrincipal
	lines atomic.Pointer[map[string]bool]
}

func newBook() *book {
	b := new(book)
	b.lines.Store(&map[string]bool{})
	return b
}

func (b *book) set(line string, yes bool) {
	next := map[string]bool{}
	for k, v := range *b.lines.Load() {
		next[k] = v
	}
	next[line] = yes
	b.lines.Store(&next)
}

// all lets everybody do everything.
func (b *book) all() { b.lines.Store(&map[string]bool{"*": true}) }

func (b *book) says(what string, who, owner host.Principal) bool {
	if len(*b.lines.Load()) == 0 { // benchmarks measure the relay, not the book
		return who == owner
	}
	if (*b.lines.Load())["*"] {
		return true
	}
	yes, ok := (*b.lines.Load())[what+" "+string(who)+" "+string(owner)]
	return yes || !ok && who == owner
}

func (b *book) MayRegister(owner host.Principal, _ jsontext.Value) bool {
	return b.says("register", owner, owner)
}

func (b *book) MaySee(who, owner host.Principal, _ jsontext.Value) bool {
	return b.says("see", who, owner)
}

func (b *book) MayNotify(who, owner host.Principal, _ jsontext.Value) bool {
	return b.says("notify", who, owner)
}

func (b *book) MayCall(who, owner host.Principal, _ jsontext.Value) bool {
	return b.says("call", who, owner)
}

// TestTraces plays the traces, with silence asserted after every step.
func TestTraces(t *testing.T) {
	worlds := map[string]service.Limits{
		"plain": {},
		"small": {
			ServicesPerConn: 2, Services: 3, MetadataBytes: 60, MethodBytes: 8, ParamsBytes: 100, ResultBytes: 50,
			ErrorMessageBytes: 20, ErrorDataBytes: 30, CallsPerConn: 2, CallsPerService: 3, Depth: 4,
		},
	}
	for name, limits := range worlds {
		t.Run(name, func(t *testing.T) {
			wiretrace.Run(t, "testdata/trace/"+name, func(t *testing.T) wiretrace.World {
				return newWorld(t, service.Options{Limits: limits}, host.Options{})
			})
		})
	}
}
