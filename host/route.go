package host

import (
	"context"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// handler gives Conn the methods jsonrpc calls, without exporting them.
type handler Conn

// HandleNotification implements jsonrpc.Handler.
func (x *handler) HandleNotification(_ context.Context, m *jsonrpc.Message) {
	c := (*Conn)(x)
	if !c.live.Load() {
		c.h.metrics.dropped.WithLabelValues("before_handshake").Inc()
		return
	}
	if c.out.win.any.Load() && c.arrive(*m) {
		return
	}
	c.notified(m)
}

// notified handles a notification that no window is about, or none any more.
func (c *Conn) notified(m *jsonrpc.Message) {
	switch m.Method {
	case ahp.MethodDispatchAction:
		c.h.dispatch(c, m.Params)
	case ahp.MethodUnsubscribe:
		c.unsubscribe(m.Params)
	default:
		handle := c.hears(m.Method)
		if handle == nil { // an unknown notification is ignored
			c.h.metrics.dropped.WithLabelValues("unknown_notification").Inc()
			return
		}
		handle(*m)
		c.spent = true
	}
}

// hears returns what takes this connection's notifications of a method, nil if
// nothing does.
func (c *Conn) hears(method string) NotificationHandler {
	if handle := c.handlers[method]; handle != nil {
		return handle
	}
	declared := c.h.registry.notifications[method]
	if declared == nil {
		return nil
	}
	if c.handlers == nil {
		c.handlers = make(map[string]NotificationHandler)
	}
	c.handlers[method] = declared(c)
	return c.handlers[method]
}

// HandleRequest implements jsonrpc.Handler.
func (x *handler) HandleRequest(ctx context.Context, m jsonrpc.Message) jsonrpc.Reply {
	c := (*Conn)(x)
	switch m.Method {
	case ahp.MethodPing:
		return jsonrpc.Reply{}
	case ahp.MethodInitialize:
		if err := c.h.storing(); err != nil {
			return jsonrpc.Reply{Err: err}
		}
		return c.initialize(m)
	case ahp.MethodReconnect:
		if c.h.storing() != nil {
			// An error would say that the client is not known any more.
			c.fail(CloseStore, nil)
			return jsonrpc.Reply{Taken: true}
		}
		return c.reconnect(m)
	}
	if !c.live.Load() {
		return jsonrpc.Reply{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s before initialize", m.Method)}
	}
	if m.Method == ahp.MethodSubscribe {
		return c.subscribe(m)
	}
	handle := c.h.registry.requests[m.Method]
	if handle == nil {
		return jsonrpc.Reply{Err: jsonrpc.ErrMethodNotFound}
	}
	params, err := c.dialect().Params(m.Method, m.Params)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	r := &Request{Conn: c, Method: m.Method, Params: params, id: m.ID}
	if c.h.registry.unrouted[m.Method] {
		return handle(ctx, r)
	}
	if r.Channel, err = channelOf(m.Params); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if err := c.permitted(m.Method, r.Channel); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	return c.translated(m.Method, handle(ctx, r))
}

// permitted asks the policy about the commands that create and end channels. For
// who may not see a channel it does not exist (AHP core, 17, 6).
func (c *Conn) permitted(method string, channel ahp.URI) error {
	allow := func(op Op) bool { return c.h.policy.Allow(c.principal, op, channel) }
	switch method {
	case ahp.MethodCreateSession, ahp.MethodCreateChat:
		if err := c.h.storing(); err != nil {
			return err
		}
		if !allow(OpCreate) {
			return ahp.ErrPermissionDenied
		}
	case ahp.MethodDisposeSession, ahp.MethodDisposeChat:
		if !allow(OpSee) {
			return missingError(channel)
		}
		if !allow(OpDispose) {
			return ahp.ErrPermissionDenied
		}
	}
	return nil
}

// channelOf reads params.channel, which every request carries.
func channelOf(params jsontext.Value) (ahp.URI, error) {
	raw, _ := jsonrpc.Member(params, "channel")
	channel, ok := jsonrpc.StringValue(raw)
	if !ok {
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params.channel must be a string")
	}
	return normalRoot(channel), nil
}

// normalRoot undoes a spelling of the root channel that one client library
// makes of it (AHP core, 3).
func normalRoot(u ahp.URI) ahp.URI {
	if u == "ahp-root:" {
		return ahp.RootURI
	}
	return u
}
