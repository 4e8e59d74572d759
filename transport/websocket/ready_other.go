//go:build !unix

package websocket

import (
	"errors"
	"net"
)

// readiness is not to be had here: there is never one to read with.
type readiness struct{}

func newReadiness(net.Conn) *readiness { return nil }

func (*readiness) read() ([]byte, int, error) { return nil, 0, errors.ErrUnsupported }
