package host

import (
	"errors"
	"fmt"

	"github.com/causeway-ahp/causeway/transport"
)

// CloseCause is why the host ended a connection. It is the name in metrics, and
// the text a peer sees as the close reason.
type CloseCause string

// Close causes.
const (
	CloseOverflow    CloseCause = "overflow"     // the peer does not read fast enough
	CloseMalformed   CloseCause = "malformed"    // too many malformed messages
	CloseHandshake   CloseCause = "handshake"    // no handshake in time
	CloseVersion     CloseCause = "version"      // no common protocol version
	CloseReplaced    CloseCause = "replaced"     // the client reconnected elsewhere
	CloseDenied      CloseCause = "denied"       // it follows what it may not see any more
	CloseShutdown    CloseCause = "shutdown"     // the host ends
	CloseTooLarge    CloseCause = "too-large"    // a message over the bound
	CloseInvalidText CloseCause = "invalid-text" // a message that is not UTF-8
	CloseBinary      CloseCause = "binary"       // a message that is not text
	CloseProtocol    CloseCause = "protocol"     // the carrier's rules were broken
	CloseFlood       CloseCause = "flood"        // it sends faster than it may, for too long
	CloseInternal    CloseCause = "internal"     // the host could not go on
	CloseFlow        CloseCause = "flow-control" // the rules of windowed delivery were broken
	CloseSilent      CloseCause = "silent"       // the peer stopped answering
	CloseStore       CloseCause = "store"        // what it waits for cannot be stored
	ClosePeer        CloseCause = "peer"         // the peer went away
)

// closeCauses are all of them, so that each is counted from nothing.
var closeCauses = []CloseCause{
	CloseOverflow, CloseMalformed, CloseHandshake, CloseVersion, CloseReplaced, CloseDenied, CloseShutdown, CloseTooLarge,
	CloseInvalidText, CloseBinary, CloseProtocol, CloseFlood, CloseInternal, CloseFlow, CloseSilent, CloseStore, ClosePeer,
}

// Error implements error: a cause is the cause of a connection's context.
func (c CloseCause) Error() string { return "connection closed: " + string(c) }

// code is the close code a carrier tells the peer.
func (c CloseCause) code() transport.Code {
	switch c {
	case CloseOverflow, CloseStore:
		return transport.CodeTryAgain
	case CloseMalformed, CloseHandshake, CloseReplaced, CloseFlood, CloseDenied, CloseFlow:
		return transport.CodePolicy
	case CloseShutdown:
		return transport.CodeGoingAway
	case CloseTooLarge:
		return transport.CodeTooBig
	case CloseInvalidText:
		return transport.CodeInvalidUTF8
	case CloseBinary:
		return transport.CodeUnsupported
	case CloseProtocol:
		return transport.CodeProtocol
	}
	return transport.CodeNormal
}

// causeOf tells why a carrier's Read or Write failed.
func causeOf(err error) CloseCause {
	switch {
	case errors.Is(err, transport.ErrTooLarge):
		return CloseTooLarge
	case errors.Is(err, transport.ErrInvalidUTF8):
		return CloseInvalidText
	case errors.Is(err, transport.ErrBinary):
		return CloseBinary
	case errors.Is(err, transport.ErrProtocol):
		return CloseProtocol
	case errors.Is(err, transport.ErrPeerSilent), errors.Is(err, transport.ErrWriteTimeout):
		return CloseSilent
	}
	return ClosePeer
}

// closedError is the cause of a connection's context once it has ended.
type closedError struct {
	cause CloseCause
	err   error // what the carrier reported, nil when the host decided
}

func (e *closedError) Error() string {
	if e.err == nil {
		return e.cause.Error()
	}
	return fmt.Sprintf("%v: %v", e.cause, e.err)
}

func (e *closedError) Unwrap() []error {
	if e.err == nil {
		return []error{e.cause}
	}
	return []error{e.cause, e.err}
}
