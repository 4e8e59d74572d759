package host

import (
	"cmp"
	"slices"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// Retention removes whole sessions that nobody has used for long, and only when
// it was asked for: by default every session is kept for ever. What is in memory
// is in use.

// Retention says which sessions may go. The zero value keeps all.
type Retention struct {
	Age   time.Duration // since the session was changed last; 0: any
	Bytes int64         // of all sessions together; over it the oldest go; 0: any
}

// retiree is a session that could go.
type retiree struct {
	uri      ahp.URI
	modified string
	size     int64
	inUse    bool
}

// retain removes the sessions whose time has come.
func (h *Host) retain(now time.Time) {
	if h.retention == (Retention{}) {
		return
	}
	all, total := h.retirees()
	oldest := ""
	if h.retention.Age > 0 {
		oldest = Timestamp(now.Add(-h.retention.Age))
	}
	for _, r := range all {
		over := h.retention.Bytes > 0 && total > h.retention.Bytes
		if r.inUse || r.modified >= oldest && !over {
			continue
		}
		if h.removeUnused(r.uri) {
			total -= r.size
			h.metrics.retired.Inc()
			h.log.Info("session removed, as its time has come", "session", r.uri, "modified", r.modified)
		}
	}
}

// retirees lists the sessions, least recently changed first, and their size.
func (h *Host) retirees() (list []retiree, total int64) {
	h.seq.mu.Lock()
	defer h.seq.mu.Unlock()
	for ch := range h.seq.sessions {
		r := retiree{uri: ch.uri, modified: ch.session.summary.ModifiedAt, inUse: ch.inUseLocked()}
		for _, c := range append(ch.family(), ch) {
			r.size += int64(c.sizeLocked())
		}
		list, total = append(list, r), total+r.size
	}
	slices.SortFunc(list, func(a, b retiree) int {
		return cmp.Or(cmp.Compare(a.modified, b.modified), cmp.Compare(a.uri, b.uri))
	})
	return list, total
}

func (ch *channel) family() (list []*channel) {
	for _, c := range ch.children {
		list = append(list, c)
	}
	return list
}

// inUseLocked reports whether a session or one of its chats is in memory, is
// followed by somebody or has open work.
func (ch *channel) inUseLocked() bool {
	for _, c := range append(ch.family(), ch) {
		if c.kept == nil || c.state != nil || c.kept.loading != nil || len(c.subscribers()) > 0 {
			return true
		}
	}
	return false
}

// removeUnused removes a session unless it is in use by now.
func (h *Host) removeUnused(uri ahp.URI) bool {
	var st step
	h.seq.mu.Lock()
	defer h.endLocked(&st)
	ch := h.seq.channels[uri]
	if ch == nil || ch.inUseLocked() {
		return false
	}
	for _, c := range ch.family() {
		h.removeLocked(&st, c)
	}
	h.removeLocked(&st, ch)
	h.mirrorRemovedLocked(&st, ch)
	return true
}
