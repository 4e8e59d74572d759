package websocket

import (
	"bytes"
	"io"
	"net"
	"time"
)

// scriptConn is a socket whose peer sent in and then ended. What is written to
// it is kept; calls that write are counted.
type scriptConn struct {
	in     []byte
	chunk  int // the most one Read returns; 0: no bound
	out    []byte
	writes int
}

func (s *scriptConn) Read(b []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := len(s.in)
	if s.chunk > 0 {
		n = min(n, s.chunk)
	}
	n = copy(b, s.in[:n])
	s.in = s.in[n:]
	return n, nil
}

func (s *scriptConn) Write(b []byte) (int, error) {
	s.writes++
	s.out = append(s.out, b...)
	return len(b), nil
}

func (s *scriptConn) Close() error                     { return nil }
func (s *scriptConn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (s *scriptConn) RemoteAddr() net.Addr             { return &net.UnixAddr{Net: "unix"} }
func (s *scriptConn) SetDeadline(time.Time) error      { return nil }
func (s *scriptConn) SetReadDeadline(time.Time) error  { return nil }
func (s *scriptConn) SetWriteDeadline(time.Time) error { return nil }

// elasticConn is a socket with room for what its peer does not read yet. It
// knows no deadlines, so its peer must behave.
type elasticConn struct {
	scriptConn
	recv, send chan []byte
	done, gone chan struct{} // closed by this end, by the other
}

func elasticPair() (a, b *elasticConn) {
	ab, ba := make(chan []byte, 1024), make(chan []byte, 1024)
	a = &elasticConn{recv: ba, send: ab, done: make(chan struct{}), gone: make(chan struct{})}
	b = &elasticConn{recv: ab, send: ba, done: a.gone, gone: a.done}
	return a, b
}

func (e *elasticConn) Read(b []byte) (int, error) {
	if len(e.in) == 0 {
		select {
		case e.in = <-e.recv:
		default:
			select {
			case e.in = <-e.recv:
			case <-e.done:
				return 0, net.ErrClosed
			case <-e.gone:
				return 0, io.EOF
			}
		}
	}
	return e.scriptConn.Read(b)
}

func (e *elasticConn) Write(b []byte) (int, error) {
	select {
	case e.send <- bytes.Clone(b):
		return len(b), nil
	case <-e.done:
		return 0, net.ErrClosed
	}
}

func (e *elasticConn) Close() error {
	close(e.done)
	return nil
}
