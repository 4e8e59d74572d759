package jsonrpc

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Codes of JSON-RPC 2.0, section 5.1, and the one that LSP and its libraries
// use for a cancelled request (AHP core, 2.2 and 15.5).
const (
	CodeParse            int64 = -32700
	CodeInvalidRequest   int64 = -32600
	CodeMethodNotFound   int64 = -32601
	CodeInvalidParams    int64 = -32602
	CodeInternal         int64 = -32603
	CodeRequestCancelled int64 = -32800
)

// One value for each code, to be matched with errors.Is and answered as they
// are. They are shared: do not write to them.
var (
	ErrParse            = &Error{Code: CodeParse, Message: "not valid JSON"}
	ErrInvalidRequest   = &Error{Code: CodeInvalidRequest, Message: "invalid request"}
	ErrMethodNotFound   = &Error{Code: CodeMethodNotFound, Message: "method not found"}
	ErrInvalidParams    = &Error{Code: CodeInvalidParams, Message: "invalid params"}
	ErrInternal         = &Error{Code: CodeInternal, Message: "internal error"}
	ErrRequestCancelled = &Error{Code: CodeRequestCancelled, Message: "request cancelled"}
)

// Errors that stay on this side of the wire.
var (
	// ErrClosed is what a [ConnectionError] matches.
	ErrClosed = errors.New("connection closed")
	// ErrTooComplex marks a message beyond MaxDepth or MaxValues; the other two
	// match it. The connection is to be closed (AHP core, 17, 20).
	ErrTooComplex    = errors.New("message too complex")
	ErrTooDeep       = fmt.Errorf("%w: beyond MaxDepth", ErrTooComplex)
	ErrTooManyValues = fmt.Errorf("%w: beyond MaxValues", ErrTooComplex)
	// ErrTooManyMalformed is returned by [Conn.Receive] when a peer has sent
	// MaxMalformed malformed messages within a minute.
	ErrTooManyMalformed = errors.New("too many malformed messages")
	// ErrBadResponse fails a call whose response broke the rules of JSON-RPC or
	// could not be decoded into what the caller asked for.
	ErrBadResponse = errors.New("bad response")
)

// Error is a JSON-RPC error as it crosses the wire. Treat a value as immutable
// once it has been returned to somebody else.
type Error struct {
	Code    int64          `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data,omitzero"`

	cause error // for errors.Is on our side; never encoded
}

// Errorf returns an Error. The formatted text goes to the peer: addresses,
// paths and system texts do not belong in it.
func Errorf(code int64, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithData returns a copy of e with data: a [jsontext.Value] as it is, anything
// else marshalled. When that fails the result is an internal error whose
// cause, kept on this side, says why.
func (e *Error) WithData(data any) *Error {
	raw, err := marshal(data)
	if err != nil {
		return internalError(fmt.Errorf("encode error data: %w", err))
	}
	with := *e
	with.Data = raw
	return &with
}

// Error returns the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Is reports whether target is an *Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Unwrap returns the local cause, if there is one. It never left this side.
func (e *Error) Unwrap() error { return e.cause }

// ConnectionError fails calls whose connection has closed. Whether the peer
// handled a request that fails so is unknown.
type ConnectionError struct {
	Cause error // why the connection closed; may be nil
}

// Error names the cause.
func (e *ConnectionError) Error() string {
	if e.Cause == nil {
		return ErrClosed.Error()
	}
	return fmt.Sprintf("%v: %v", ErrClosed, e.Cause)
}

// Unwrap makes errors.Is find [ErrClosed] as well as the cause.
func (e *ConnectionError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrClosed}
	}
	return []error{ErrClosed, e.Cause}
}

func invalid(reason string) *Error {
	return &Error{Code: CodeInvalidRequest, Message: reason}
}

func internalError(cause error) *Error {
	return &Error{Code: CodeInternal, Message: ErrInternal.Message, cause: cause}
}

// marshalOptions let text with broken Unicode through as U+FFFD: output of
// programs must not make a reply impossible.
var marshalOptions = json.JoinOptions(jsontext.AllowInvalidUTF8(true))

// marshal encodes v; a jsontext.Value passes verbatim and nil stays nil.
func marshal(v any) (jsontext.Value, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case jsontext.Value:
		return v, nil
	default:
		return json.Marshal(v, marshalOptions)
	}
}
