package host

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host/compat"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// view is the part of a state a subscriber asked for. turns is how many of the
// newest completed turns; -1 means all.
type view struct {
	turns   int
	dialect compat.Dialect
}

var wholeView = view{turns: -1}

// viewOf reads the view of a subscription. It is advisory: what makes no sense
// means the whole state.
func viewOf(v *ahp.View) view {
	if v == nil || v.Turns == nil || *v.Turns < 0 || *v.Turns > 1<<30 {
		return wholeView
	}
	return view{turns: int(*v.Turns)}
}

// project returns the part of a state that v shows.
func (h *Host) project(uri ahp.URI, state any, v view) any {
	chat, ok := state.(*ahp.ChatState)
	if !ok || v.turns < 0 || v.turns >= chat.Turns.Len() {
		return state
	}
	part, header := *chat, *chat.ChatHeader
	part.ChatHeader = &header
	n := chat.Turns.Len()
	part.Turns = chat.Turns.Slice(n-v.turns, n)
	cursor := h.cursors.seal(uri, chat.Turns.At(n-v.turns-1).ID)
	header.TurnsNextCursor = &cursor
	return &part
}

// cursors seals and opens the cursors the host hands out. A cursor is signed
// with a key of the process, so that a foreign or altered one is recognised
// without keeping any.
type cursors struct{ key []byte }

const cursorSum = 16 // bytes of the signature kept

func (c cursors) sum(scope, value string) []byte {
	m := hmac.New(sha256.New, c.key)
	m.Write([]byte(scope))
	m.Write([]byte{0})
	m.Write([]byte(value))
	return m.Sum(nil)[:cursorSum]
}

// seal makes a cursor of a value within a scope.
func (c cursors) seal(scope, value string) string {
	return base64.RawURLEncoding.EncodeToString(append(c.sum(scope, value), value...))
}

// open returns the value of a cursor that was sealed for the scope.
func (c cursors) open(scope, cursor string) (string, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) < cursorSum {
		return "", false
	}
	value := strings.Clone(string(raw[cursorSum:]))
	return value, hmac.Equal(raw[:cursorSum], c.sum(scope, value))
}

// fetchTurns gives the asking connection, and no other, the page of turns before
// its cursor: first chat/turnsLoaded, then the answer (AHP core, 10).
func (h *Host) fetchTurns(_ context.Context, r *Request) jsonrpc.Reply {
	var p ahp.FetchTurnsParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if !h.policy.Allow(r.Conn.principal, OpSee, p.Channel) {
		return jsonrpc.Reply{Err: ahp.ErrNotFound}
	}
	if err := h.lockWith(p.Channel); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	defer h.seq.mu.Unlock()
	ch := h.seq.channels[p.Channel]
	if ch == nil || ch.scheme.Kind != ahp.KindChat {
		return jsonrpc.Reply{Err: ahp.ErrNotFound}
	}
	loaded, err := h.pageBefore(ch, p.Cursor)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if s := r.Conn.subs[ch.uri]; s == nil || s.win == nil {
		h.sendAloneLocked(r.Conn, ch, loaded, nil)
		return jsonrpc.Reply{Result: struct{}{}}
	}
	// The page goes through the window, and the answer still comes behind it.
	sent := make(chan struct{})
	h.sendAloneLocked(r.Conn, ch, loaded, sync.OnceFunc(func() { close(sent) }))
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) {
		select {
		case <-sent:
			return struct{}{}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}}
}

// pageBefore returns the turns before the cursor, or the newest without one.
func (h *Host) pageBefore(ch *channel, cursor *string) (*ahp.ChatTurnsLoaded, error) {
	chat := ch.state.(*ahp.ChatState)
	end := chat.Turns.Len()
	if cursor != nil {
		last, ok := h.cursors.open(ch.uri, *cursor)
		if !ok {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "unknown cursor")
		}
		i, ok := chat.Turns.Find(last)
		if !ok { // truncated away since: there is nothing older that is certain
			return &ahp.ChatTurnsLoaded{Turns: []*ahp.Turn{}}, nil
		}
		end = i + 1
	}
	begin := max(0, end-h.limits.TurnsPage)
	page := &ahp.ChatTurnsLoaded{Turns: make([]*ahp.Turn, 0, end-begin)}
	for i := begin; i < end; i++ {
		page.Turns = append(page.Turns, chat.Turns.At(i))
	}
	if begin > 0 {
		h.LimitReached(limitTurns)
		next := h.cursors.seal(ch.uri, chat.Turns.At(begin-1).ID)
		page.TurnsNextCursor = &next
	}
	return page, nil
}

// sendAloneLocked numbers an action for one connection. Nobody else sees it and
// the state does not change; the journal keeps a bare mark of its number.
// Sent, if it is not nil, is called when the message has left or never will.
func (h *Host) sendAloneLocked(c *Conn, ch *channel, a ahp.Action, sent func()) {
	rec := &journal.Record{Seq: h.seq.nextLocked(), Channel: ch.uri}
	var st step
	markLocked(&st, ch, rec.Seq, journal.Origin{})
	h.recordLocked(&st)
	place := h.seq.placeLocked()
	h.seq.publishLocked() // the response is pushed without a place and must come behind
	c.pushToLocked(ch, item{place: place, seq: rec.Seq, done: sent, render: func() []byte {
		body, err := ahp.EncodeAction(a)
		if err != nil {
			h.log.Error("encode action", "type", a.ActionType(), "err", err)
			return nil
		}
		rec.Body = body
		return c.appendAction(rec, "")
	}})
}
