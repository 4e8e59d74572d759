package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// lookupTimeout bounds the question which tools the server has. A server that
	// does not answer in time is taken at its word later.
	lookupTimeout = 10 * time.Second
	// maxToolPages bounds the pages that are read of the answer.
	maxToolPages = 64
)

// ask sends a request of our own to the server and returns its response.
type ask func(ctx context.Context, method string, params jsontext.Value) (jsonrpc.Message, error)

// checkTool returns the response to a call of a tool the server does not have, or
// whose arguments do not fit; nil when the call may go on. It is asked before the
// call is acknowledged (tool-call notifications, 4.3, 3) and each time anew: what is not
// cached cannot be stale.
//
// The error is a refusal of the server that the client must see, such as a demand for
// authorization.
func checkTool(ctx context.Context, c *toolCall, ask ask) (response []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	tool, complete, err := findTool(ctx, c, ask)
	var refusal *httpRefusal
	switch {
	case errors.As(err, &refusal):
		return nil, err
	case tool == nil && complete:
		return errorMessage(c.id, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Unknown tool: %s", c.name)), nil
	case tool == nil:
		return nil, nil
	}
	if err := checkArguments(memberAt(tool, "inputSchema"), c.arguments); err != nil {
		text := fmt.Sprintf("Invalid arguments for tool %s: %v", c.name, err)
		return jsonrpc.AppendResult(nil, c.id, errorResult(text)), nil
	}
	return nil, nil
}

// findTool returns the tool a call names. Complete tells that all tools were seen.
func findTool(ctx context.Context, c *toolCall, ask ask) (tool jsontext.Value, complete bool, err error) {
	params := raw(`{}`)
	if c.meta != nil {
		params = withMember(params, "_meta", withoutMember(c.meta, "progressToken"))
	}
	params = withoutVendorMeta(params)
	for range maxToolPages {
		m, err := ask(ctx, methodListTools, params)
		if err != nil || m.Error != nil {
			return nil, false, err
		}
		list := memberAt(m.Result, "tools")
		if list.Kind() != '[' {
			return nil, false, nil
		}
		if tool := toolNamed(list, c.name); tool != nil {
			return tool, true, nil
		}
		cursor := memberAt(m.Result, "nextCursor")
		if cursor.Kind() != '"' {
			return nil, true, nil
		}
		params = withMember(params, "cursor", cursor)
	}
	return nil, false, nil
}

func toolNamed(list jsontext.Value, name string) jsontext.Value {
	for _, tool := range elements(list) {
		if n, ok := jsonrpc.StringValue(memberAt(tool, "name")); ok && n == name {
			return tool
		}
	}
	return nil
}

// elements returns the values of an array; nil for anything else.
func elements(array jsontext.Value) []jsontext.Value {
	var list []jsontext.Value
	if json.Unmarshal(array, &list, lenient) != nil {
		return nil
	}
	return list
}

// lenient accepts what peers written in other languages send.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// checkArguments returns why arguments do not fit a schema; nil also when the schema
// is one that cannot be checked here.
func checkArguments(schema, arguments jsontext.Value) (err error) {
	// The schema is the server's and the arguments are the client's: whatever the
	// library makes of an odd pair of them must not end the relay.
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	var s jsonschema.Schema
	if schema == nil || json.Unmarshal(schema, &s, lenient) != nil || s.Schema != "" && !knownDraft[s.Schema] {
		return nil
	}
	rs, err := s.Resolve(nil)
	if err != nil {
		return nil
	}
	if arguments == nil {
		arguments = raw(`{}`)
	}
	var value any
	if err := json.Unmarshal(arguments, &value, lenient); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	return rs.Validate(value)
}

var knownDraft = map[string]bool{
	"http://json-schema.org/draft-07/schema#":      true,
	"https://json-schema.org/draft-07/schema#":     true,
	"https://json-schema.org/draft/2020-12/schema": true,
}

// errorResult is a CallToolResult that says what went wrong.
func errorResult(text string) jsontext.Value {
	return raw(`{"content":[{"type":"text","text":` + string(quote(text)) + `}],"isError":true}`)
}
