package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Causes that stay on the host.
var (
	errDenied      = errors.New("no address of the destination is allowed")
	errNoAddress   = errors.New("the name has no address")
	errElsewhere   = errors.New("the connection leads to another address than was dialled")
	errOpenTimeout = errors.New("opening took too long")
	errEnded       = errors.New("the client gave it up")
)

// maxCandidates bounds the addresses tried for one name.
const maxCandidates = 16

// stagger is how long an attempt may take before the next address is tried beside
// it (RFC 8305, 5).
const stagger = 250 * time.Millisecond

// dialer finds and connects to destinations.
type dialer struct {
	resolver Resolver
	dial     func(ctx context.Context, addr netip.AddrPort) (Socket, error)
}

func (d *dialer) setDefaults() {
	if d.resolver == nil {
		d.resolver = net.DefaultResolver
	}
	if d.dial == nil {
		d.dial = dialTCP
	}
}

// dialTCP connects with the machine's own network.
func dialTCP(ctx context.Context, addr netip.AddrPort) (Socket, error) {
	var nd net.Dialer
	conn, err := nd.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil // what "tcp" gives
}

// connect looks the name up, once, leaves out every address that is not allowed,
// and connects to the first of the others that answers.
func (d *dialer) connect(ctx context.Context, t target, rules Rules) (Socket, error) {
	addrs, err := d.candidates(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, errNoAddress
	}
	addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool { return !rules.allow(t.name, a, t.port) })
	if len(addrs) == 0 {
		return nil, errDenied
	}
	return d.race(ctx, addrs[:min(len(addrs), maxCandidates)], t.port)
}

// candidates are the addresses of a destination, unmapped, families in turns.
func (d *dialer) candidates(ctx context.Context, t target) ([]netip.Addr, error) {
	switch {
	case t.addr.IsValid():
		return []netip.Addr{t.addr}, nil
	case t.name == "localhost": // both families, whatever a hosts file says
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	found, err := d.resolver.LookupNetIP(ctx, "ip", t.name)
	if err != nil {
		return nil, fmt.Errorf("look up: %w", err)
	}
	var four, six []netip.Addr
	for _, a := range found {
		if a = a.Unmap(); a.Is4() {
			four = append(four, a)
		} else {
			six = append(six, a)
		}
	}
	return interleave(six, four), nil
}

// interleave begins with a; each address stands once.
func interleave(a, b []netip.Addr) (list []netip.Addr) {
	for i := range max(len(a), len(b)) {
		for _, from := range [][]netip.Addr{a, b} {
			if i < len(from) && !slices.Contains(list, from[i]) {
				list = append(list, from[i])
			}
		}
	}
	return list
}

// attempt is the outcome of connecting to one address.
type attempt struct {
	sock Socket
	err  error
}

// race connects to the addresses one after the other, the next one as soon as the
// one before has failed or taken a while. The first to answer wins; it returns
// when every attempt has ended.
func (d *dialer) race(ctx context.Context, addrs []netip.Addr, port uint16) (Socket, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	attempts := make(chan attempt, len(addrs))
	next := time.NewTimer(0)
	defer next.Stop()
	var errs []error
	for started, ended := 0, 0; ended < len(addrs); {
		select {
		case <-next.C:
			go d.try(ctx, netip.AddrPortFrom(addrs[started], port), attempts)
			if started++; started < len(addrs) {
				next.Reset(stagger)
			}
		case a := <-attempts:
			if ended++; a.err == nil {
				cancel()
				closeOthers(attempts, started-ended)
				return a.sock, nil
			}
			errs = append(errs, a.err)
			if started < len(addrs) {
				next.Reset(0)
			}
		}
	}
	return nil, errors.Join(append(errs, context.Cause(ctx))...)
}

// try is one attempt.
func (d *dialer) try(ctx context.Context, addr netip.AddrPort, attempts chan<- attempt) {
	sock, err := d.dial(ctx, addr)
	if err == nil && !leadsTo(sock, addr) {
		err = errors.Join(errElsewhere, sock.Close())
	}
	attempts <- attempt{sock, err}
}

// leadsTo reports whether the connection's peer is the address that was checked.
func leadsTo(sock Socket, addr netip.AddrPort) bool {
	peer, err := netip.ParseAddrPort(sock.RemoteAddr().String())
	return err == nil && peer.Addr().Unmap() == addr.Addr() && peer.Port() == addr.Port()
}

// closeOthers waits for n attempts that have lost.
func closeOthers(attempts <-chan attempt, n int) {
	for range n {
		if a := <-attempts; a.err == nil {
			_ = a.sock.Close()
		}
	}
}
