package service

import (
	"bytes"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// sender takes the notifications of one connection. It belongs to its reader.
type sender struct {
	f    *Feature
	conn *host.Conn

	// What the notification before this one was, up to its params: most are like it.
	head   []byte
	last   message
	target *service // nil if it was unknown in roll
	roll   *roll
	prefix []byte // how what target is sent begins, up to the params
}

func (f *Feature) sender(c *host.Conn) host.NotificationHandler {
	return (&sender{f: f, conn: c}).notify
}

// notify relays a notification, or drops it without a word (R9, R10). What it
// allocates for it is given back when it has left.
func (x *sender) notify(m jsonrpc.Message) {
	f := x.f
	if !f.withinRate(x.conn) {
		f.metrics.dropRate.Inc()
		return
	}
	msg, malformed := x.read(&m)
	if malformed != nil {
		f.metrics.dropMalformed.Inc()
		return
	}
	s := x.find()
	if s == nil {
		f.metrics.dropUnknown.Inc()
		return
	}
	if p := x.conn.Principal(); !f.maySee(p, s) || !f.policy.MayNotify(p, s.owner.Principal(), s.metadata) {
		f.metrics.dropDenied.Inc()
		return
	}
	if s.owner.Relay(x.prefix, msg.params, closing) != nil {
		f.metrics.dropFull.Inc()
		return
	}
	f.metrics.notifications.Inc()
}

// read takes a notification apart. One that differs from the last only in its params
// is not looked at again, but for those.
func (x *sender) read(m *jsonrpc.Message) (*message, *ahp.Error) {
	head, params, ok := m.Split()
	if ok && len(x.head) > 0 && bytes.Equal(head, x.head) {
		x.last.params = params
		return &x.last, x.f.checkParams(params)
	}
	x.head = x.head[:0]
	msg, err := x.f.scan(m.Params)
	if err != nil {
		return nil, err
	}
	x.last = message{
		serviceID: append(x.last.serviceID[:0], msg.serviceID...),
		method:    append(x.last.method[:0], msg.method...),
		params:    msg.params,
	}
	x.target, x.roll = nil, nil
	if ok && &params[0] == &msg.params[0] {
		x.head = append(x.head, head...)
	}
	return &x.last, nil
}

// find looks the service up, unless it was found for the notification before and
// nothing was registered or unregistered since.
func (x *sender) find() *service {
	if now := x.f.services.roll(); x.target == nil || x.roll != now {
		x.target, x.roll = x.f.services.get(x.last.serviceID), now
		if s := x.target; s != nil {
			x.prefix = x.last.appendPrefix(x.prefix[:0], s.notification, x.conn)
		}
	}
	return x.target
}

// closing ends a relayed notification.
var closing = []byte("}}")

// appendPrefix appends what stands before the params of a relayed message, with the
// sender stamped on.
func (m *message) appendPrefix(dst, head []byte, from *host.Conn) []byte {
	dst = append(append(dst, head...), from.QuotedClientID()...)
	dst = append(append(dst, `,"method":`...), m.method...)
	return append(dst, `,"params":`...)
}

// callParams are the params of a call as its service gets them.
func (m *message) callParams(s *service, caller *host.Conn) jsontext.Value {
	const around = 128 // about what stands around method and params
	dst := make([]byte, 0, len(s.request)+len(m.method)+len(m.params)+around)
	return append(append(m.appendPrefix(dst, s.request, caller), m.params...), '}')
}
