package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

func TestArguments(t *testing.T) {
	const object = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"x-unknown":1}`
	for _, c := range []struct{ schema, arguments, wrong string }{
		{object, `{"n":1}`, ""},
		{object, `{"n":"1"}`, "integer"},
		{object, `{}`, "required"},
		{object, ``, "required"},
		{object, `[]`, "object"},
		{``, `{"any":1}`, ""},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","required":true}`, `{}`, ""},
		{`{"type":"object","properties":{"n":{"$ref":"#/nowhere"}}}`, `{"n":1}`, ""},
		{`true`, `{}`, ""},
		{`7`, `{}`, ""},
	} {
		err := checkArguments(raw(c.schema), raw(c.arguments))
		switch {
		case c.schema == "":
			err = checkArguments(nil, raw(c.arguments))
		case c.arguments == "":
			err = checkArguments(raw(c.schema), nil)
		}
		if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s with %s: %v, want %q", c.arguments, c.schema, err, c.wrong)
		}
	}
}

// TestToolLookup: all pages are read; a server that does not tell its tools, or not
// in time, is taken at its word.
func TestToolLookup(t *testing.T) {
	pages := func(n int) ask {
		return func(_ context.Context, method string, params jsontext.Value) (jsonrpc.Message, error) {
			if method != methodListTools || memberAt(params, "_meta", "progressToken") != nil || memberAt(params, "_meta", vendor+"x") != nil {
				t.Errorf("asked %s with %s", method, params)
			}
			cursor, _ := jsonrpc.StringValue(memberAt(params, "cursor"))
			page := len(cursor)
			next := ""
			if page+1 < n {
				next = `,"nextCursor":"` + strings.Repeat("c", page+1) + `"`
			}
			return jsonrpc.Message{Result: raw(fmt.Sprintf(`{"tools":[{"name":"tool-%d","inputSchema":{"type":"object"}}]%s}`, page, next))}, nil
		}
	}
	failing := func(m jsonrpc.Message, err error) ask {
		return func(context.Context, string, jsontext.Value) (jsonrpc.Message, error) { return m, err }
	}
	for _, c := range []struct {
		what, tool string
		ask        ask
		refused    string
	}{
		{"first page", "tool-0", pages(3), ""},
		{"last page", "tool-2", pages(3), ""},
		{"no such tool", "tool-3", pages(3), "Unknown tool: tool-3"},
		{"more pages than are read", "tool-x", pages(maxToolPages + 1), ""},
		{"no answer", "x", failing(jsonrpc.Message{}, errServerGone), ""},
		{"no list", "x", failing(jsonrpc.Message{Error: jsonrpc.ErrMethodNotFound}, nil), ""},
		{"no tools", "x", failing(jsonrpc.Message{Result: raw(`{}`)}, nil), ""},
	} {
		call := &toolCall{id: jsonrpc.NumberID(1), name: c.tool, meta: raw(`{"progressToken":1,"` + vendor + `x":1}`)}
		response, err := checkTool(t.Context(), call, c.ask)
		if err != nil || (response != nil) != (c.refused != "") || !strings.Contains(string(response), c.refused) {
			t.Errorf("%s: %s %v, want %q", c.what, response, err, c.refused)
		}
	}
	_, err := checkTool(t.Context(), &toolCall{}, failing(jsonrpc.Message{}, &httpRefusal{status: 401}))
	var refusal *httpRefusal
	if !errors.As(err, &refusal) || refusal.status != 401 {
		t.Errorf("a demand for authorization: %v", err)
	}
}
