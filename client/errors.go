package client

import (
	"errors"
	"fmt"
	"syscall"
)

// Errors to match with errors.Is. Errors of the host arrive as *ahp.Error, with
// code and data, and match the sentinels of package ahp.
var (
	// ErrClosed: the client, or the handle of a channel, was closed.
	ErrClosed = errors.New("closed")
	// ErrConnectionLost is what every *LostError matches.
	ErrConnectionLost = errors.New("connection lost")
	// ErrGivenUp: the host cannot be reached and trying on would not help. The
	// error wraps the cause, such as ahp.ErrUnsupportedProtocolVersion or a
	// *websocket.HandshakeError.
	ErrGivenUp = errors.New("given up")
	// ErrUnknownOutcome: an action was sent, and no answer will come. The host
	// may have applied it or not. It is not sent again by itself.
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrNotSent: an action was never sent and never will be.
	ErrNotSent = errors.New("not sent")
	// ErrChannelGone: the channel does not exist any more, or this client may
	// not see it any more.
	ErrChannelGone = errors.New("channel is gone")
	// ErrUnreachableState: the state of the channel does not get through to this
	// client: each time it was fetched the connection was lost, or it is above
	// the limit of a message. The error wraps the loss. A smaller view may get
	// through (see SubscribeOptions.Turns).
	ErrUnreachableState = errors.New("state does not get through")
	// ErrSlowReader: a range over updates did not keep up. Nothing was lost
	// silently: when the loop goes on, it gets a snapshot and then updates.
	ErrSlowReader = errors.New("reader is too slow")
	// ErrTooLarge: a message is above Options.MaxMessageBytes. It was not sent.
	ErrTooLarge = errors.New("message too large")
	// ErrOverloaded: too much waits to be sent, or for an answer. Nothing was
	// sent.
	ErrOverloaded = errors.New("too much in flight")
	// ErrNoTCP: the host does not offer TCP connections.
	ErrNoTCP = errors.New("the host does not offer TCP connections")
	// ErrReset: a TCP connection was aborted by the destination, by the host, or
	// by this end because the host broke a rule. Such errors match
	// syscall.ECONNRESET as well.
	ErrReset = errors.New("connection reset")
	// ErrTurnGone: a turn was removed from its chat before it ended.
	ErrTurnGone = errors.New("turn was removed from the chat")
	// ErrNoActiveTurn: there is nothing to cancel.
	ErrNoActiveTurn = errors.New("no turn is active")
	// ErrNotWaiting: no tool call or question of that id waits for an answer.
	ErrNotWaiting = errors.New("nothing of that id waits for an answer")
)

// LostError fails a request whose connection was lost, or was not there. It
// matches ErrConnectionLost. Such a request never leaves later.
type LostError struct {
	Method string
	// Sent tells whether the request was handed to the connection: if so, the
	// host may have acted on it. If not, it certainly has not.
	Sent bool
	// Cause is why the connection was lost; nil if there was none to begin with.
	Cause error
}

// Error names the method and the cause.
func (e *LostError) Error() string {
	text := "not sent"
	if e.Sent {
		text = "sent, outcome unknown"
	}
	if e.Cause == nil {
		return fmt.Sprintf("%s: %v (%s)", e.Method, ErrConnectionLost, text)
	}
	return fmt.Sprintf("%s: %v (%s): %v", e.Method, ErrConnectionLost, text, e.Cause)
}

// Is reports whether target is ErrConnectionLost.
func (e *LostError) Is(target error) bool { return target == ErrConnectionLost }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Cause }

// RejectedError is the end of an action that the host refused.
type RejectedError struct {
	// Reason is the host's text for people.
	Reason string
}

// Error returns the reason.
func (e *RejectedError) Error() string { return "rejected by the host: " + e.Reason }

// resetError is the end of a TCP connection that was aborted.
type resetError struct{ cause error } // nil when the host said no more

func (e *resetError) Error() string {
	if e.cause == nil {
		return ErrReset.Error()
	}
	return fmt.Sprintf("%v: the host broke the protocol: %v", ErrReset, e.cause)
}

// Is reports whether target is ErrReset, or the system's word for it.
func (e *resetError) Is(target error) bool {
	return target == ErrReset || target == error(syscall.ECONNRESET)
}

func (e *resetError) Unwrap() error { return e.cause }

// permanentError marks a failure to connect that trying again cannot mend.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Permanent marks an error of a [DialFunc] as one that trying again cannot mend:
// the client gives up. A nil error stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// IsPermanent reports whether trying to connect again cannot help.
func IsPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

// givenUp is the error everything fails with once the client has given up.
func givenUp(cause error) error { return fmt.Errorf("%w: %w", ErrGivenUp, cause) }
