package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// maxOpen bounds the spans that have begun and not ended; what begins above it is not
// traced.
const maxOpen = 10_000

// spans are those that have begun. A turn is the root of its trace, and its tool calls
// are inside it. Ids come from those of the protocol, so that whoever knows a turn
// knows its trace.
type spans struct {
	mu   sync.Mutex
	open map[spanKey]span
}

type spanKey struct {
	chat       ahp.URI
	turn, call string // call is empty for the turn itself
}

func (k spanKey) ids() (trace, id, parent string) {
	turn := sha256.Sum256([]byte(k.chat + "\x00" + k.turn))
	trace, id = hex.EncodeToString(turn[:16]), hex.EncodeToString(turn[16:24])
	if k.call == "" {
		return trace, id, ""
	}
	call := sha256.Sum256([]byte(k.chat + "\x00" + k.turn + "\x00" + k.call))
	return trace, hex.EncodeToString(call[:8]), id
}

// wants implements host.Observer.
func (f *Feature) wants(a ahp.Action) bool {
	if !f.tracing.Load() {
		return false
	}
	switch a.(type) {
	case *ahp.ChatTurnStarted, *ahp.ChatTurnComplete, *ahp.ChatTurnCancelled, *ahp.ChatError,
		*ahp.ChatToolCallStart, *ahp.ChatToolCallComplete:
		return true
	}
	return false
}

// observe implements host.Observer.
func (f *Feature) observe(_ context.Context, o host.Observed) {
	switch a := o.Action.(type) {
	case *ahp.ChatTurnStarted:
		f.begin(spanKey{chat: o.Channel, turn: a.TurnID}, "turn", text("ahp.chat", o.Channel), text("ahp.turn", a.TurnID))
	case *ahp.ChatTurnComplete:
		f.endTurn(o.Channel, a.TurnID, status{Code: statusOK})
	case *ahp.ChatTurnCancelled:
		f.endTurn(o.Channel, a.TurnID, status{Code: statusError, Message: "cancelled"})
	case *ahp.ChatError:
		f.endTurn(o.Channel, a.TurnID, status{Code: statusError, Message: "error"})
	case *ahp.ChatToolCallStart:
		f.begin(spanKey{o.Channel, a.TurnID, a.ToolCallID}, "tool call", text("ahp.chat", o.Channel), text("ahp.tool_call", a.ToolCallID), text("ahp.tool", a.ToolName))
	case *ahp.ChatToolCallComplete:
		s := status{Code: statusOK}
		if !a.Result.Success {
			s = status{Code: statusError, Message: "failed"}
		}
		f.end(spanKey{o.Channel, a.TurnID, a.ToolCallID}, s)
	}
}

func (f *Feature) begin(k spanKey, name string, about ...attribute) {
	f.spans.mu.Lock()
	defer f.spans.mu.Unlock()
	if len(f.spans.open) >= maxOpen {
		f.dropped.WithLabelValues(traces.name).Inc()
		return
	}
	if f.spans.open == nil {
		f.spans.open = make(map[spanKey]span)
	}
	s := span{Name: name, Kind: kindInternal, Start: unixNano(time.Now()), Attributes: about}
	s.Trace, s.ID, s.Parent = k.ids()
	f.spans.open[k] = s
}

func (f *Feature) end(k spanKey, with status) {
	f.spans.mu.Lock()
	s, ok := f.spans.open[k]
	delete(f.spans.open, k)
	f.spans.mu.Unlock()
	if !ok {
		return // it began while nobody watched
	}
	s.End, s.Status = unixNano(time.Now()), with
	f.put(traces, s)
}

// endTurn ends a turn and the tool calls that did not end before it.
func (f *Feature) endTurn(chat ahp.URI, turn string, with status) {
	f.spans.mu.Lock()
	var calls []spanKey
	for k := range f.spans.open {
		if k.chat == chat && k.turn == turn && k.call != "" {
			calls = append(calls, k)
		}
	}
	f.spans.mu.Unlock()
	for _, k := range calls {
		f.end(k, status{Code: statusError, Message: "the turn ended"})
	}
	f.end(spanKey{chat: chat, turn: turn}, with)
}
