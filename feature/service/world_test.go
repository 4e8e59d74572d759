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

func newWorld(t testing.TB, o service.Options, limits host.Limits) *world {
	t.Helper()
	w := &world{t: t, policy: newBook(), ends: make(map[string]*memory.Conn)}
	if o.Policy == nil {
		o.Policy = w.policy
	}
	w.f = service.New(o)
	h, err := host.New(t.Context(), host.Options{
		Features: []host.Feature{w.f}, Limits: limits, Info: ahp.Implementation{Name: "lab"},
	})
	if err != nil {
		t.Fatalf("new host: %v", err)
	}
	w.h = h
	t.Cleanup(w.close)
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
	a, b := memory.Pair(memory.Options{})
	w.mu.Lock()
	w.ends[client] = a
	w.mu.Unlock()
	name, _, _ := strings.Cut(client, "-")
	principal := host.Principal(name)
	if len(name) == 1 {
		principal = host.Local
	}
	w.serving.Go(func() { _ = w.h.Serve(w.t.Context(), b, principal) })
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

func (b *book) says(what string, who, owner host.Principal) bool {
	if len(*b.lines.Load()) == 0 { // benchmarks measure the relay, not the book
		return who == owner
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
	worlds := map[string]func() (service.Options, host.Limits){
		"plain": func() (service.Options, host.Limits) { return service.Options{}, host.Limits{} },
		"small": func() (service.Options, host.Limits) {
			return service.Options{Limits: service.Limits{
				ServicesPerConn: 2, Services: 3, MetadataBytes: 60, MethodBytes: 8, ParamsBytes: 100, ResultBytes: 50,
				ErrorMessageBytes: 20, ErrorDataBytes: 30, CallsPerConn: 2, CallsPerService: 3, Depth: 4,
			}}, host.Limits{RingRecords: 4}
		},
	}
	for name, options := range worlds {
		t.Run(name, func(t *testing.T) {
			wiretrace.Run(t, "testdata/trace/"+name, func(t *testing.T) wiretrace.World {
				o, limits := options()
				return newWorld(t, o, limits)
			})
		})
	}
}
