package service

import (
	"github.com/causeway-ahp/causeway/host"
	"github.com/go-json-experiment/json/jsontext"
)

// notify relays a notification, or drops it without a word (R9, R10). It runs on
// the sender's reader; what it allocates is the message it sends.
func (f *Feature) notify(c *host.Conn, params jsontext.Value) {
	if !f.withinRate(c) {
		f.metrics.dropRate.Inc()
		return
	}
	m, malformed := f.scan(params)
	if malformed != nil {
		f.metrics.dropMalformed.Inc()
		return
	}
	s := f.services.get(m.serviceID)
	if s == nil {
		f.metrics.dropUnknown.Inc()
		return
	}
	if !f.maySee(c.Principal(), s) || !f.policy.MayNotify(c.Principal(), s.owner.Principal(), s.metadata) {
		f.metrics.dropDenied.Inc()
		return
	}
	out := host.NewMessage(m.room(s.notification))
	out.B = append(m.append(out.B, s.notification, c), "}}"...)
	if s.owner.Relay(out) != nil {
		f.metrics.dropFull.Inc()
		return
	}
	f.metrics.notifications.Inc()
}

// room is about the length of the message behind head.
func (m *message) room(head []byte) int {
	const sender = 64 // about the length of an id
	return len(head) + sender + len(m.method) + len(m.params) + 32
}

// append appends the message with its sender stamped on it, up to the braces that
// end it.
func (m *message) append(dst, head []byte, sender *host.Conn) []byte {
	dst = sender.AppendClientID(append(dst, head...))
	dst = append(append(dst, `,"method":`...), m.method...)
	return append(append(dst, `,"params":`...), m.params...)
}
