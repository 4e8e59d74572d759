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
	last   uint64
	byID   map[string]*lineage
	grace  time.Duration
	max    int
	pruned time.Time
}

// startLocked begins a lineage for a connection. It is nil when the id is held
// by, or remembered for, another principal (AHP core, 17, 3).
func (t *lineages) startLocked(c *Conn, clientID, version string, now time.Time) *lineage {
	t.pruneLocked(now)
	if old := t.byID[clientID]; old != nil && old.principal != c.principal {
		return nil
	}
	t.last++
	l := &lineage{id: t.last, clientID: clientID, principal: c.principal, version: version, conn: c}
	t.byID[clientID] = l
	return l
}

// findLocked returns the lineage a client id names.
func (t *lineages) findLocked(clientID string, p Principal, now time.Time) (*lineage, error) {
	t.pruneLocked(now)
	l := t.byID[clientID]
	if l == nil || l.conn == nil && now.Sub(l.lostAt) > t.grace {
		return nil, ahp.ErrNotFound
	}
	if l.principal != p {
		return nil, ahp.ErrPermissionDenied
	}
	return l, nil
}

// pruneEvery is how often clients that stay away are looked for, at most.
const pruneEvery = time.Minute

// pruneLocked forgets clients that have been away for longer than the grace
// time, and at the bound the longest lost one.
func (t *lineages) pruneLocked(now time.Time) {
	full := len(t.byID) >= t.max
	if now.Sub(t.pruned) < pruneEvery && !full {
		return
	}
	t.pruned = now
	var oldest *lineage
	for id, l := range t.byID {
		if l.conn != nil {
			continue
		}
		if now.Sub(l.lostAt) > t.grace {
			delete(t.byID, id)
		} else if oldest == nil || l.lostAt.Before(oldest.lostAt) {
			oldest = l
		}
	}
	if oldest != nil && len(t.byID) >= t.max {
		delete(t.byID, oldest.clientID)
	}
}
