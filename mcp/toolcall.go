package mcp

import (
	"bytes"
	"crypto/rand"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// toolCall is a tools/call with a notificationConfig as the client sent it, and
// what the server gets of it.
type toolCall struct {
	id        jsonrpc.ID
	name      string
	arguments jsontext.Value
	config    jsontext.Value
	meta      jsontext.Value // _meta as the client sent it
	task      bool           // the client asks for a task (MCP 2025-11-25)

	message  jsontext.Value // for the server
	token    string         // the progress token, as it is spelled; "" for none
	ownToken bool           // the client gave none: its progress is not forwarded
}

// ownTokens numbers the progress tokens this process makes.
var ownTokens atomic.Uint64

var ownTokenPrefix = "causeway-" + rand.Text() + "-"

// isOwnToken reports whether a progress token, as it is spelled, was made here.
func isOwnToken(token string) bool { return strings.HasPrefix(token, `"`+ownTokenPrefix) }

// parseToolCall reads a call with a configuration. Message is the whole message,
// which m was scanned from.
func parseToolCall(m jsonrpc.Message, message jsontext.Value) *toolCall {
	c := &toolCall{
		id:        m.ID,
		config:    memberAt(m.Params, configMember),
		arguments: memberAt(m.Params, "arguments"),
		meta:      memberAt(m.Params, "_meta"),
	}
	c.name, _ = jsonrpc.StringValue(memberAt(m.Params, "name"))
	_, c.task = jsonrpc.Member(m.Params, "task")
	c.token = string(memberAt(c.meta, "progressToken"))
	params := withoutTasks(withoutVendorMeta(withoutMember(m.Params, configMember)))
	c.message = withMember(message, "params", params)
	return c
}

// wantProgress asks the server for progress that the client did not ask for.
func (c *toolCall) wantProgress() {
	if c.token != "" {
		return
	}
	c.token, c.ownToken = `"`+ownTokenPrefix+strconv.FormatUint(ownTokens.Add(1), 10)+`"`, true
	c.message = withMemberAt(c.message, raw(c.token), "params", "_meta", "progressToken")
}

// withoutVendorMeta returns params without our own members in _meta: nobody
// outside speaks for us, and nobody behind us hears of us.
func withoutVendorMeta(params jsontext.Value) jsontext.Value {
	meta := memberAt(params, "_meta")
	if !bytes.Contains(meta, []byte(vendor)) {
		return params
	}
	var ours []string
	jsonrpc.EachMember(meta, func(name []byte, _ jsontext.Value) bool {
		if strings.HasPrefix(string(name), vendor) {
			ours = append(ours, string(name))
		}
		return true
	})
	for _, name := range ours {
		meta = withoutMember(meta, name)
	}
	return withMember(params, "_meta", meta)
}

// withoutTasks takes back the client's offer to accept a task in place of the
// result: tasks are not followed, so the outcome would be missed.
func withoutTasks(params jsontext.Value) jsontext.Value {
	const tasks = "io.modelcontextprotocol/tasks"
	path := []string{"_meta", metaCapabilities, "extensions"}
	offered := memberAt(params, path...)
	if _, ok := jsonrpc.Member(offered, tasks); !ok {
		return params
	}
	return withMemberAt(params, withoutMember(offered, tasks), path...)
}

// hasConfig reports whether a request is a tools/call with a configuration.
func hasConfig(m jsonrpc.Message) bool {
	if m.Kind != jsonrpc.KindRequest || m.Method != methodCallTool {
		return false
	}
	_, ok := jsonrpc.Member(m.Params, configMember)
	return ok
}

// metaCapabilities is where a call of the stateless era carries the client's
// capabilities.
const metaCapabilities = "io.modelcontextprotocol/clientCapabilities"

// declares reports whether the call itself declares the client's capability.
func (c *toolCall) declares() bool { return declares(memberAt(c.meta, metaCapabilities)) }

// traceparent is the trace the call belongs to, "" for none.
func (c *toolCall) traceparent() string {
	trace, _ := jsonrpc.StringValue(memberAt(c.meta, "traceparent"))
	return trace
}
