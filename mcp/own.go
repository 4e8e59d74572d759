package mcp

import (
	"context"
	"errors"
	"net/http"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json/jsontext"
)

// Requests of our own: what became of a call, and to cancel one whose request is gone
// (tool-call notifications, 7.1.2 and 9.2). Their params are {"callId": …}.

var errNoSuchCall = jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no such call of yours, or it is not kept any more")

func callIDOf(m jsonrpc.Message) string {
	id, _ := jsonrpc.StringValue(memberAt(m.Params, "callId"))
	return id
}

// fetch answers with what became of a call.
func (g *gate) fetch(ctx context.Context, m jsonrpc.Message) []byte {
	s, err := g.Engine.Desk().Call(ctx, g.Principal, callIDOf(m))
	switch {
	case errors.Is(err, notify.ErrNotFound):
		return errorMessage(m.ID, errNoSuchCall)
	case err != nil:
		g.Log.Error("a call could not be looked up", "err", err)
		return errorMessage(m.ID, errCannotPromise)
	}
	return jsonrpc.AppendResult(nil, m.ID, marshal(s))
}

// own answers a request of ours on a link.
func (l *link) own(m jsonrpc.Message) []byte {
	if m.Method == methodToolResult {
		return l.gate.fetch(l.ctx, m)
	}
	for _, c := range l.running() {
		if c.ticket.callID() == callIDOf(m) && l.takeBack(c, errCancelled.Error()) {
			return jsonrpc.AppendResult(nil, m.ID, jsontext.Value(`{}`))
		}
	}
	return errorMessage(m.ID, errNoSuchCall)
}

// own answers a request of ours over HTTP.
func (h *Handler) own(r *http.Request, m jsonrpc.Message) []byte {
	if m.Method == methodToolResult {
		return h.gate.fetch(r.Context(), m)
	}
	h.mu.Lock()
	c := h.calls[callIDOf(m)]
	h.mu.Unlock()
	if c == nil || !c.cancel() {
		return errorMessage(m.ID, errNoSuchCall)
	}
	c.takeBack(errCancelled)
	return jsonrpc.AppendResult(nil, m.ID, jsontext.Value(`{}`))
}
