package client

import (
	"context"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// Methods is a [Handler] made of one function for each method. The zero value is
// ready; fill it with [OnCall] and [OnNotify] before it is registered. A call of
// another method is answered with MethodNotFound, one whose params do not fit
// with InvalidParams; such notifications are ignored.
type Methods struct {
	calls         map[string]callFunc
	notifications map[string]notifyFunc
}

type (
	callFunc   func(ctx context.Context, from Sender, params jsontext.Value) (any, error)
	notifyFunc func(ctx context.Context, from Sender, params jsontext.Value)
)

// OnCall lets f answer the calls of a method, with params and result of types.
// Absent params leave In as it is by default. See [Handler] for ctx and errors.
func OnCall[In, Out any](m *Methods, method string, f func(ctx context.Context, from Sender, in In) (Out, error)) {
	if m.calls == nil {
		m.calls = make(map[string]callFunc)
	}
	m.calls[method] = func(ctx context.Context, from Sender, params jsontext.Value) (any, error) {
		in, err := decodeParams[In](params)
		if err != nil {
			return nil, ahp.Errorf(jsonrpc.CodeInvalidParams, "%s: params do not have the right form", method)
		}
		return f(ctx, from, in)
	}
}

// OnNotify lets f take the notifications of a method, with params of a type.
func OnNotify[In any](m *Methods, method string, f func(ctx context.Context, from Sender, in In)) {
	if m.notifications == nil {
		m.notifications = make(map[string]notifyFunc)
	}
	m.notifications[method] = func(ctx context.Context, from Sender, params jsontext.Value) {
		if in, err := decodeParams[In](params); err == nil {
			f(ctx, from, in)
		}
	}
}

func decodeParams[In any](params jsontext.Value) (In, error) {
	var in In
	if params.Kind() == 'n' {
		return in, nil
	}
	err := ahp.Unmarshal(params, &in)
	return in, err
}

// HandleCall implements Handler.
func (m *Methods) HandleCall(ctx context.Context, from Sender, method string, params jsontext.Value) (any, error) {
	f := m.calls[method]
	if f == nil {
		return nil, ahp.Errorf(jsonrpc.CodeMethodNotFound, "the service has no method %q", method)
	}
	return f(ctx, from, params)
}

// HandleNotification implements Handler.
func (m *Methods) HandleNotification(ctx context.Context, from Sender, method string, params jsontext.Value) {
	if f := m.notifications[method]; f != nil {
		f(ctx, from, params)
	}
}

// KeepsNoParams implements TransientHandler: the functions get decoded values.
func (m *Methods) KeepsNoParams() {}
