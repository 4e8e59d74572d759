package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// TCPOptions are the details of a TCP connection. The zero value is ready for use.
type TCPOptions struct {
	// Window is what this end is ready to receive before it is read. Zero
	// fields: 4 MiB, in frames of 256 KiB.
	Window Window
}

// maxTCPMessage bounds a tcp/data that a host sends in frames, which it should
// not do.
const maxTCPMessage = 4 << 20

// TCPConn is a TCP connection that the host has opened on its network. It is a
// net.Conn with the half-close and the abort of a *net.TCPConn; all methods may
// be called concurrently. It ends with the connection to the host and is never
// resumed (AHP core, 13).
type TCPConn struct {
	c             *Client
	sub           *subscription
	local, remote tcpAddr
	head          []byte // of a tcp/data
	payload       int    // the bytes that fill one

	writing       chan struct{} // holds a token while a Write runs
	room          chan struct{} // holds a token when a Write should look again
	readable      chan struct{} // holds a token when a Read should
	readDeadline  deadline
	writeDeadline deadline
	done          chan struct{} // closed after cause is set
	cause         error         // why nothing can be read or written any more

	sent, received atomic.Int64

	// mu is a leaf and guards what was received.
	mu     sync.Mutex
	in     tcpBuffer
	ended  bool // the host has sent tcp/eof
	closed bool // nothing is to be received any more

	// The client's lock guards what is to be sent, and the end.
	out       []*frame // charged to the window, oldest first
	outBytes  int
	wantEOF   bool
	sentEOF   bool
	hostEOF   bool
	left      bool // the subscription has ended
	abortive  bool // Close aborts
	lingering *time.Timer
}

var _ net.Conn = (*TCPConn)(nil)

// DialTCP lets the host open a TCP connection: host is a name or an IP address on
// the host's network, which resolves it. A connection opened is subscribed and
// ready for use; ctx bounds the opening only.
//
// The error is a *net.OpError and matches ahp.ErrPermissionDenied when the host
// does not allow the destination or has enough connections of this client,
// ahp.ErrTCPConnectionOpenFailed when the destination cannot be reached,
// jsonrpc.ErrInvalidParams for an impossible destination, ErrNoTCP when the host
// does not offer TCP connections at all, ErrConnectionLost without a connection
// to the host, or the cause of ctx.
func (c *Client) DialTCP(ctx context.Context, host string, port int, o TCPOptions) (*TCPConn, error) {
	remote := tcpAddr(net.JoinHostPort(host, strconv.Itoa(port)))
	t, err := c.dialTCP(ctx, host, port, remote, o)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: remote, Err: err}
	}
	return t, nil
}

// DialContext is DialTCP in the shape of net.Dialer.DialContext, for an
// http.Transport and its kind. The network must be tcp, tcp4 or tcp6, which the
// host is not told: it chooses among the addresses of a name.
func (c *Client) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, &net.OpError{Op: "dial", Net: network, Addr: tcpAddr(address), Err: net.UnknownNetworkError(network)}
	}
	host, name, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	port, err := strconv.ParseUint(name, 10, 16)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: tcpAddr(address), Err: &net.AddrError{Err: "invalid port", Addr: address}}
	}
	t, err := c.DialTCP(ctx, host, int(port), TCPOptions{})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (c *Client) dialTCP(ctx context.Context, host string, port int, remote tcpAddr, o TCPOptions) (*TCPConn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l, err := c.liveLink(ahp.MethodCreateTCPConnection)
	if err != nil {
		return nil, err
	}
	if !c.OffersTCP() {
		return nil, ErrNoTCP
	}
	t := newTCPConn(c, l, remote, o.Window.limits())
	err = l.call(ctx, ahp.MethodCreateTCPConnection, ahp.CreateTCPConnectionParams{Channel: t.sub.uri, Host: host, Port: port}, nil)
	if err == nil {
		err = t.subscribe(ctx, l)
	}
	if err != nil {
		t.giveUp(l, err)
		return nil, err
	}
	return t, nil
}

// OffersTCP reports whether the host has said that it opens TCP connections.
func (c *Client) OffersTCP() bool {
	info := c.HostInfo()
	if info == nil {
		return false
	}
	_, ok := jsonrpc.Member(info.Extra, "tcpConnections")
	return ok
}

func newTCPConn(c *Client, l *link, remote tcpAddr, offer flow.Limits) *TCPConn {
	uri := ahp.TCPPrefix + "/" + newID()
	t := &TCPConn{
		c: c, remote: remote, local: tcpAddr(uri), head: dataHead(uri),
		writing: make(chan struct{}, 1), room: make(chan struct{}, 1), readable: make(chan struct{}, 1),
		done: make(chan struct{}),
	}
	t.sub = newSubscription(l, uri, offer, maxTCPMessage, t)
	return t
}

// errNotWindowed is a host that subscribes a TCP channel without windows, which it
// must not (AHP core, 13 "Subscribe").
var errNotWindowed = errors.New("the host subscribed the TCP channel without flow control")

func (t *TCPConn) subscribe(ctx context.Context, l *link) error {
	return l.subscribe(ctx, t.sub, ahp.SubscribeParams{Channel: t.sub.uri}, func(r *ahp.SubscribeResult, err error) error {
		switch {
		case err != nil:
			return err
		case r.FlowControl == nil:
			return errNotWindowed
		}
		return t.opened(r.FlowControl)
	})
}

// opened takes the host's answer, on the reader.
func (t *TCPConn) opened(fc *ahp.FlowControl) error {
	if err := t.sub.accept(fc); err != nil {
		return err
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	around := 2 * int64(len(t.head)+len(dataTail))
	t.payload = min(flow.Base64Payload(t.sub.window.Limits().MaxFrameBytes, around), largeChunk)
	return nil
}

// giveUp ends a connection that could not be opened whole. A host that was asked
// and may have opened it is told.
func (t *TCPConn) giveUp(l *link, err error) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	l.closeSubscriptionLocked(t.sub)
	t.left = true
	var answered *ahp.Error
	if !errors.As(err, &answered) && !l.dropped {
		l.pushLocked(outgoing{msg: controlText(ahp.MethodUnsubscribe, t.sub.uri)}) // behind the request
	}
}

// LocalAddr returns the URI of the channel: this end has no address.
func (t *TCPConn) LocalAddr() net.Addr { return t.local }

// RemoteAddr returns the destination as it was given to DialTCP.
func (t *TCPConn) RemoteAddr() net.Addr { return t.remote }

// Transferred returns how many bytes were taken from writers and given to
// readers so far.
func (t *TCPConn) Transferred() (sent, received int64) {
	return t.sent.Load(), t.received.Load()
}

// Done is closed when nothing more can be read or written: after Close or Abort, a
// reset, or the loss of the connection to the host. An end in order does not close
// it.
func (t *TCPConn) Done() <-chan struct{} { return t.done }

// SetDeadline sets both deadlines. Calls that are past one fail with
// os.ErrDeadlineExceeded; the connection stays usable.
func (t *TCPConn) SetDeadline(at time.Time) error {
	return cmp.Or(t.SetReadDeadline(at), t.SetWriteDeadline(at))
}

// SetReadDeadline sets the deadline of Read.
func (t *TCPConn) SetReadDeadline(at time.Time) error { return t.setDeadline(&t.readDeadline, at) }

// SetWriteDeadline sets the deadline of Write. A Write it ends has sent the bytes
// it counts.
func (t *TCPConn) SetWriteDeadline(at time.Time) error { return t.setDeadline(&t.writeDeadline, at) }

func (t *TCPConn) setDeadline(d *deadline, at time.Time) error {
	if isClosed(t.done) {
		return t.cause
	}
	d.set(at)
	return nil
}

// tcpAddr is an address of a forwarded connection.
type tcpAddr string

// Network implements net.Addr.
func (tcpAddr) Network() string { return "tcp" }

// String implements net.Addr.
func (a tcpAddr) String() string { return string(a) }
