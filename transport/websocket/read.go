package websocket

import (
	"cmp"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/gobwas/ws"
)

// Read implements transport.Conn. When the peer breaks a rule, Read tells it
// with a close frame, waits at most a second for it to stop sending, and
// returns a *transport.CloseError whose Err names the rule.
func (c *Conn) Read() ([]byte, error) { return c.ReadOver(nil) }

// ReadOver implements transport.Recycler. A connection keeps one message of up to
// largeBytes; larger ones are shared by all that give them back.
func (c *Conn) ReadOver(spent []byte) ([]byte, error) {
	if !c.reading.try() {
		return nil, c.notReading()
	}
	msg, err := c.read(spent)
	c.reading.give()
	return msg, err
}

// read reads a message. It waits for the first bytes itself, and not further in where
// they are looked at: most connections wait most of the time, and what their stacks
// hold then is what they cost.
func (c *Conn) read(spent []byte) (msg []byte, err error) {
	if err := c.failed(); err != nil {
		return nil, err
	}
	c.in.recycle(spent)
	if c.in.r == c.in.w {
		err = c.fill()
	}
	if err == nil {
		msg, err = c.message()
	}
	if err != nil {
		err = c.readFailed(err)
	}
	return msg, err
}

func (c *Conn) notReading() error { return cmp.Or(c.failed(), errReading) }

// errReading is the answer to who breaks the rule of transport.Conn.
var errReading = errors.New("websocket: another Read is running")

// message reads frames until a message is whole.
func (c *Conn) message() ([]byte, error) {
	if msg := c.buffered(); msg != nil {
		return checkText(msg)
	}
	var msg []byte
	state := c.state()
	for {
		h, err := c.nextHeader(state)
		if err != nil {
			return nil, err
		}
		if h.OpCode.IsControl() {
			if err := c.control(h); err != nil {
				return nil, err
			}
			continue
		}
		if msg, err = c.fragment(msg, h); err != nil {
			return nil, err
		}
		if h.Fin {
			return checkText(msg)
		}
		state = state.Set(ws.StateFragmented)
	}
}

func (c *Conn) state() ws.State {
	if c.client {
		return ws.StateClientSide
	}
	return ws.StateServerSide
}

// nextHeader reads a header and checks what RFC 6455 section 5 says about it:
// reserved bits and opcodes, masking, fragments, shape of control frames.
func (c *Conn) nextHeader(state ws.State) (ws.Header, error) {
	h, err := c.header()
	if errors.Is(err, errLengthBit) {
		return h, violation(transport.CodeProtocol, err)
	}
	if err != nil {
		return h, err
	}
	if err := ws.CheckHeader(h, state); err != nil {
		return h, violation(transport.CodeProtocol, err)
	}
	return h, nil
}

// fragment appends the payload of a data frame to msg, unless it is binary or
// makes the message too long.
func (c *Conn) fragment(msg []byte, h ws.Header) ([]byte, error) {
	if h.OpCode == ws.OpBinary {
		return nil, violation(transport.CodeUnsupported, transport.ErrBinary)
	}
	if limit := c.opts.MaxMessageBytes; h.Length > int64(limit-len(msg)) {
		return nil, violation(transport.CodeTooBig,
			fmt.Errorf("%w: the limit is %d bytes", transport.ErrTooLarge, limit))
	}
	return c.payload(msg, h)
}

// checkText is applied to whole messages only: a sequence may be split over
// fragments (RFC 6455, 5.6), and failing a byte earlier would gain nothing.
func checkText(msg []byte) ([]byte, error) {
	if !utf8.Valid(msg) {
		return nil, violation(transport.CodeInvalidUTF8, transport.ErrInvalidUTF8)
	}
	if msg == nil {
		msg = []byte{}
	}
	return msg, nil
}

// violation is what ends a connection whose peer broke a rule.
func violation(code transport.Code, err error) error {
	if code == transport.CodeProtocol {
		err = fmt.Errorf("%w: %w", transport.ErrProtocol, err)
	}
	return &transport.CloseError{Code: code, Reason: err.Error(), Err: err}
}

// readFailed ends the connection after err and returns the first cause. The
// caller has the turn to read.
func (c *Conn) readFailed(err error) error {
	c.over = true
	var ce *transport.CloseError
	switch closed := errors.As(err, &ce); {
	case !closed:
		if c.end(fmt.Errorf("websocket: read: %w", err)) {
			c.drop()
		}
	case !c.end(ce):
	case ce.Remote:
		c.sendClose(ce.Code, ce.Reason, time.Now().Add(closeTimeout))
		c.drop()
	default:
		deadline := time.Now().Add(closeTimeout)
		if c.sendClose(ce.Code, ce.Reason, deadline) {
			c.discard(deadline)
		}
		c.drop()
	}
	return c.failed()
}
