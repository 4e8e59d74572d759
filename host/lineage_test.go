package host

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// lineageModel is the table of clients beside a list of who was lost, in order.
type lineageModel struct {
	table lineages
	now   time.Time
	conns map[string]*Conn // the newest connection of each client
	lost  []string
	since map[string]time.Time
}

const lineageGrace, lineageBound = 10 * time.Minute, 2

func newLineageModel() *lineageModel {
	return &lineageModel{
		table: newLineages(lineageGrace, lineageBound), now: time.Unix(1e9, 0),
		conns: make(map[string]*Conn), since: make(map[string]time.Time),
	}
}

func drawClient(t *rapid.T) (string, Principal) {
	return rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "client"),
		rapid.SampledFrom([]Principal{"x", "x", "x", "y"}).Draw(t, "principal")
}

// holder is who a client id belongs to, "" when it is free.
func (m *lineageModel) holder(id string) Principal {
	if c := m.conns[id]; c != nil {
		return c.principal
	}
	return ""
}

func (m *lineageModel) forget(id string) {
	delete(m.conns, id)
	m.lost = slices.DeleteFunc(m.lost, func(s string) bool { return s == id })
}

func (m *lineageModel) Time(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second)
	for _, id := range slices.Clone(m.lost) {
		if m.now.Sub(m.since[id]) > lineageGrace {
			m.forget(id)
		}
	}
}

func (m *lineageModel) Start(t *rapid.T) {
	id, p := drawClient(t)
	c := &Conn{principal: p}
	c.lineage = m.table.startLocked(c, id, "1.1.0", m.now)
	if h := m.holder(id); (h == "" || h == p) != (c.lineage != nil) {
		t.Fatalf("start of %s, held by %q, by %s: %v", id, h, p, c.lineage)
	}
	if c.lineage != nil {
		m.forget(id)
		m.conns[id] = c
	}
}

func (m *lineageModel) Reconnect(t *rapid.T) {
	id, p := drawClient(t)
	l, err := m.table.findLocked(id, p, m.now)
	if (m.holder(id) == p) != (err == nil) {
		t.Fatalf("find of %s, held by %q, by %s: %v", id, m.holder(id), p, err)
	}
	if err != nil {
		return
	}
	before, away := m.conns[id], slices.Contains(m.lost, id)
	c := &Conn{principal: p, lineage: l}
	if old := m.table.continueLocked(l, c); l != before.lineage || (old == before) == away {
		t.Fatalf("%s continues %v and replaces %v, want %v of %v, away %v", id, l, old, before, before.lineage, away)
	}
	m.table.lostLocked(before, m.now) // it ends, and takes nothing with it
	m.forget(id)
	m.conns[id] = c
}

func (m *lineageModel) Lose(t *rapid.T) {
	id, _ := drawClient(t)
	c := m.conns[id]
	if c == nil || slices.Contains(m.lost, id) {
		t.Skip("not connected")
	}
	m.table.lostLocked(c, m.now)
	m.lost, m.since[id] = append(m.lost, id), m.now
	if len(m.lost) > lineageBound {
		m.forget(m.lost[0])
	}
}

// Check implements rapid.StateMachine.
func (m *lineageModel) Check(t *rapid.T) {
	m.table.expireLocked(m.now)
	var away []string
	for e := m.table.away.Front(); e != nil; e = e.Next() {
		away = append(away, e.Value.(*lineage).clientID)
	}
	if len(m.table.byID) != len(m.conns) || !slices.Equal(away, m.lost) {
		t.Fatalf("%d clients are known and %v away, want %d and %v", len(m.table.byID), away, len(m.conns), m.lost)
	}
}

func TestLineageModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { t.Repeat(rapid.StateMachineActions(newLineageModel())) })
}
