package mcp

import (
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Methods of MCP that the edge looks at. Every other one passes.
const (
	methodInitialize   = "initialize"
	methodDiscover     = "server/discover"
	methodCallTool     = "tools/call"
	methodListTools    = "tools/list"
	methodCancelled    = "notifications/cancelled"
	methodProgress     = "notifications/progress"
	methodAcknowledged = "notifications/config/acknowledged"
)

// Methods of our own, answered by the edge (tool-call notifications, 7.1.2, 9.2).
const (
	methodToolResult = vendor + "toolCalls/result"
	methodToolCancel = vendor + "toolCalls/cancel"
)

// vendor is the prefix of our names in _meta, extensions and methods.
const vendor = notify.Vendor

// extension is our member of _meta and of capabilities.extensions.
const extension = vendor + "notification-config"

// configMember is the member of tools/call and of the capabilities.
const configMember = "notificationConfig"

// Headers of streamable HTTP.
const (
	headerSession     = "Mcp-Session-Id"
	headerVersion     = "Mcp-Protocol-Version"
	headerLastEventID = "Last-Event-ID"
	headerMethod      = "Mcp-Method"
	headerName        = "Mcp-Name"
)

// Versions of MCP at which streamable HTTP changed. They compare as text.
const (
	versionPriming   = "2025-11-25" // a stream may begin with an event that has only an id
	versionStateless = "2026-07-28" // no sessions, no resumption, errors carry a status
)

// raw is a constant JSON value.
func raw(text string) jsontext.Value { return jsontext.Value(text) }

// quote is a text as JSON; what is not UTF-8 becomes U+FFFD.
func quote[T string | []byte](text T) jsontext.Value {
	out, _ := jsontext.AppendQuote(nil, text)
	return out
}

// marshal encodes one of our own types, which always encode.
func marshal(v any) jsontext.Value {
	out, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return raw("null")
	}
	return out
}

// errorMessage is a response that refuses a request.
func errorMessage(id jsonrpc.ID, e *jsonrpc.Error) []byte { return jsonrpc.AppendError(nil, id, e) }
