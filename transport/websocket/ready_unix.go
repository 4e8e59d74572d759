//go:build unix

package websocket

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// readiness waits for bytes on a socket and takes a buffer for them only when they are
// there, so that a quiet connection has none.
type readiness struct {
	socket syscall.RawConn
	try    func(fd uintptr) bool // attempt, made once

	// Of the last attempt.
	got []byte // in a pooled buffer
	err error
}

// newReadiness returns nil for what is no socket of the system's, such as one with TLS.
func newReadiness(nc net.Conn) *readiness {
	s, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	socket, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	r := &readiness{socket: socket}
	r.try = r.attempt
	return r
}

// read reads into a pooled buffer, which is the caller's.
func (r *readiness) read() (buf []byte, n int, err error) {
	if err = r.socket.Read(r.try); err == nil {
		err = r.err
	}
	buf, n = r.got[:cap(r.got)], len(r.got)
	r.got, r.err = nil, nil
	return buf, n, err
}

// attempt is false when there is nothing to read yet.
func (r *readiness) attempt(fd uintptr) bool {
	buf, n := takeBuffer(smallBytes), 0
	for {
		n, r.err = syscall.Read(int(fd), buf)
		if !errors.Is(r.err, syscall.EINTR) {
			break
		}
	}
	switch {
	case n > 0:
		r.got = buf[:n]
		return true
	case r.err == nil:
		r.err = io.EOF
	}
	giveBuffer(buf)
	return !errors.Is(r.err, syscall.EAGAIN)
}
