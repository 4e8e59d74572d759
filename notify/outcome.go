package notify

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Categories of an error (notifications, 7.1.2).
const (
	ErrorTool         = "tool"
	ErrorProtocol     = "protocol"
	ErrorUpstreamLost = "upstream_lost"
	ErrorInterrupted  = "interrupted"
	ErrorTimeout      = "timeout"
	ErrorDenied       = "denied"
	ErrorCancelled    = "cancelled"
)

// CallError says why a call did not complete.
type CallError struct {
	Category string `json:"category"`
	Code     int    `json:"code,omitzero"` // of a protocol error
	Message  string `json:"message,omitempty"`
}

// End is how a call ended.
type End struct {
	Trigger Trigger        // a terminal one
	Result  jsontext.Value // a CallToolResult, if there is one
	Error   *CallError     // unless it completed
	// Silent: no response can be written any more, because the client has gone
	// or has cancelled the request. A trigger without a route is then dropped
	// instead of being reported.
	Silent bool
}

// EndOfResult is the end that a CallToolResult means: failed when isError is
// true, else completed (notifications, A-6).
func EndOfResult(result jsontext.Value) End {
	var r struct {
		IsError bool           `json:"isError"`
		Rest    jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal(result, &r, jsontext.AllowInvalidUTF8(true)); err != nil {
		return End{Trigger: Failed, Error: &CallError{Category: ErrorProtocol}}
	}
	if r.IsError {
		return End{Trigger: Failed, Result: result, Error: &CallError{Category: ErrorTool}}
	}
	return End{Trigger: Completed, Result: result}
}

// EndOfError is the end that a JSON-RPC error means.
func EndOfError(code int, message string) End {
	return End{Trigger: Failed, Error: &CallError{Category: ErrorProtocol, Code: code, Message: message}}
}

// EndCancelled is the end of a call whose request was cancelled, after which
// nothing may be sent for it any more.
func EndCancelled() End {
	return End{Trigger: Cancelled, Error: &CallError{Category: ErrorCancelled}, Silent: true}
}

// EndLost is the end of a call whose upstream has gone.
func EndLost() End {
	return End{Trigger: Failed, Error: &CallError{Category: ErrorUpstreamLost}}
}

// EndInterrupted is the end of a call that nobody will finish.
func EndInterrupted() End {
	return End{Trigger: Failed, Error: &CallError{Category: ErrorInterrupted}, Silent: true}
}

func endTimedOut() End {
	return End{Trigger: TimedOut, Error: &CallError{Category: ErrorTimeout}}
}

// clean returns the end after masking, and what was hidden.
func (e End) clean(p MaskPolicy) (End, []string) {
	var pointers []string
	e.Result, pointers = maskResult(e.Result, p)
	if e.Error != nil {
		c := *e.Error
		if c.Message = maskText(c.Message); len(c.Message) > 1024 {
			c.Message = c.Message[:1024]
		}
		e.Error = &c
	}
	return e, pointers
}
