package host

import (
	"fmt"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// Create makes a channel with its first state. A chat names its session as
// parent; the session learns of it with session/chatAdded. A session appears in
// the session list. The error is ErrAlreadyExists (ErrSessionAlreadyExists for
// a session), ErrSessionNotFound without the parent, or a limit.
func (h *Host) Create(uri ahp.URI, state any, parent ahp.URI) error {
	scheme := h.registry.schemes[ahp.KindOf(uri)]
	if scheme == nil || scheme.Class == Private {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "no channel of this kind is served: %s", uri)
	}
	body, err := ahp.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode first state of %s: %w", uri, err)
	}
	if err := h.lockWith(parent); err != nil {
		return err
	}
	var st step
	defer h.endLocked(&st)
	return h.createLocked(&st, newChannel(uri, scheme, state, nil), parent, body)
}

func (h *Host) createLocked(st *step, ch *channel, parent ahp.URI, body []byte) error {
	if h.seq.channels[ch.uri] != nil {
		if ch.scheme.Kind == ahp.KindSession {
			return ahp.ErrSessionAlreadyExists
		}
		return ahp.ErrAlreadyExists
	}
	if parent != "" {
		if ch.parent = h.seq.channels[parent]; ch.parent == nil {
			return ahp.ErrSessionNotFound
		}
	}
	if err := h.roomLocked(ch); err != nil {
		return err
	}
	ch.born = h.seq.seq
	h.seq.addLocked(ch)
	createdAt := Now()
	if ch.scheme.Class == Shared {
		rec := &journal.Record{Seq: h.seq.seq, Kind: journal.Created, Channel: ch.uri, Body: body, Open: ch.unfinishedLocked()}
		if ch.scheme.Durable {
			rec.Birth = &journal.Birth{Parent: parent, CreatedAt: createdAt}
			h.archiveLocked(ch)
		}
		st.records = append(st.records, rec)
	}
	h.mirrorCreatedLocked(st, ch, createdAt)
	return nil
}

// roomLocked refuses a channel over a limit.
func (h *Host) roomLocked(ch *channel) error {
	switch {
	case ch.scheme.Kind == ahp.KindSession && len(h.seq.sessions) >= h.limits.Sessions:
		h.LimitReached(limitSessions)
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "the host holds %d sessions, its limit; dispose one first", h.limits.Sessions)
	case ch.parent != nil && len(ch.parent.children) >= h.limits.ChatsPerSession:
		h.LimitReached(limitChats)
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "the session holds %d chats, its limit; dispose one first", h.limits.ChatsPerSession)
	}
	return nil
}

// Remove ends a channel and its children. What was sent to its subscribers
// before still reaches them. It is false when the channel does not exist, for
// the root channel, which stays, and for a chat whose session cannot be read.
func (h *Host) Remove(uri ahp.URI) bool {
	gone, ended, ok := h.remove(uri)
	for _, s := range ended {
		h.tellUnsubscribed(s.conn, s.ch.uri)
	}
	for _, uri := range gone {
		h.tellRemoved(uri)
	}
	return ok
}

func (h *Host) tellRemoved(uri ahp.URI) {
	h.tell(uri, func(hooks *Hooks) {
		if hooks.Removed != nil {
			hooks.Removed(uri)
		}
	})
}

func (h *Host) remove(uri ahp.URI) (gone []ahp.URI, ended []*subscription, ok bool) {
	if err := h.lockWith(h.Parent(uri)); err != nil {
		return nil, nil, false
	}
	var st step
	defer h.endLocked(&st)
	ch := h.seq.channels[uri]
	if ch == nil || ch == h.root {
		return nil, nil, false
	}
	for _, child := range ch.children {
		gone = append(gone, child.uri)
		ended = append(ended, h.removeLocked(&st, child)...)
	}
	gone = append(gone, ch.uri)
	ended = append(ended, h.removeLocked(&st, ch)...)
	h.mirrorRemovedLocked(&st, ch)
	return gone, ended, true
}

// removeLocked ends one channel and returns the subscriptions it had. They drain.
func (h *Host) removeLocked(st *step, ch *channel) (ended []*subscription) {
	h.seq.dropLocked(ch)
	if ch.scheme.Class == Shared {
		st.records = append(st.records, &journal.Record{Seq: h.seq.seq, Kind: journal.Removed, Channel: ch.uri})
	}
	ended = ch.subscribers()
	for _, s := range ended {
		delete(s.conn.subs, ch.uri)
		s.conn.out.end(s)
	}
	ch.subs.Store(nil)
	return ended
}

// Children returns the URIs of the chats of a session.
func (h *Host) Children(uri ahp.URI) []ahp.URI {
	h.seq.mu.Lock()
	defer h.seq.mu.Unlock()
	ch := h.seq.channels[uri]
	if ch == nil {
		return nil
	}
	uris := make([]ahp.URI, 0, len(ch.children))
	for u := range ch.children {
		uris = append(uris, u)
	}
	return uris
}

// Parent returns the session of a chat, "" when there is none.
func (h *Host) Parent(uri ahp.URI) ahp.URI {
	h.seq.mu.Lock()
	defer h.seq.mu.Unlock()
	if ch := h.seq.channels[uri]; ch != nil && ch.parent != nil {
		return ch.parent.uri
	}
	return ""
}
