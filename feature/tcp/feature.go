package tcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// Limits bound what clients can make the host do (AHP core, 13 "Security"). The
// zero value of a field means its default.
type Limits struct {
	// PerClient bounds the connections of one AHP connection, PerPrincipal those
	// of everybody who is authenticated as one. One counts until it is closed on
	// both sides. Defaults 256 and 1,024.
	PerClient, PerPrincipal int
	// Open is how long looking up a name and connecting may take. Default 10 s.
	Open time.Duration
	// Unsubscribed is how long a connection waits for its subscriber. Default 30 s.
	Unsubscribed time.Duration
	// FinalDrain is how long a destination may take nothing of what is left when
	// the client has closed in order. One that goes on taking has 30 times as long.
	// Default 10 s.
	FinalDrain time.Duration
}

// DefaultLimits are the bounds unless told otherwise.
var DefaultLimits = Limits{
	PerClient:    256,
	PerPrincipal: 1024,
	Open:         10 * time.Second,
	Unsubscribed: 30 * time.Second,
	FinalDrain:   10 * time.Second,
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits
	return Limits{
		PerClient:    cmp.Or(l.PerClient, d.PerClient),
		PerPrincipal: cmp.Or(l.PerPrincipal, d.PerPrincipal),
		Open:         cmp.Or(l.Open, d.Open),
		Unsubscribed: cmp.Or(l.Unsubscribed, d.Unsubscribed),
		FinalDrain:   cmp.Or(l.FinalDrain, d.FinalDrain),
	}
}

// Resolver looks names up; a net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Access says which destinations a principal may reach. It must be fast and safe
// for concurrent use.
type Access interface {
	Destinations(p host.Principal) Rules
}

// Options of the feature. The zero value lets everybody reach loopback.
type Options struct {
	// Allow are the destinations everybody may reach beside loopback.
	Allow Rules
	// Access replaces Allow and loopback: it says all that a principal may reach.
	// Nil: the same for everybody.
	Access Access
	Limits Limits
	// Resolver and Dial are the network; nil is the machine's. Dial connects to
	// exactly that address.
	Resolver Resolver
	Dial     func(ctx context.Context, addr netip.AddrPort) (Socket, error)
	Log      *slog.Logger // receives causes, names and addresses, never data; nil: discarded
}

// Feature implements host.Feature.
type Feature struct {
	access Access
	limits Limits
	dialer dialer
	log    *slog.Logger
	count  *counters
	h      *host.Host

	running sync.WaitGroup // loops of connections

	// mu guards what follows. It is a leaf.
	mu          sync.Mutex
	stopping    bool
	connections map[*connection]struct{}
	clients     map[*host.Conn]int
	principals  map[host.Principal]int
}

var _ host.Feature = (*Feature)(nil)

// seat is whom a connection is counted for.
type seat struct {
	conn      *host.Conn
	principal host.Principal
}

// sameForAll is the access of a host without a policy of its own.
type sameForAll struct{ rules Rules }

// Destinations implements Access.
func (s sameForAll) Destinations(host.Principal) Rules { return s.rules }

// New makes the feature.
func New(o Options) *Feature {
	f := &Feature{
		access: o.Access, limits: o.Limits.withDefaults(), log: o.Log, count: newCounters(),
		dialer:      dialer{resolver: o.Resolver, dial: o.Dial},
		connections: make(map[*connection]struct{}), clients: make(map[*host.Conn]int),
		principals: make(map[host.Principal]int),
	}
	if f.access == nil {
		f.access = sameForAll{append(Loopback(), o.Allow...)}
	}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	f.dialer.setDefaults()
	return f
}

// Register implements host.Feature.
func (f *Feature) Register(r *host.Registry) error {
	r.InitializeMember("tcpConnections", []byte(`{}`))
	r.Limits(f.limits.Rows())
	return errors.Join(
		r.Scheme(host.Scheme{Kind: ahp.KindTCP, Class: host.Private, Controls: []string{ahp.MethodTCPReset}}),
		r.Request(ahp.MethodCreateTCPConnection, f.create),
	)
}

// Start implements host.Feature.
func (f *Feature) Start(_ context.Context, h *host.Host) error {
	f.h = h
	if err := f.count.register(h.Metrics()); err != nil {
		return fmt.Errorf("register counters: %w", err)
	}
	return nil
}

// Stop implements host.Feature: every connection is reset.
func (f *Feature) Stop(context.Context) error {
	f.mu.Lock()
	f.stopping = true
	f.mu.Unlock()
	for _, c := range f.all() {
		c.abort(endStopped, true)
	}
	f.running.Wait()
	return nil
}

// PolicyChanged resets the connections that lead where their principal may not go any
// more. It must be called when Options.Access answers otherwise than before.
func (f *Feature) PolicyChanged() {
	for _, c := range f.all() {
		if !c.allowed() {
			c.abort(endDenied, true)
		}
	}
}

func (f *Feature) all() []*connection {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.connections))
}

// admit takes a place for a connection, if there is one.
func (f *Feature) admit(who *seat) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.stopping:
		return false
	case f.clients[who.conn] >= f.limits.PerClient:
		f.h.LimitReached(limitPerClient)
		return false
	case f.principals[who.principal] >= f.limits.PerPrincipal:
		f.h.LimitReached(limitPerPrincipal)
		return false
	}
	f.clients[who.conn]++
	f.principals[who.principal]++
	return true
}

// release gives the place back.
func (f *Feature) release(who *seat) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients[who.conn]--; f.clients[who.conn] == 0 {
		delete(f.clients, who.conn)
	}
	if f.principals[who.principal]--; f.principals[who.principal] == 0 {
		delete(f.principals, who.principal)
	}
}

// join makes a connection known, so that Stop ends it. It is false when that has
// begun.
func (f *Feature) join(c *connection) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopping {
		return false
	}
	f.connections[c] = struct{}{}
	f.count.connections.Set(float64(len(f.connections)))
	return true
}

// leave forgets a connection that is closed and whose client has left.
func (f *Feature) leave(c *connection) {
	f.mu.Lock()
	delete(f.connections, c)
	f.count.connections.Set(float64(len(f.connections)))
	f.mu.Unlock()
	f.release(c.who)
}

// Len is the number of connections that are open or not given up by their client.
func (f *Feature) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.connections)
}
