package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// Errors of client services, to match with errors.Is. Those of calls match a
// *CallError.
var (
	// ErrNoServices: the host does not offer client services. Nothing was sent.
	ErrNoServices = errors.New("the host does not offer client services")
	// ErrInvalidMessage: params that are no JSON or nested too deeply, or a
	// method without a usable name. Nothing was sent.
	ErrInvalidMessage = errors.New("not a message for a service")
	// ErrServiceNotFound: there is no such service any more, or this client may
	// not see it.
	ErrServiceNotFound = errors.New("no such service")
	// ErrServiceDenied: this client may see the service and not call it.
	ErrServiceDenied = errors.New("calling the service is not permitted")
	// ErrServiceUnavailable: the service went away during the call.
	ErrServiceUnavailable = errors.New("the service went away")
	// ErrServiceTimeout: the time of the call is over.
	ErrServiceTimeout = errors.New("the service did not answer in time")
	// ErrServiceLimit: too many calls are in flight, or too much waits for the
	// service.
	ErrServiceLimit = errors.New("too much for the service")
	// ErrServiceBadResponse: what the service answered is malformed or too large,
	// or does not fit what the caller asked for.
	ErrServiceBadResponse = errors.New("bad response of the service")
	// ErrServiceCancelled: the call was given up by its caller.
	ErrServiceCancelled = errors.New("the call was cancelled")
)

// CallError is how a call to a service failed.
type CallError struct {
	ServiceID, Method string
	// Err is an *ahp.Error with code and data if the service or the host answered
	// with one; a *LostError, the cause of the context or a local refusal
	// otherwise.
	Err error
	// Relay tells why the host could not complete the call; empty for an error of
	// the service itself, and for what went wrong here.
	Relay string
	// MayHaveExecuted tells whether the service may have acted on the call: it
	// has if the error is the service's own. If false, it certainly has not.
	MayHaveExecuted bool

	ended error // what the caller's context said if its end was the end of the call
}

// Error names the method and what is known.
func (e *CallError) Error() string {
	text := fmt.Sprintf("call %s: %v", e.Method, e.Err)
	if e.MayHaveExecuted && !e.FromService() {
		text += " (it may have been executed)"
	}
	return text
}

// Unwrap returns Err.
func (e *CallError) Unwrap() error { return e.Err }

// FromService reports whether the service itself answered with the error.
func (e *CallError) FromService() bool {
	var wire *ahp.Error
	return e.Relay == "" && e.MayHaveExecuted && errors.As(e.Err, &wire)
}

// relayCodes are the codes of the host's own errors (AHP core, 15.4).
var relayCodes = map[error]int64{
	ErrServiceNotFound:    ahp.CodeNotFound,
	ErrServiceDenied:      ahp.CodePermissionDenied,
	ErrServiceUnavailable: ahp.CodeClientServiceUnavailable,
	ErrServiceTimeout:     ahp.CodeClientServiceTimeout,
	ErrServiceLimit:       ahp.CodeClientServiceLimitExceeded,
	ErrServiceBadResponse: ahp.CodeClientServiceBadResponse,
	ErrServiceCancelled:   jsonrpc.CodeRequestCancelled,
}

// Is matches the errors of client services. A service's own error never matches
// one of them, whatever its code: hosts mark theirs.
func (e *CallError) Is(target error) bool {
	switch {
	case target == ErrServiceTimeout && errors.Is(e.ended, context.DeadlineExceeded),
		target == ErrServiceCancelled && errors.Is(e.ended, context.Canceled),
		target == ErrServiceBadResponse && errors.Is(e.Err, jsonrpc.ErrBadResponse):
		return true
	}
	code, known := relayCodes[target]
	var wire *ahp.Error
	return known && e.Relay != "" && errors.As(e.Err, &wire) && wire.Code == code
}

// unsentError marks what failed before anything was sent.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

func notSent(err error) error { return &unsentError{err} }

func newCallError(ctx context.Context, service, method string, err error) *CallError {
	e := &CallError{ServiceID: service, Method: method, Err: err, MayHaveExecuted: true}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		e.ended = ctx.Err()
	}
	var wire *ahp.Error
	var lost *LostError
	var unsent *unsentError
	switch {
	case errors.As(err, &unsent):
		e.Err, e.MayHaveExecuted = unsent.err, false
	case errors.As(err, &lost):
		e.MayHaveExecuted = lost.Sent
	case errors.As(err, &wire):
		if failure, ok := relayFailure(wire); ok {
			e.Relay, e.MayHaveExecuted = failure.Reason, failure.MayHaveExecuted
		}
	case errors.Is(err, ErrNoServices), errors.Is(err, ErrTooLarge), errors.Is(err, ErrOverloaded), errors.Is(err, ErrClosed):
		e.MayHaveExecuted = false
	}
	return e
}

// relayFailure reads what hosts put into the data of their own errors.
func relayFailure(e *ahp.Error) (ahp.RelayFailure, bool) {
	raw, ok := jsonrpc.Member(e.Data, "relay")
	if !ok {
		return ahp.RelayFailure{}, false
	}
	var f ahp.RelayFailure
	if err := ahp.Unmarshal(raw, &f); err != nil || f.Reason == "" {
		f = ahp.RelayFailure{Reason: e.Message, MayHaveExecuted: true}
	}
	return f, true
}
