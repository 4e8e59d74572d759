package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/causeway-ahp/causeway/transport"
)

// Read implements transport.Conn. The end of the stream between two lines is a
// close by the peer, without a code.
func (c *Conn) Read() ([]byte, error) {
	if err := c.failed(); err != nil {
		return nil, err
	}
	line, err := c.line()
	if err != nil {
		return nil, c.fail(err)
	}
	return line, nil
}

// line reads the next line and checks it.
func (c *Conn) line() ([]byte, error) {
	var line []byte
	for {
		part, err := c.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, streamEnd(err, len(line)+len(part))
		}
		line = append(line, part...) // the buffer belongs to the next read
		if err == nil {
			return c.check(bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'}))
		}
		if len(line) > c.opts.MaxMessageBytes+1 { // the last byte may be a carriage return
			return nil, c.tooLarge()
		}
	}
}

func (c *Conn) check(m []byte) ([]byte, error) {
	if len(m) > c.opts.MaxMessageBytes {
		return nil, c.tooLarge()
	}
	if !utf8.Valid(m) {
		return nil, refusal(transport.CodeInvalidUTF8, transport.ErrInvalidUTF8)
	}
	return m, nil
}

func (c *Conn) tooLarge() error {
	return refusal(transport.CodeTooBig,
		fmt.Errorf("%w: the limit is %d bytes", transport.ErrTooLarge, c.opts.MaxMessageBytes))
}

// refusal is what ends a connection whose peer broke a rule.
func refusal(code transport.Code, err error) error {
	return &transport.CloseError{Code: code, Reason: err.Error(), Err: err}
}

// streamEnd says what the end of the stream means after pending bytes of an
// unfinished line.
func streamEnd(err error, pending int) error {
	switch {
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("stdio: read: %w", err)
	case pending > 0:
		return fmt.Errorf("stdio: read: cut line of %d bytes: %w", pending, io.ErrUnexpectedEOF)
	default:
		return &transport.CloseError{Code: transport.CodeNoStatus, Remote: true, Err: io.EOF}
	}
}
