package tcp

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/simnet"
)

// changing is an access that changes.
type changing struct{ rules atomic.Pointer[Rules] }

func newChanging(rules Rules) *changing {
	a := new(changing)
	a.rules.Store(&rules)
	return a
}

func (a *changing) Destinations(host.Principal) Rules { return *a.rules.Load() }

// TestPolicyChanged: a connection to what may not be reached any more is reset on both
// sides, and the others notice nothing.
func TestPolicyChanged(t *testing.T) {
	access := newChanging(rulesOf(t, "127.0.0.1:80", "127.0.0.1:81", "db.example:82"))
	bubble(t, Options{Access: access}, host.Limits{}, func(w *world) {
		w.names["db.example"] = []string{"93.184.216.34"}
		ended := make(chan reading, 1)
		echo := func(conn *simnet.Conn) { _, _ = io.Copy(conn, conn); _ = conn.Close() }
		w.listen("127.0.0.1:80", func(conn *simnet.Conn) { ended <- readAll(conn); _ = conn.Close() })
		w.listen("127.0.0.1:81", echo)
		w.listen("93.184.216.34:82", echo)
		c := w.far(w.connect())
		denied := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, ours)
		kept := []*farStream{c.mustOpen("ahp-tcp:/t2", "127.0.0.1", 81, ours), c.mustOpen("ahp-tcp:/t3", "db.example", 82, ours)}
		w.f.PolicyChanged() // to the same
		rules := rulesOf(t, "127.0.0.1:81", "db.example:82")
		access.rules.Store(&rules)
		w.f.PolicyChanged()
		synctest.Wait()
		if r := readAll(denied); r.err == nil {
			t.Error("the client saw an orderly end")
		}
		if r := <-ended; r.err == nil {
			t.Error("the destination saw an orderly end")
		}
		for _, s := range kept {
			if _, err := s.Write([]byte("still here")); err != nil {
				t.Error(err)
			}
			if got := make([]byte, 10); true {
				if _, err := io.ReadFull(s, got); err != nil || string(got) != "still here" {
					t.Errorf("got %q, %v", got, err)
				}
			}
		}
		if err := c.create("ahp-tcp:/t4", "127.0.0.1", 80); !errors.Is(err, ahp.ErrPermissionDenied) {
			t.Errorf("a new one: %v", err)
		}
		if err := denied.unsubscribe(); err != nil {
			t.Error(err)
		}
		c.close()
	})
}

// TestPolicyChangedWhileItOpens: what was allowed when it was asked for is asked again
// when it is open.
func TestPolicyChangedWhileItOpens(t *testing.T) {
	access := newChanging(rulesOf(t, "127.0.0.1:80"))
	var w *world
	o := Options{Access: access, Dial: func(ctx context.Context, addr netip.AddrPort) (Socket, error) {
		access.rules.Store(new(Rules))
		w.f.PolicyChanged()
		return w.dial(ctx, addr)
	}}
	bubble(t, o, host.Limits{}, func(world *world) {
		w = world
		ended := make(chan reading, 1)
		w.listen("127.0.0.1:80", func(conn *simnet.Conn) { ended <- readAll(conn); _ = conn.Close() })
		c := w.far(w.connect())
		if err := c.create("ahp-tcp:/t1", "127.0.0.1", 80); !errors.Is(err, ahp.ErrPermissionDenied) {
			t.Errorf("got %v", err)
		}
		if r := <-ended; len(r.got) > 0 || r.err == nil {
			t.Errorf("the destination saw %q, %v", r.got, r.err)
		}
		if n := w.f.Len(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
		c.close()
	})
}
