//go:build !unix

package websocket

import "net"

// readiness is not to be had here.
type readiness struct{}

func newReadiness(net.Conn) *readiness { return nil }

func (*readiness) read() ([]byte, int, error) { panic("websocket: no readiness here") }
