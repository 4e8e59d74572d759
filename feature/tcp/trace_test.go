package tcp

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/internal/wiretrace"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
)

// traceWorld is a world whose destinations do what a trace says.
type traceWorld struct {
	*world
	dests map[string]*dest
}

var (
	_ wiretrace.World  = (*traceWorld)(nil)
	_ wiretrace.Cutter = (*traceWorld)(nil)
)

// dest is a destination with its newest connection and all that came over it.
type dest struct {
	mu    sync.Mutex
	conn  *simnet.Conn
	count int
	got   strings.Builder
	end   string // "", "eof" or "reset"
}

func (d *dest) serve(conn *simnet.Conn) {
	d.mu.Lock()
	d.conn, d.end = conn, ""
	d.count++
	d.got.Reset()
	d.mu.Unlock()
	b := make([]byte, 4096)
	for {
		n, err := conn.Read(b)
		d.mu.Lock()
		d.got.Write(b[:n])
		if err != nil {
			d.end = "reset"
			if errors.Is(err, io.EOF) {
				d.end = "eof"
			}
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
	}
}

// Dial implements wiretrace.World.
func (w *traceWorld) Dial(client string) (transport.Conn, error) {
	a, b := memory.Pair(memory.Options{})
	w.ends[client] = a
	w.serving.Go(func() { _ = w.h.Serve(w.t.Context(), b, host.Local) })
	return a, nil
}

// Cut implements wiretrace.Cutter.
func (w *traceWorld) Cut(client string) error {
	return w.ends[client].Close(transport.CodeAbnormal, "")
}

// Do implements wiretrace.World.
func (w *traceWorld) Do(command string, args []string, body string) error {
	body = strings.TrimSuffix(body, "\n")
	if command == "name" { // name NAME ADDRESS...
		w.names[args[0]] = args[1:]
		return nil
	}
	if command == "listen" { // listen ADDRESS
		d := &dest{}
		w.dests[args[0]] = d
		w.listen(args[0], d.serve)
		return nil
	}
	if command == "stall" { // stall ADDRESS: nothing passes, and nobody answers
		w.net.Link("host", args[0]).Stall()
		return nil
	}
	if command == "left" { // left N: connections of the feature
		return same(fmt.Sprint(w.f.Len()), args[0])
	}
	d := w.dests[args[0]]
	if d == nil {
		return fmt.Errorf("nobody listens at %s", args[0])
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch command {
	case "accepted": // accepted ADDRESS N
		return same(fmt.Sprint(d.count), args[1])
	case "got": // got ADDRESS, the bytes below; forgets them
		defer d.got.Reset()
		return same(d.got.String(), body)
	case "ended": // ended ADDRESS eof|reset|open
		end := d.end
		if end == "" {
			end = "open"
		}
		return same(end, args[1])
	case "say": // say ADDRESS, the bytes below
		_, err := d.conn.Write([]byte(body))
		return err
	case "finish": // finish ADDRESS: no more comes from there
		return d.conn.CloseWrite()
	case "hang-up": // hang-up ADDRESS: closed as a whole
		return d.conn.Close()
	case "abort": // abort ADDRESS: reset
		return errors.Join(d.conn.SetLinger(0), d.conn.Close())
	}
	return fmt.Errorf("unknown command %q", command)
}

func same(got, want string) error {
	if got != want {
		return fmt.Errorf("got %q, want %q", got, want)
	}
	return nil
}

// TestTraces plays the traces. Each folder has a host of its own kind.
func TestTraces(t *testing.T) {
	kinds := map[string]struct {
		options func(t *testing.T) Options
		limits  host.Limits
	}{
		"plain": {func(*testing.T) Options { return Options{} }, host.Limits{}},
		"tight": {func(t *testing.T) Options {
			return Options{
				Limits: Limits{PerClient: 2, Open: 5 * time.Second, Unsubscribed: 3 * time.Second, FinalDrain: 2 * time.Second},
				Allow:  rulesOf(t, "db.internal:5432", "*:443"),
			}
		}, host.Limits{WindowBytes: 1, WindowFrameBytes: 1024}},
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			wiretrace.Run(t, "testdata/trace/"+name, func(t *testing.T) wiretrace.World {
				w := &traceWorld{newWorld(t, kind.options(t), kind.limits), make(map[string]*dest)}
				t.Cleanup(func() {
					w.t = t
					w.endTrace()
				})
				return w
			})
		})
	}
}

// endTrace is end for a world whose destinations may still be open.
func (w *traceWorld) endTrace() {
	for _, d := range w.dests {
		d.mu.Lock()
		if d.conn != nil {
			_ = d.conn.Close()
		}
		d.mu.Unlock()
	}
	w.end()
}
