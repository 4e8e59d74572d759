package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
)

// errBlocked means that an endpoint leads where none may.
var errBlocked = errors.New("the address is not a public one")

// dialer resolves a name and dials what it resolved to, if may lets it. The
// address that is checked is the one that is dialled.
func (w *Webhook) dialer(may func(netip.Addr) bool) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, hostport string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		host, port, err := net.SplitHostPort(hostport)
		if err != nil {
			return nil, err
		}
		addrs, err := w.lookup(ctx, host)
		if err != nil {
			return nil, err
		}
		err = errBlocked
		for _, addr := range addrs {
			if !may(addr) {
				continue
			}
			var conn net.Conn
			if conn, err = w.opts.Dial(ctx, network, net.JoinHostPort(addr.String(), port)); err == nil {
				return conn, nil
			}
		}
		return nil, err
	}
}

func (w *Webhook) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	return w.opts.Resolve(ctx, host)
}
