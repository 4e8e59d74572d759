package simnet

import (
	"net"
	"sync"
)

// maxBacklog bounds the connections that wait to be accepted. One more is
// refused and counted as such, since a test wants an error and not a hang.
const maxBacklog = 128

// listener is a net.Listener of a simulated network.
type listener struct {
	net  *Network
	addr Addr

	// Guarded by net.mu.
	acceptable *sync.Cond
	backlog    []*Conn
	closed     bool
}

var _ net.Listener = (*listener)(nil)

// Accept waits for the next connection. After Close it fails with net.ErrClosed.
func (ln *listener) Accept() (net.Conn, error) {
	ln.net.mu.Lock()
	defer ln.net.mu.Unlock()
	for len(ln.backlog) == 0 && !ln.closed {
		ln.acceptable.Wait()
	}
	if ln.closed {
		return nil, opError("accept", ln.addr, net.ErrClosed)
	}
	c := ln.backlog[0]
	ln.backlog[0] = nil
	ln.backlog = ln.backlog[1:]
	return c, nil
}

// Close frees the address and resets what nobody accepted. Accepted connections
// live on.
func (ln *listener) Close() error {
	ln.net.mu.Lock()
	defer ln.net.mu.Unlock()
	if ln.closed {
		return opError("close", ln.addr, net.ErrClosed)
	}
	ln.closed = true
	delete(ln.net.listeners, ln.addr.String())
	for _, c := range ln.backlog {
		c.abort = true
		c.closeLocked()
	}
	ln.backlog = nil
	ln.acceptable.Broadcast()
	return nil
}

// Addr returns the address, with the port that was picked for port 0.
func (ln *listener) Addr() net.Addr { return ln.addr }
