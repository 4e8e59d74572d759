package mcp

import (
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// kindOf says what a response to a tools/call means for its call.
type responseKind int

const (
	responseCompleted  responseKind = iota
	responseFailed                  // isError, or an error of JSON-RPC
	responseSuperseded              // input_required: the client asks again under another id
	responseTask                    // a task although none was accepted
)

// kindOfResponse reads a response (tool-call notifications, 5.1).
func kindOfResponse(m jsonrpc.Message) responseKind {
	if m.Error != nil {
		return responseFailed
	}
	kind, _ := jsonrpc.StringValue(memberAt(m.Result, "resultType"))
	switch {
	case kind == "input_required":
		return responseSuperseded
	case kind == "task" || memberAt(m.Result, "task") != nil:
		return responseTask
	case string(memberAt(m.Result, "isError")) == "true":
		return responseFailed
	}
	return responseCompleted
}

// withReport returns a response with what became of its notifications: in the
// result's _meta, or in an error's data (tool-call notifications, 4.4, 6.4).
func withReport(message jsontext.Value, report jsontext.Value) jsontext.Value {
	if report == nil {
		return message
	}
	if e := memberAt(message, "error"); e != nil {
		data := memberAt(e, "data")
		if data != nil && data.Kind() != '{' {
			return message // the error as it is counts for more
		}
		return withMemberAt(message, withMember(data, extension, report), "error", "data")
	}
	return withMemberAt(message, report, "result", "_meta", extension)
}
