package simnet

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// firstEphemeralPort is where ports of dialling ends and of ":0" listeners start.
const firstEphemeralPort = 49152

// Network is a set of listeners and of the links that lead to them. All its
// methods may be called at any time from any goroutine.
type Network struct {
	seed uint64

	// mu guards every field below and all state of links, listeners and
	// connections. It is never held while waiting.
	mu        sync.Mutex
	profile   Profile
	links     map[linkKey]*Link
	listeners map[string]*listener
	nextPort  int
}

type linkKey struct{ from, addr string }

// New returns an empty network whose links are perfect until told otherwise.
// Equal seeds make equal random choices (jitter, split points).
func New(seed uint64) *Network {
	return &Network{
		seed:      seed,
		links:     make(map[linkKey]*Link),
		listeners: make(map[string]*listener),
		nextPort:  firstEphemeralPort,
	}
}

// SetDefault gives p to every link that comes into being after the call.
func (n *Network) SetDefault(p Profile) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.profile = p
}

// Link returns the link over which from reaches addr, made on first mention, so
// that it can be shaped before anybody dials. The two directions are [Up], from
// the dialling end to the listener, and [Down].
func (n *Network) Link(from, addr string) *Link {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.linkLocked(from, addr)
}

func (n *Network) linkLocked(from, addr string) *Link {
	key := linkKey{from, addr}
	k := n.links[key]
	if k == nil {
		k = &Link{net: n, key: key, profile: [2]Profile{n.profile, n.profile}}
		n.links[key] = k
	}
	return k
}

// Listen opens addr ("host:port", any host; port 0 picks a free one) for
// dialling. It fails with syscall.EADDRINUSE while somebody listens there.
func (n *Network) Listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen on simulated network: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if port == "0" {
		addr = n.ephemeralLocked(host)
	}
	if n.listeners[addr] != nil {
		return nil, opError("listen", Addr(addr), os.NewSyscallError("bind", syscall.EADDRINUSE))
	}
	ln := &listener{net: n, addr: Addr(addr), acceptable: sync.NewCond(&n.mu)}
	n.listeners[addr] = ln
	return ln, nil
}

func (n *Network) ephemeralLocked(host string) string {
	port := n.nextPort
	n.nextPort++
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// Dialer returns a dial function for from in the shape that net/http and the
// WebSocket transport take. It ignores the network argument.
func (n *Network) Dialer(from string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		return n.Dial(ctx, from, addr)
	}
}

// Dial connects from, which is any name and no port, to a listener at addr. It
// takes one round trip of the link and fails with syscall.ECONNREFUSED where
// nobody listens, where the link refuses, or where the listener's backlog is
// full. On a stalled link it waits until ctx ends. The connection is a *[Conn].
func (n *Network) Dial(ctx context.Context, from, addr string) (net.Conn, error) {
	if ctx.Err() != nil {
		return nil, opError("dial", Addr(addr), context.Cause(ctx))
	}
	d := n.startDial(from, addr)
	select {
	case <-d.done:
	case <-ctx.Done():
		d.abandon(context.Cause(ctx))
	}
	if d.err != nil {
		return nil, opError("dial", Addr(addr), d.err)
	}
	return d.conn, nil
}

// rng gives the random source of one direction of one connection.
func (n *Network) rng(k linkKey, ordinal int64, d Direction) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %d %d", k.from, k.addr, ordinal, d)
	return rand.New(rand.NewPCG(n.seed, h.Sum64()))
}

// Addr is an address of a simulated network, "host:port".
type Addr string

// Network returns "sim".
func (Addr) Network() string { return "sim" }

// String returns the address as it was given to Listen or made by Dial.
func (a Addr) String() string { return string(a) }

// opError dresses err as package net would, so that callers' handling of
// timeouts, resets and closed connections is put to the test unchanged.
func opError(op string, addr net.Addr, err error) error {
	return &net.OpError{Op: op, Net: Addr("").Network(), Addr: addr, Err: err}
}
