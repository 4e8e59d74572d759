package client

import (
	"bytes"
	"maps"
	"sync/atomic"

	"github.com/causeway-ahp/causeway/jsonrpc"
)

// services are those of this client on one connection, by id. Look-ups, one for each
// notification, take no lock; changes are rare and copy. The client's lock serialises
// them.
type services struct {
	byID atomic.Pointer[map[string]*Registration]
}

func (s *services) now() map[string]*Registration {
	if m := s.byID.Load(); m != nil {
		return *m
	}
	return nil
}

func (s *services) addLocked(id string, r *Registration) {
	next := map[string]*Registration{id: r}
	maps.Copy(next, s.now())
	s.byID.Store(&next)
}

func (s *services) removeLocked(id string) {
	next := maps.Clone(s.now())
	delete(next, id)
	s.byID.Store(&next)
}

// heard is what the last notification for a service of this client was, up to its
// params: most are like the one before. It is the reader's.
type heard struct {
	head   []byte
	served *map[string]*Registration // when the service was looked up
	to     *Registration
	from   Sender
	method string
}

// serviceNotified handles a notification for a service of this client, on the
// reader. One for an unknown service crossed its end, and is dropped. Nothing of the
// message is kept.
func (l *link) serviceNotified(m *jsonrpc.Message) {
	h := &l.heard
	head, params, ok := m.Split()
	if !ok || len(h.head) == 0 || !bytes.Equal(head, h.head) || h.served != l.served.byID.Load() {
		if params, ok = l.listen(m); !ok {
			return
		}
	}
	h.to.inbox.put(delivery{from: h.from, method: h.method, params: params}, &h.to.options)
}

// listen reads a notification as a whole and remembers it; it is false for one that
// is for nobody.
func (l *link) listen(m *jsonrpc.Message) (params []byte, ok bool) {
	h := &l.heard
	h.head = h.head[:0]
	h.served = l.served.byID.Load()
	in, ok := readRelayed(m.Params)
	if h.to = l.service(in.service); !ok || h.to == nil {
		return nil, false
	}
	if h.from.ClientID != string(in.sender) {
		h.from.ClientID = string(in.sender)
	}
	if h.method != string(in.method) {
		h.method = string(in.method)
	}
	if head, last, ok := m.Split(); ok && &last[0] == &in.params[0] {
		h.head = append(h.head, head...)
	}
	return in.params, true
}
