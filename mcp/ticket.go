package mcp

import (
	"context"
	"fmt"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json/jsontext"
)

// ticket is a call that was admitted. Each of its ends is called once at most by
// the edge, which decides which of them; the engine decides whether it was the
// first.
type ticket struct {
	*toolCall
	gate          *gate
	call          *notify.Call
	cancelOnLeave bool
}

func (t *ticket) callID() string { return t.call.ID() }

// acknowledgement is the notification that precedes everything else.
func (t *ticket) acknowledgement() []byte {
	return jsonrpc.AppendNotification(nil, methodAcknowledged, t.call.Ack().Params())
}

// detaches reports whether the call outlives its client.
func (t *ticket) detaches() bool { return !t.cancelOnLeave }

// streaming reports progress of the tool.
func (t *ticket) streaming(ctx context.Context, params jsontext.Value) {
	if err := t.call.Progress(ctx, withoutMember(params, "progressToken")); err != nil {
		t.gate.Log.Warn("progress could not be kept", "call", t.callID(), "err", err)
	}
}

// answered ends the call by the server's response and returns what the client gets.
func (t *ticket) answered(ctx context.Context, m jsonrpc.Message, message jsontext.Value) []byte {
	kind := kindOfResponse(m)
	if kind == responseSuperseded {
		if err := t.call.Supersede(ctx); err != nil {
			t.gate.Log.Error("a call could not be closed", "call", t.callID(), "err", err)
		}
		return message
	}
	report, err := t.finish(ctx, endOf(kind, m))
	switch {
	case err != nil:
		return withReport(message, t.unrecorded())
	case report.Late && report.Trigger == notify.TimedOut:
		return t.timedOut()
	}
	return withReport(message, report.Meta())
}

// endOf is what a response means for its call.
func endOf(kind responseKind, m jsonrpc.Message) notify.End {
	switch {
	case m.Error != nil:
		return notify.EndOfError(int(m.Error.Code), m.Error.Message)
	case kind == responseTask:
		return notify.EndOfError(0, "the server made a task of the call, which is not followed")
	}
	return notify.EndOfResult(m.Result)
}

func (t *ticket) finish(ctx context.Context, end notify.End) (notify.Report, error) {
	report, err := t.call.Finish(context.WithoutCancel(ctx), end) // decided already: it is kept
	if err != nil {
		t.gate.Log.Error("the outcome of a call could not be kept; its notifications may be lost",
			"call", t.callID(), "trigger", end.Trigger, "err", err)
	}
	return report, err
}

// unrecorded is the report on a call whose outcome the store refused: the caller
// should not wait for a notification.
func (t *ticket) unrecorded() jsontext.Value {
	return withMember(raw(`{"errors":[{"code":"not_recorded"}]}`), "callId", quote(t.callID()))
}

// late takes a response to a call that has ended: the engine keeps it.
func (t *ticket) late(ctx context.Context, m jsonrpc.Message) {
	if kind := kindOfResponse(m); kind != responseSuperseded && m.Error == nil {
		_, _ = t.finish(ctx, endOf(kind, m)) // logged
	}
}

// cancelled ends the call at its client's wish.
func (t *ticket) cancelled(ctx context.Context) {
	_, _ = t.finish(ctx, notify.EndCancelled()) // logged
}

// timedOut is the answer to a call that the engine has ended at its deadline
// (tool-call notifications, 5.2).
func (t *ticket) timedOut() []byte {
	report, _ := t.call.Report()
	result := errorResult(fmt.Sprintf("The tool %s was stopped: it took longer than its time limit.", t.name))
	return jsonrpc.AppendResult(nil, t.id, withMemberAt(result, report.Meta(), "_meta", extension))
}

// lost ends a call whose server has gone.
func (t *ticket) lost(ctx context.Context) []byte {
	return t.failed(ctx, notify.EndLost(), "the server has gone before it answered")
}

// interrupted ends a call that nobody will finish.
func (t *ticket) interrupted(ctx context.Context) []byte {
	return t.failed(ctx, notify.EndInterrupted(), "the gateway was ended before the server answered")
}

// refused ends a call whose server answered with a status of HTTP.
func (t *ticket) refused(ctx context.Context, status int, body []byte) []byte {
	if m, err := jsonrpc.Scan(body); err == nil && m.Kind == jsonrpc.KindResponse && m.ID == t.id {
		return t.answered(ctx, m, body)
	}
	text := fmt.Sprintf("the server answered with status %d", status)
	return t.failed(ctx, notify.EndOfError(status, text), text)
}

func (t *ticket) failed(ctx context.Context, end notify.End, text string) []byte {
	message := errorMessage(t.id, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", text))
	report, err := t.finish(ctx, end)
	switch {
	case err != nil:
		return withReport(message, t.unrecorded())
	case report.Late && report.Trigger == notify.TimedOut:
		return t.timedOut()
	}
	return withReport(message, report.Meta())
}
