package service

import (
	"errors"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// checkResult holds what a service answered against the limits.
func (f *Feature) checkResult(result jsontext.Value) error {
	switch {
	case len(result) > f.limits.ResultBytes:
		f.reached(limitResult)
		return relayed(ahp.ErrClientServiceBadResponse, "result-too-large", true)
	case deeper(result, f.limits.Depth):
		f.reached(limitDepth)
		return relayed(ahp.ErrClientServiceBadResponse, "result-too-deep", true)
	}
	return nil
}

// failure is what a caller is told of a call that failed: the service's own error
// within bounds (R15), otherwise one of the relay's.
func (f *Feature) failure(err error, executed bool) error {
	var own *ahp.Error
	switch {
	case errors.Is(err, errCancelled):
		return relayed(jsonrpc.ErrRequestCancelled, "cancelled", executed)
	case errors.Is(err, errTimedOut):
		f.reached(limitTimeout)
		return relayed(ahp.ErrClientServiceTimeout, "timeout", executed)
	case errors.Is(err, errUnregistered):
		return relayed(ahp.ErrClientServiceUnavailable, "unregistered", executed)
	case errors.Is(err, errStopping):
		return relayed(ahp.ErrClientServiceUnavailable, "shutdown", executed)
	case errors.Is(err, jsonrpc.ErrClosed): // before the rest: its cause may be anything
		return relayed(ahp.ErrClientServiceUnavailable, "disconnected", executed)
	case errors.Is(err, host.ErrRelayFull):
		return relayed(limitError("too much waits for the service"), "queue-full", executed)
	case errors.Is(err, jsonrpc.ErrBadResponse):
		return relayed(ahp.ErrClientServiceBadResponse, "malformed", executed)
	case errors.As(err, &own):
		return f.passed(own)
	}
	return err
}

// passed is an error of a service as its caller gets it.
func (f *Feature) passed(e *ahp.Error) *ahp.Error {
	limit := ""
	switch {
	case len(e.Message) > f.limits.ErrorMessageBytes:
		limit = limitMessage
	case len(e.Data) > f.limits.ErrorDataBytes:
		limit = limitData
	case deeper(e.Data, f.limits.Depth):
		limit = limitDepth
	}
	if limit != "" {
		f.reached(limit)
		return relayed(ahp.ErrClientServiceBadResponse, "error-too-large", true)
	}
	data, found := withoutRelay(e.Data)
	if !found {
		return e
	}
	return &ahp.Error{Code: e.Code, Message: e.Message, Data: data}
}

// withoutRelay removes the member relay from error data, so that no service can
// pass its error off as one of the host's (AHP core, 15.4).
func withoutRelay(data jsontext.Value) (rest jsontext.Value, found bool) {
	if _, found = jsonrpc.Member(data, "relay"); !found {
		return data, false
	}
	rest = append(rest, '{')
	jsonrpc.EachMember(data, func(name []byte, v jsontext.Value) bool {
		if string(name) == "relay" {
			return true
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest, _ = jsontext.AppendQuote(rest, name) // broken Unicode becomes U+FFFD
		rest = append(append(rest, ':'), v...)
		return true
	})
	return append(rest, '}'), true
}
