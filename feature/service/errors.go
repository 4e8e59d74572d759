package service

import (
	"errors"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// Why a call is settled by the host. They never leave it as they are.
var (
	errCancelled    = errors.New("the caller cancelled")
	errTimedOut     = errors.New("the service did not answer in time")
	errCallerGone   = errors.New("the caller has gone")
	errUnregistered = errors.New("the service was unregistered")
	errStopping     = errors.New("the host is shutting down")
)

// What a peer is told of malformed params. They are shared: a notification that
// is dropped for one must cost nothing.
var (
	errServiceID = invalid("serviceId must be a string")
	errChannel   = invalid("client services belong to channel %s", ahp.ClientServicesURI)
	errTimeoutMs = invalid("timeoutMs must be an integer of at least 1")
)

func invalid(format string, args ...any) *ahp.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, format, args...)
}

func limitError(message string) *ahp.Error {
	return jsonrpc.Errorf(ahp.CodeClientServiceLimitExceeded, "%s", message)
}

// relayed marks an error of a call as the host's own (AHP core, 15.4). executed
// says that the service may have acted on the call.
func relayed(e *ahp.Error, reason string, executed bool) *ahp.Error {
	return e.WithData(ahp.RelayData{Relay: ahp.RelayFailure{Reason: reason, MayHaveExecuted: executed}})
}
