package host

import (
	"container/list"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
)

// lineage is what one initialize starts and every reconnect continues: a client
// over several connections. The sequencer's lock guards what changes.
type lineage struct {
	id        uint64
	clientID  string
	principal Principal
	version   string // as negotiated, for the whole lineage

	conn   *Conn         // nil while the client is away
	lostAt time.Time     // since when
	place  *list.Element // among those away
	seen   bool          // high is set
	high   uint64        // the highest clientSeq processed

	windows map[ahp.URI]flow.Limits // of its windowed subscriptions when it was last connected
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

// lineages remembers clients by the id they chose: the newest lineage of each.
// The sequencer's lock guards it.
type lineages struct {
	last  uint64
	byID  map[string]*lineage
	away  *list.List // of those without a connection, the longest lost first
	grace time.Duration
	max   int // bounds away

	reached   func(limit string) // counts what clients are forgotten for
	forgotten func(*lineage)     // told of each that nobody can continue any more; nil for nobody
}

func newLineages(grace time.Duration, most int) lineages {
	return lineages{byID: make(map[string]*lineage), away: list.New(), grace: grace, max: most, reached: func(string) {}}
}

// startLocked begins a lineage for a connection. It is nil when the id is held
// by, or remembered for, another principal (AHP core, 17, 3).
func (t *lineages) startLocked(c *Conn, clientID, version string, now time.Time) *lineage {
	t.expireLocked(now)
	if old := t.byID[clientID]; old != nil {
		if old.principal != c.principal {
			return nil
		}
		t.forgetLocked(old)
	}
	t.last++
	l := &lineage{id: t.last, clientID: clientID, principal: c.principal, version: version, conn: c}
	t.byID[clientID] = l
	return l
}

// restoreLocked takes in a client of an earlier process, lost now.
func (t *lineages) restoreLocked(l *lineage, now time.Time) {
	t.byID[l.clientID] = l
	l.lostAt, l.place = now, t.away.PushBack(l)
	if t.away.Len() > t.max {
		t.reached(limitRemembered)
		t.forgetLocked(t.away.Front().Value.(*lineage))
	}
}

// findLocked returns the lineage a client id names.
func (t *lineages) findLocked(clientID string, p Principal, now time.Time) (*lineage, error) {
	t.expireLocked(now)
	l := t.byID[clientID]
	if l == nil {
		return nil, ahp.ErrNotFound
	}
	if l.principal != p {
		return nil, ahp.ErrPermissionDenied
	}
	return l, nil
}

// continueLocked makes c the connection of a lineage and returns the one before,
// nil when that has gone.
func (t *lineages) continueLocked(l *lineage, c *Conn) (old *Conn) {
	if l.place != nil {
		t.away.Remove(l.place)
		l.place = nil
	}
	old, l.conn = l.conn, c
	return old
}

// lostLocked notes that a connection has ended. Its lineage is remembered for the
// grace time, unless another connection or another lineage has taken its place.
func (t *lineages) lostLocked(c *Conn, now time.Time) {
	l := c.lineage
	if l == nil || l.conn != c {
		return
	}
	l.conn = nil
	if t.byID[l.clientID] != l {
		return
	}
	l.lostAt, l.place = now, t.away.PushBack(l)
	if t.away.Len() > t.max {
		t.reached(limitRemembered)
		t.forgetLocked(t.away.Front().Value.(*lineage))
	}
}

// expireLocked forgets clients that have been away for longer than the grace
// time.
func (t *lineages) expireLocked(now time.Time) {
	for e := t.away.Front(); e != nil; e = t.away.Front() {
		l := e.Value.(*lineage)
		if now.Sub(l.lostAt) <= t.grace {
			return
		}
		t.reached(limitGrace)
		t.forgetLocked(l)
	}
}

func (t *lineages) forgetLocked(l *lineage) {
	if t.forgotten != nil {
		t.forgotten(l)
	}
	delete(t.byID, l.clientID)
	if l.place != nil {
		t.away.Remove(l.place)
		l.place = nil
	}
}
