package transport

import (
	"errors"
	"strconv"
	"strings"
)

// Causes that end a connection. Match them with errors.Is.
var (
	// ErrClosed matches every *CloseError, whoever closed.
	ErrClosed = errors.New("connection closed")
	// ErrTooLarge means that a message was above the size limit of its receiver.
	ErrTooLarge = errors.New("message too large")
	// ErrInvalidUTF8 means that a message or a close reason was not UTF-8.
	ErrInvalidUTF8 = errors.New("invalid utf-8")
	// ErrBinary means that binary data came where AHP demands text.
	ErrBinary = errors.New("binary message")
	// ErrProtocol means that the peer broke the framing of the carrier.
	ErrProtocol = errors.New("framing violated")
	// ErrWriteTimeout means that the peer took no data for the write timeout.
	ErrWriteTimeout = errors.New("write timed out")
	// ErrPeerSilent means that nothing arrived, not even an answer to a ping,
	// within the limit.
	ErrPeerSilent = errors.New("peer is silent")
	// ErrUnframeable means that an outgoing message cannot be expressed on the
	// carrier, such as a raw line feed on stdio. Nothing of the batch was sent
	// and the connection goes on.
	ErrUnframeable = errors.New("message cannot be framed")
)

// CloseError is the end of a connection that was closed rather than broken.
// It matches ErrClosed.
type CloseError struct {
	// Code is what was sent or received; CodeNoStatus if a close came without.
	Code Code
	// Reason is text for people, from the peer if Remote.
	Reason string
	// Remote says that the peer closed.
	Remote bool
	// Err is what made this side close, such as ErrTooLarge; nil if it was
	// simply asked to.
	Err error
}

// Error names the side, the code and the reason.
func (e *CloseError) Error() string {
	var b strings.Builder
	b.WriteString("closed here: ")
	if e.Remote {
		b.Reset()
		b.WriteString("closed by peer: ")
	}
	b.WriteString(e.Code.String())
	if e.Reason != "" {
		b.WriteString(": " + strconv.Quote(e.Reason)) // a peer's text may hold control characters
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns Err.
func (e *CloseError) Unwrap() error { return e.Err }

// Is reports whether target is ErrClosed.
func (e *CloseError) Is(target error) bool { return target == ErrClosed }
