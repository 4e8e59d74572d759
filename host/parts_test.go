package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"pgregory.net/rapid"
)

// TestSnapshotCache: those who ask at once share one encoding, and nothing is
// kept when the last has let go.
func TestSnapshotCache(t *testing.T) {
	w := &Host{encodings: make(chan struct{}, 1)}
	ch := newChannel("ahp-session:/s", nil, labSession("one"), nil)
	whole, part := wholeView, view{turns: 1}
	first, second, other := w.snapshotLocked(ch, whole), w.snapshotLocked(ch, whole), w.snapshotLocked(ch, part)
	if first.encoded != second.encoded || first.encoded == other.encoded {
		t.Error("the same view must share one encoding, another view must not")
	}
	ch.state = labSession("two")
	later := w.snapshotLocked(ch, whole)
	for _, s := range []*snapshot{first, second, other, later} {
		if _, err := s.wire(); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := first.wire()
	b, _ := second.wire()
	if &a.State[0] != &b.State[0] {
		t.Error("one encoding was made twice")
	}
	if c, _ := later.wire(); string(a.State) == string(c.State) {
		t.Error("a later state was answered with an older one")
	}
	releaseAll([]*snapshot{first, other, later})
	if n := len(ch.snapshots.items); n != 1 {
		t.Errorf("%d encodings held, want the one in use", n)
	}
	second.release()
	if n := len(ch.snapshots.items); n != 0 {
		t.Errorf("%d encodings held, want none", n)
	}
}

// TestSnapshotDropped: a connection that ends before its answers were written
// lets go of their states.
func TestSnapshotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		w := newWorld(t, Options{Store: gate})
		if err := w.h.Create("ahp-session:/s", labSession("x"), ""); err != nil {
			t.Fatal(err)
		}
		p := w.peer("a")
		p.initialize("a")
		gate.hold(nil)
		w.h.Apply("ahp-session:/s", &ahp.SessionTitleChanged{Title: "held"})
		for id := range 3 {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"subscribe","params":{"channel":"ahp-session:/s"}}`, id+10))
		}
		synctest.Wait()
		ch := w.h.seq.channels["ahp-session:/s"]
		if n := len(ch.snapshots.items); n != 1 {
			t.Errorf("%d encodings wait, want 1", n)
		}
		p.close()
		synctest.Wait()
		if n := len(ch.snapshots.items); n != 0 {
			t.Errorf("%d encodings are held for a connection that is gone", n)
		}
		if len(ch.subscribers()) != 0 {
			t.Error("a connection that is gone is subscribed")
		}
	})
}

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

// TestCursors: a cursor opens in its scope only, and not when a bit of it has
// changed.
func TestCursors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cursors{key: []byte(rapid.StringN(1, 32, -1).Draw(t, "key"))}
		scope, value := rapid.String().Draw(t, "scope"), rapid.String().Draw(t, "value")
		cursor := c.seal(scope, value)
		if got, ok := c.open(scope, cursor); !ok || got != value {
			t.Fatalf("open: %q, %v, want %q", got, ok, value)
		}
		if _, ok := c.open(scope+"x", cursor); ok {
			t.Fatal("opened in another scope")
		}
		if _, ok := (cursors{key: []byte("another key of another process")}).open(scope, cursor); ok {
			t.Fatal("opened by another host")
		}
		forged := []byte(cursor)
		i := rapid.IntRange(0, len(forged)-1).Draw(t, "at")
		forged[i] ^= 1
		if got, ok := c.open(scope, string(forged)); ok && got != value {
			t.Fatalf("a forged cursor opened as %q", got)
		}
	})
}

// TestEffectOrder: effects of a channel run one at a time, in the order of their
// numbers, while channels do not wait for each other.
func TestEffectOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		var mu sync.Mutex
		running, seen := make(map[ahp.URI]int), make(map[ahp.URI][]uint64)
		together := 0
		chatScheme := w.h.registry.schemes[ahp.KindChat]
		chatScheme.Effect = func(ctx context.Context, e Committed) {
			mu.Lock()
			running[e.Channel]++
			together = max(together, len(running))
			if running[e.Channel] > 1 {
				t.Errorf("two effects of %s run at a time", e.Channel)
			}
			seen[e.Channel] = append(seen[e.Channel], e.ServerSeq)
			mu.Unlock()
			_ = sleep(ctx, time.Second)
			mu.Lock()
			delete(running, e.Channel)
			mu.Unlock()
		}
		p := w.peer("a")
		p.initialize("a")
		must(w.h.Create("ahp-session:/s", labSession("x"), "") == nil, "")
		for _, chat := range []ahp.URI{"ahp-chat:/1", "ahp-chat:/2"} {
			if err := w.h.Create(chat, labChat(chat), "ahp-session:/s"); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 10 {
			chat := fmt.Sprint("ahp-chat:/", 1+i%2)
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"chat/turnStarted","turnId":"t%d","startedAt":"x","message":{"text":"go"}}}}`, chat, 2*i+1, i))
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"chat/turnCancelled","turnId":"t%d"}}}`, chat, 2*i+2, i))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for chat, list := range seen {
			if len(list) != 5 || !slices.IsSorted(list) {
				t.Errorf("effects of %s: %v, want 5 in order", chat, list)
			}
		}
		if len(seen) != 2 || together != 2 {
			t.Errorf("%d channels had effects, %d at a time, want 2", len(seen), together)
		}
	})
}

// TestCommitsRace: an entry that is parked while the mark moves is delivered all
// the same.
func TestCommitsRace(t *testing.T) {
	for range 200 {
		done := make(chan struct{})
		c := &commits{moved: make(chan struct{}), overrun: func(*Conn) {}}
		c.journal = journal.New(journal.Options{Store: newGate(), Committed: func(seq uint64) {
			c.committed(seq)
			if seq == 2 {
				close(done)
			}
		}})
		o := &outbox{maxBytes: 1 << 30, maxCount: 1 << 30, wake: make(chan struct{}, 1)}
		ch := newChannel("c", nil, nil, nil)
		ch.addSubscriberLocked(newSubscription(ch, &Conn{out: o}))
		for seq := range uint64(2) {
			e := &entry{seq: seq + 1}
			ch.appendLocked(e)
			if err := c.journal.Append(&journal.Record{Seq: e.seq}); err != nil {
				t.Fatal(err)
			}
			c.wake(touch{ch, e})
		}
		<-done
		if err := c.wait(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if n := o.count.Load(); n != 2 || len(c.waiting) != 0 {
			t.Fatalf("%d of 2 delivered, %d parked", n, len(c.waiting))
		}
		if err := c.journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
