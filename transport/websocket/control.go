package websocket

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/gobwas/ws"
)

var (
	errCloseBody = errors.New("close frame with one byte")
	errCloseCode = errors.New("close code that may not be sent")
)

// pongFrame is the payload of a ping to be returned.
type pongFrame struct {
	n    int
	data [ws.MaxControlFramePayloadSize]byte
}

// control handles one control frame whose header was checked. A close comes
// back as an error.
func (c *Conn) control(h ws.Header) error {
	if err := c.need(int(h.Length)); err != nil {
		return err
	}
	b := c.in.buf[c.in.r : c.in.r+int(h.Length)]
	c.in.r += len(b)
	if h.Masked {
		ws.Cipher(b, h.Mask, 0)
	}
	switch h.OpCode {
	case ws.OpPing:
		c.pinged(b)
	case ws.OpClose:
		return closeReceived(b)
	}
	return nil // a pong, asked for or not, was a sign of life and nothing else
}

// closeReceived turns the body of a close frame into the error that ends the
// connection (RFC 6455, 5.5.1 and 7.4).
func closeReceived(b []byte) error {
	switch len(b) {
	case 0:
		return &transport.CloseError{Code: transport.CodeNoStatus, Remote: true}
	case 1:
		return violation(transport.CodeProtocol, errCloseBody)
	}
	code := transport.Code(binary.BigEndian.Uint16(b))
	if !code.Sendable() {
		return violation(transport.CodeProtocol, errCloseCode)
	}
	if !utf8.Valid(b[2:]) {
		return violation(transport.CodeInvalidUTF8, transport.ErrInvalidUTF8)
	}
	return &transport.CloseError{Code: code, Reason: string(b[2:]), Remote: true}
}

// pinged leaves the answer to a ping for the writer. A mailbox of one bounds a
// flood: RFC 6455 section 5.5.3 lets a pong answer the latest ping only.
func (c *Conn) pinged(b []byte) {
	c.stats.pingsReceived.Add(1)
	p := &pongFrame{n: len(b)}
	copy(p.data[:], b)
	if c.pong.Swap(p) != nil {
		c.stats.pongsCoalesced.Add(1)
	}
	if c.failed() == nil && c.tryLockWrite() {
		// Not written here: the reader must not wait for the peer to read.
		c.running.Go(c.sendPong)
	}
}

// sendPong writes the waiting pong. It was handed the write token.
func (c *Conn) sendPong() {
	_ = c.writeBatch(nil) // pongs go first in any batch; a failure ends the connection
	c.unlockWrite()
}
