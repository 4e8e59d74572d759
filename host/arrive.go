package host

import (
	"strconv"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// arrive handles a notification that belongs to windowed delivery (AHP core,
// 12.2): the controls, and data of a channel that is windowed on this connection.
// It is false for any other.
func (c *Conn) arrive(m jsonrpc.Message) bool {
	switch m.Method {
	case ahp.MethodUnsubscribe:
		return false
	case ahp.MethodChannelReady: // not sent by clients; a peer of an older text may
		return true
	}
	if c.h.registry.notifications[m.Method] != nil {
		return false // addressed to a feature, not data of a subscription
	}
	raw, _ := jsonrpc.Member(m.Params, "channel")
	uri, ok := jsonrpc.StringBytes(raw)
	if !ok {
		return false
	}
	w := c.out.window(uri)
	switch {
	case m.Method == ahp.MethodChannelReset:
		c.unsubscribe(m.Params) // the same end: "subscription ended" (12.5)
	case w == nil:
		return c.early(uri, m)
	case m.Method == ahp.MethodChannelCredit:
		c.credit(w, m.Params)
	default:
		c.data(w, m, flow.Size(c.reading))
	}
	return true
}

// early handles a notification for a private channel that nobody has subscribed
// to yet. Data is not accepted then.
func (c *Conn) early(uri []byte, m jsonrpc.Message) bool {
	s := c.out.stream(uri)
	switch {
	case s == nil:
		return false
	case s.isControl(m.Method):
		s.endpoint.Receive(m.Method, m.Params, 0)
	case m.Method != ahp.MethodChannelCredit:
		s.violated(errEarly)
	}
	return true
}

// data counts a data message, puts frames together and hands over what is whole.
func (c *Conn) data(w *windowed, m jsonrpc.Message, size int64) {
	if s, ok := w.src.(*Stream); ok && s.isControl(m.Method) {
		s.endpoint.Receive(m.Method, m.Params, 0)
		return
	}
	if err := w.arrived(size); err != nil {
		w.src.violated(err)
		return
	}
	if m.Method == ahp.MethodChannelFrame {
		c.piece(w, m.Params, size)
		return
	}
	if err := w.join.Whole(); err != nil {
		w.src.violated(err)
		return
	}
	w.hand(size)
	w.src.receive(m, size)
}

// piece adds a frame to the message it belongs to.
func (c *Conn) piece(w *windowed, params jsontext.Value, size int64) {
	text, final, err := readFrame(params)
	if err == nil && c.joined+int64(len(text)) > c.h.limits.ReassemblyConnBytes {
		err = errJoined
	}
	if err != nil {
		w.src.violated(err)
		return
	}
	before := w.join.Buffered()
	msg, err := w.join.Add(text, final)
	c.joined += int64(w.join.Buffered() - before)
	if err != nil {
		w.src.violated(err)
		return
	}
	if msg == nil {
		w.buffered(size)
		return
	}
	inner, err := jsonrpc.Scan(msg)
	if err == nil {
		err = checkInner(w, inner)
	}
	if err != nil {
		w.src.violated(err)
		return
	}
	w.hand(size)
	w.src.receive(inner, size)
}

// discard forgets an incomplete message of a subscription that has ended.
func (c *Conn) discard(w *windowed) {
	c.joined -= int64(w.join.Buffered())
	w.join.Discard()
}

// checkInner tests a message that came in frames.
func checkInner(w *windowed, m jsonrpc.Message) error {
	kind := flow.Control
	if m.Kind == jsonrpc.KindNotification {
		kind = kindOf(w, m.Method)
	}
	raw, _ := jsonrpc.Member(m.Params, "channel")
	inner, _ := jsonrpc.StringValue(raw)
	return flow.CheckInner(w.uri, kind, normalRoot(inner))
}

// kindOf tells what a notification is to windowed delivery (AHP core, 12.2).
func kindOf(w *windowed, method string) flow.Kind {
	switch method {
	case ahp.MethodChannelFrame:
		return flow.Frame
	case ahp.MethodChannelCredit, ahp.MethodUnsubscribe, ahp.MethodChannelReset, ahp.MethodChannelReady:
		return flow.Control
	}
	if s, ok := w.src.(*Stream); ok && s.isControl(method) {
		return flow.Control
	}
	return flow.Data
}

// readFrame reads the params of a frame.
func readFrame(params jsontext.Value) (text []byte, final bool, err error) {
	ok := false
	err = errFrame
	jsonrpc.EachMember(params, func(name []byte, v jsontext.Value) bool {
		switch string(name) {
		case "data":
			text, ok = jsonrpc.StringBytes(v)
		case "final":
			final = v.Kind() == 't'
		}
		return true
	})
	if ok {
		err = nil
	}
	return text, final, err
}

// credit takes a credit of the client.
func (c *Conn) credit(w *windowed, params jsontext.Value) {
	raw, _ := jsonrpc.Member(params, "consumedBytes")
	consumed, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		err = errCredit
	} else {
		err = c.out.credited(w, consumed)
	}
	if err != nil {
		w.src.violated(err)
	}
}
