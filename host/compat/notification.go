package compat

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// Notification writes the params of a notification in the dialect.
func (d Dialect) Notification(method string, params jsontext.Value) jsontext.Value {
	if !d.before07() {
		return params
	}
	switch method {
	case ahp.MethodSessionAdded:
		return rewrite(params, func(o *object) { o.apply(d.Summary, "summary") })
	case ahp.MethodSessionSummaryChanged:
		return rewrite(params, func(o *object) { o.apply(d.Summary, "changes") })
	case ahp.MethodAuthRequired:
		return rewrite(params, func(o *object) { o.apply(resourceName, "resource") })
	}
	return params
}

// Result writes the result of a request in the dialect. Snapshots and envelopes
// in results are written by State and Action.
func (d Dialect) Result(method string, result jsontext.Value) jsontext.Value {
	if d.before07() && method == ahp.MethodListSessions {
		return rewrite(result, func(o *object) { o.apply(each(d.Summary), "items") })
	}
	return result
}

// resourceName: before 0.8 the resource was named, not described.
func resourceName(v jsontext.Value) jsontext.Value {
	if name, ok := jsonrpc.Member(v, "resource"); ok {
		return name
	}
	return v
}
