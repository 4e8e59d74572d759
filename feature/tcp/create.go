package tcp

import (
	"context"
	"errors"
	"strings"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// maxURI bounds the URI of a channel, so that the smallest frame has room for data
// beside it.
const maxURI = 256

// errLimit refuses a connection over a limit.
var errLimit = errors.New("too many TCP connections are open")

// create handles createTcpConnection (AHP core, 13 "Create"). The checks run in
// the order the protocol gives; what needs the network runs off the reader.
func (f *Feature) create(_ context.Context, r *host.Request) jsonrpc.Reply {
	c, err := f.prepare(r)
	if err != nil {
		return jsonrpc.Reply{Err: f.refuse(err)}
	}
	rules := f.access.Destinations(r.Conn.Principal())
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) { return nil, f.open(ctx, c, rules) }}
}

// refuse counts a refusal and returns what the client may know of it: the kind,
// and that it is the limit's fault where it is.
func (f *Feature) refuse(err error) error {
	wire, reason := ahp.ErrTCPConnectionOpenFailed, "open_failed"
	switch {
	case errors.Is(err, errLimit):
		wire, reason = jsonrpc.Errorf(ahp.CodePermissionDenied, "%v", errLimit), "limit"
	case errors.Is(err, errDenied):
		wire, reason = ahp.ErrPermissionDenied, "denied"
	case errors.Is(err, ahp.ErrAlreadyExists):
		wire, reason = ahp.ErrAlreadyExists, "in_use"
	case errors.Is(err, jsonrpc.ErrInvalidParams):
		reason = "invalid"
		errors.As(err, &wire) // it says which member is wrong
	}
	f.count.refused.WithLabelValues(reason).Inc()
	return wire
}

// prepare makes everything that happens before any look-up.
func (f *Feature) prepare(r *host.Request) (*connection, error) {
	t, err := read(r)
	if err != nil {
		return nil, err
	}
	who := &seat{conn: r.Conn, principal: r.Conn.Principal()}
	if !f.mayReach(who.principal, t) {
		return nil, errDenied
	}
	if !f.admit(who) {
		return nil, errLimit
	}
	c := newConnection(f, r.Channel, who, t)
	if c.stream, err = f.h.Private(r.Conn, r.Channel, c); err != nil {
		f.release(who)
		return nil, err
	}
	if !f.join(c) {
		c.stream.Close()
		f.release(who)
		return nil, errLimit
	}
	return c, nil
}

// read checks the params.
func read(r *host.Request) (target, error) {
	var p ahp.CreateTCPConnectionParams
	if err := r.Decode(&p); err != nil {
		return target{}, err
	}
	if !validURI(p.Channel) {
		return target{}, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "channel must be an %s URI of at most %d characters", ahp.TCPPrefix, maxURI)
	}
	t, ok := parseTarget(p.Host, p.Port)
	if !ok {
		return target{}, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "host must be a DNS name or an IP address, port 1 to 65535")
	}
	return t, nil
}

// validURI reports whether a URI can name a TCP channel. It stands in messages as
// it is, so what JSON would escape is refused; no URI may hold it anyway.
func validURI(uri ahp.URI) bool {
	name, ok := strings.CutPrefix(uri, ahp.TCPPrefix)
	if !ok || name == "" || len(uri) > maxURI {
		return false
	}
	for i := range len(name) {
		if b := name[i]; b <= ' ' || b >= 0x7f || b == '"' || b == '\\' {
			return false
		}
	}
	return true
}

// mayReach decides what can be decided without a look-up.
func (f *Feature) mayReach(p host.Principal, t target) bool {
	rules := f.access.Destinations(p)
	if t.addr.IsValid() {
		return rules.allow("", t.addr, t.port)
	}
	return rules.mayAllow(t.name, t.port)
}

// open connects to the destination. The answer leaves when it is connected; on
// any failure the URI is free again.
func (f *Feature) open(ctx context.Context, c *connection, rules Rules) error {
	ctx, cancel := context.WithTimeoutCause(ctx, f.limits.Open, errOpenTimeout)
	defer cancel()
	if !c.opening(cancel) {
		return f.refuse(errEnded)
	}
	sock, err := f.dialer.connect(ctx, c.to, rules)
	if err != nil && errors.Is(context.Cause(ctx), errOpenTimeout) {
		f.h.LimitReached(limitOpen)
	}
	if err == nil && !c.opened(sock) {
		_ = sock.SetLinger(0)
		err = errors.Join(errEnded, sock.Close())
	}
	if err == nil && !c.allowed() { // it was, when it was asked for
		err = errDenied
	}
	if err == nil {
		f.count.opened.Inc()
		return nil
	}
	c.drop(endFailed)
	f.log.Info("tcp connection was not opened", "client", c.who.conn.ClientID(), "host", c.to.String(), "port", c.to.port, "err", err)
	return f.refuse(err)
}
