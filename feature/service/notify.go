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
	if err := s.owner.Relay(appendMessage(s.notification, c, &m, "}}")); err != nil {
		f.metrics.dropFull.Inc()
		return
	}
	f.metrics.notifications.Inc()
}

// senderRoom is about the length of a sender's id.
const senderRoom = 64

// appendMessage stamps the sender on a message and puts it behind head.
func appendMessage(head []byte, c *host.Conn, m *message, tail string) []byte {
	msg := make([]byte, 0, len(head)+senderRoom+len(m.method)+len(m.params)+32)
	msg = append(msg, head...)
	msg = c.AppendClientID(msg)
	msg = append(msg, `,"method":`...)
	msg = append(msg, m.method...)
	msg = append(msg, `,"params":`...)
	msg = append(msg, m.params...)
	return append(msg, tail...)
}
