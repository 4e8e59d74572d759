package tcp

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/internal/simnet"
)

// alternating is a resolver that answers something else every other time.
type alternating struct {
	mu    sync.Mutex
	turns int
	lists [][]netip.Addr
}

func (a *alternating) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turns++
	return a.lists[(a.turns-1)%len(a.lists)], nil
}

// TestRebinding: a name is looked up once and the address that was judged is the
// one that is dialled, however often the answer changes (cases 70 and 72).
func TestRebinding(t *testing.T) {
	public, inside := netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("169.254.169.254")
	names := &alternating{lists: [][]netip.Addr{{public}, {inside}, {inside, public}, {netip.MustParseAddr("::ffff:0.0.0.0")}}}
	dialled := make(map[netip.Addr]int)
	var w *world
	o := Options{
		Resolver: names, Allow: rulesOf(t, "*:80"), Limits: Limits{PerClient: 10_000, PerPrincipal: 10_000},
		Dial: func(ctx context.Context, addr netip.AddrPort) (Socket, error) {
			dialled[addr.Addr()]++ // one at a time in this test
			return w.dial(ctx, addr)
		},
	}
	bubble(t, o, host.Limits{}, func(world *world) {
		w = world
		w.listen("93.184.216.34:80", func(conn *simnet.Conn) { _ = conn.Close() })
		c := w.far(w.connect())
		rounds := scale.Count(1000) * 4
		for i := range rounds {
			uri := ahp.TCPPrefix + "/" + strconv.Itoa(i)
			err := c.create(uri, "rebound.example", 80)
			if denied := i%4 == 1 || i%4 == 3; denied != errors.Is(err, ahp.ErrPermissionDenied) {
				t.Fatalf("round %d: %v", i, err)
			}
		}
		if names.turns != rounds || dialled[public] != rounds/2 || len(dialled) != 1 {
			t.Errorf("%d look-ups in %d rounds, dialled %v", names.turns, rounds, dialled)
		}
		c.close()
	})
}

// TestElsewhere: a connection that turns out to lead to another address than the
// one that was judged is closed.
func TestElsewhere(t *testing.T) {
	var w *world
	o := Options{Dial: func(ctx context.Context, _ netip.AddrPort) (Socket, error) {
		return w.dial(ctx, netip.MustParseAddrPort("10.0.0.1:80"))
	}}
	bubble(t, o, host.Limits{}, func(world *world) {
		w = world
		ended := make(chan reading, 1)
		w.listen("10.0.0.1:80", func(conn *simnet.Conn) { ended <- readAll(conn); _ = conn.Close() })
		c := w.far(w.connect())
		if err := c.create("ahp-tcp:/t1", "127.0.0.1", 80); !errors.Is(err, ahp.ErrTCPConnectionOpenFailed) {
			t.Errorf("got %v", err)
		}
		if r := <-ended; len(r.got) > 0 {
			t.Errorf("%q was sent", r.got)
		}
		c.close()
	})
}

// TestCandidates: every address is tried, the next one when one refuses or hangs,
// in bounded time; localhost means both families (case 57).
func TestCandidates(t *testing.T) {
	tests := []struct {
		name   string
		listen []string
		stall  []string
		host   string
		want   string // the address that is connected to, "" for none
		within time.Duration
	}{
		{"only IPv4", []string{"127.0.0.1:80"}, nil, "localhost", "127.0.0.1:80", 0},
		{"only IPv6", []string{"[::1]:80"}, nil, "localhost", "[::1]:80", 0},
		{"both", []string{"127.0.0.1:80", "[::1]:80"}, nil, "localhost", "127.0.0.1:80", 0},
		{"neither", nil, nil, "localhost", "", 0},
		{"the first hangs", []string{"[::1]:80"}, []string{"127.0.0.1:80"}, "localhost", "[::1]:80", stagger},
		{"all hang", nil, []string{"127.0.0.1:80", "[::1]:80"}, "localhost", "", 10 * time.Second},
		{"IPv6 first", []string{"127.0.0.1:80", "[::1]:80"}, nil, "both.example", "[::1]:80", 0},
		{"a denied one among them", []string{"127.0.0.1:80"}, nil, "mixed.example", "127.0.0.1:80", 0},
		{"many", []string{"127.0.0.9:80"}, nil, "many.example", "127.0.0.9:80", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, Options{}, host.Limits{}, func(w *world) {
				w.names["both.example"] = []string{"127.0.0.1", "::1"}
				w.names["mixed.example"] = []string{"10.0.0.1", "127.0.0.1", "169.254.169.254", "::"}
				w.names["many.example"] = []string{"127.0.0.2", "127.0.0.3", "127.0.0.2", "::1", "127.0.0.9"}
				reached := make(chan string, 4)
				for _, addr := range tt.listen {
					w.listen(addr, func(conn *simnet.Conn) { reached <- addr; _ = conn.Close() })
				}
				for _, addr := range tt.stall {
					w.net.Link("host", addr).Stall()
				}
				c, began := w.far(w.connect()), time.Now()
				err := c.create("ahp-tcp:/t1", tt.host, 80)
				if took := time.Since(began); took != tt.within {
					t.Errorf("took %v, want %v", took, tt.within)
				}
				synctest.Wait()
				got := ""
				if len(reached) > 0 {
					got = <-reached
				}
				if got != tt.want || (err == nil) != (tt.want != "") || len(reached) > 0 {
					t.Errorf("reached %q and %d more, %v, want %q", got, len(reached), err, tt.want)
				}
				c.close()
			})
		})
	}
}
