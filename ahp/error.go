package ahp

import (
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
)

// Error is the wire error: code, message and data. Errors are compared by code
// with errors.Is against the sentinels below.
type Error = jsonrpc.Error

// Codes of the protocol (AHP core, 2.2). A number never changes its meaning.
const (
	CodeSessionNotFound            = -32001
	CodeProviderNotFound           = -32002
	CodeSessionAlreadyExists       = -32003
	CodeTurnInProgress             = -32004
	CodeUnsupportedProtocolVersion = -32005
	CodeContentNotFound            = -32006 // received from old peers only; never sent to new ones
	CodeAuthRequired               = -32007
	CodeNotFound                   = -32008
	CodePermissionDenied           = -32009
	CodeAlreadyExists              = -32010
	CodeConflict                   = -32011
	CodeTCPConnectionOpenFailed    = -32012
)

// Codes of the relay to client services, outside of the range that JSON-RPC
// reserves (AHP core, 15.4).
const (
	CodeClientServiceUnavailable   = -31010
	CodeClientServiceTimeout       = -31011
	CodeClientServiceLimitExceeded = -31012
	CodeClientServiceBadResponse   = -31013
)

// Errorf returns an Error. The formatted text goes to the peer: addresses, paths
// and system texts do not belong in it.
func Errorf(code int64, format string, args ...any) *Error {
	return jsonrpc.Errorf(code, format, args...)
}

// One sentinel per code, for errors.Is.
var (
	ErrSessionNotFound            = &Error{Code: CodeSessionNotFound, Message: "session not found"}
	ErrProviderNotFound           = &Error{Code: CodeProviderNotFound, Message: "provider not found"}
	ErrSessionAlreadyExists       = &Error{Code: CodeSessionAlreadyExists, Message: "session already exists"}
	ErrTurnInProgress             = &Error{Code: CodeTurnInProgress, Message: "turn in progress"}
	ErrUnsupportedProtocolVersion = &Error{Code: CodeUnsupportedProtocolVersion, Message: "unsupported protocol version"}
	ErrAuthRequired               = &Error{Code: CodeAuthRequired, Message: "authentication required"}
	ErrNotFound                   = &Error{Code: CodeNotFound, Message: "not found"}
	ErrPermissionDenied           = &Error{Code: CodePermissionDenied, Message: "permission denied"}
	ErrAlreadyExists              = &Error{Code: CodeAlreadyExists, Message: "already exists"}
	ErrConflict                   = &Error{Code: CodeConflict, Message: "conflict"}
	ErrTCPConnectionOpenFailed    = &Error{Code: CodeTCPConnectionOpenFailed, Message: "TCP connection could not be opened"}

	ErrClientServiceUnavailable   = &Error{Code: CodeClientServiceUnavailable, Message: "client service unavailable"}
	ErrClientServiceTimeout       = &Error{Code: CodeClientServiceTimeout, Message: "client service did not answer in time"}
	ErrClientServiceLimitExceeded = &Error{Code: CodeClientServiceLimitExceeded, Message: "limit of client services exceeded"}
	ErrClientServiceBadResponse   = &Error{Code: CodeClientServiceBadResponse, Message: "bad response of a client service"}
)

// UnsupportedVersions is the error for a handshake without a common version;
// supported holds versions or SemVer ranges.
func UnsupportedVersions(supported []string) *Error {
	data, err := json.Marshal(struct {
		SupportedVersions []string `json:"supportedVersions"`
	}{supported})
	if err != nil { // a list of strings always encodes
		panic(err)
	}
	e := *ErrUnsupportedProtocolVersion
	e.Data = data
	return &e
}
