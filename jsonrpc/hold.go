package jsonrpc

import (
	"context"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
)

// Held is a request that stays in flight after its handler has returned, without
// a goroutine of its own. Its methods may be called by many goroutines.
type Held struct {
	conn *Conn
	id   ID
	done atomic.Bool
}

// Hold keeps the request with this id in flight. [Handler.HandleRequest] calls it
// for the request at hand and returns a Reply that is Taken. Until Answer, the id
// is in use, and cancelled is called when the peer takes the request back: on the
// reader, with [ErrRequestCancelled], any number of times. Nil is allowed. The
// end of the connection is not told.
//
// Held requests take no slot of Options.MaxInFlight: whoever holds bounds them.
func (c *Conn) Hold(id ID, cancelled context.CancelCauseFunc) *Held {
	if cancelled == nil {
		cancelled = func(error) {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enterLocked(id, cancelled)
	return &Held{conn: c, id: id}
}

// Answer sends the one response: result, or err if it is not nil, by the rules of
// [Reply]. It is false, and nothing is sent, when the request was answered
// before or its connection has closed.
func (h *Held) Answer(result jsontext.Value, err error) bool {
	if !h.done.CompareAndSwap(false, true) {
		return false
	}
	h.conn.leave(h.id)
	if h.conn.closedErr() != nil {
		return false
	}
	return h.conn.respond(h.id, result, err) == nil
}
