package host

import (
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// lineage is what one initialize starts and every reconnect continues: a client
// over several connections. The sequencer's lock guards what changes.
type lineage struct {
	id        uint64
	clientID  string
	principal Principal
	version   string // as negotiated, for the whole lineage

	conn   *Conn     // nil while the client is away
	lostAt time.Time // since when
	seen   bool      // high is set
	high   uint64    // the highest clientSeq processed
}

// seenLocked reports whether clientSeq was processed before, and otherwise marks
// it so.
func (l *lineage) seenLocked(clientSeq uint64) bool {
	if l.seen && clientSeq <= l.high {
		return true
	}
	l.seen, l.high = true, clientSeq
	return false
}

// lostLocked notes that a connection of the lineage has ended.
func (l *lineage) lostLocked(c *Conn, now time.Time) {
	if l.conn == c {
		l.conn, l.lostAt = nil, now
	}
}

// lineages remembers clients by the id they chose: the newest lineage of each.
// The sequencer's lock guards it.
type lineages struct {
	last  uint64
	byID  map[string]*lineage
	grace time.Duration
	max   int
	swept time.Time // when expired ones were looked for
}

// startLocked begins a lineage for a connection. It is nil when the id is held
// by, or remembered for, another principal (AHP core, 17, 3).
func (t *lineages) startLocked(c *Conn, clientID, version string, now time.Time) *lineage {
	t.expireLocked(now)
	old := t.byID[clientID]
	if old != nil && old.principal != c.principal && !t.expired(old, now) {
		return nil
	}
	if old == nil && len(t.byID) >= t.max {
		t.evictLocked()
	}
	t.last++
	l := &lineage{id: t.last, clientID: clientID, principal: c.principal, version: version, conn: c}
	t.byID[clientID] = l
	return l
}

// findLocked returns the lineage a client id names.
func (t *lineages) findLocked(clientID string, p Principal, now time.Time) (*lineage, error) {
	t.expireLocked(now)
	l := t.byID[clientID]
	if l == nil || t.expired(l, now) {
		return nil, ahp.ErrNotFound
	}
	if l.principal != p {
		return nil, ahp.ErrPermissionDenied
	}
	return l, nil
}

// expired reports whether a client has been away for longer than the grace time.
func (t *lineages) expired(l *lineage, now time.Time) bool {
	return l.conn == nil && now.Sub(l.lostAt) > t.grace
}

// expireEvery is how often clients that stay away are looked for, at most.
const expireEvery = time.Minute

// expireLocked forgets clients that have been away for too long.
func (t *lineages) expireLocked(now time.Time) {
	if now.Sub(t.swept) < expireEvery {
		return
	}
	t.swept = now
	for id, l := range t.byID {
		if t.expired(l, now) {
			delete(t.byID, id)
		}
	}
}

// evictLocked forgets the client that was lost longest ago. Those that are
// connected stay.
func (t *lineages) evictLocked() {
	var oldest *lineage
	for _, l := range t.byID {
		if l.conn == nil && (oldest == nil || l.lostAt.Before(oldest.lostAt)) {
			oldest = l
		}
	}
	if oldest != nil {
		delete(t.byID, oldest.clientID)
	}
}
