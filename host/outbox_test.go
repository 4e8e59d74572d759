package host

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// outboxModel is an outbox beside the list of what must come out of it, in
// order. It plays the sequencer: numbers, places, publishing, late offers.
type outboxModel struct {
	t         *rapid.T
	o         *outbox
	published atomic.Uint64
	committed uint64
	seq       uint64
	place     uint64

	channels []*channel
	subs     map[*channel]*subscription
	offers   []func() // wakings that have not happened yet
	urgent   []string
	want     []awaited
	items    int // direct items that must be done in the end
	done     int
}

// awaited is a message that must come out.
type awaited struct {
	place  uint64
	direct bool
	seq    uint64
	name   string
	sub    *subscription
}

func newOutboxModel(t *rapid.T) *outboxModel {
	m := &outboxModel{t: t, subs: make(map[*channel]*subscription)}
	m.o = &outbox{
		published: &m.published, committed: func() uint64 { return m.committed },
		maxBytes: 1 << 40, maxCount: 1 << 40, wake: make(chan struct{}, 1),
	}
	for i := range 4 {
		m.channels = append(m.channels, newChannel(fmt.Sprint("c", i), nil, nil, nil))
	}
	return m
}

// expect inserts by place; among equals entries come before items, and items in
// the order in which they were pushed.
func (m *outboxModel) expect(w awaited) {
	i := len(m.want)
	for i > 0 && (m.want[i-1].place > w.place) {
		i--
	}
	m.want = slices.Insert(m.want, i, w)
}

// Append puts entries into the logs of one or two channels, in one step.
func (m *outboxModel) Append(t *rapid.T) {
	for range rapid.IntRange(1, 3).Draw(t, "entries") {
		ch := rapid.SampledFrom(m.channels).Draw(t, "channel")
		m.place++
		if rapid.Bool().Draw(t, "numbered") {
			m.seq++
		}
		e := &entry{place: m.place, seq: m.seq, cost: int64(rapid.IntRange(0, 50).Draw(t, "cost")), msg: []byte(fmt.Sprint("e", m.place))}
		ch.appendLocked(e)
		if s := m.subs[ch]; s != nil {
			m.expect(awaited{place: e.place, seq: e.seq, name: string(e.msg), sub: s})
			m.offers = append(m.offers, func() { m.o.offer(s, e) })
		}
	}
}

// Publish ends a step.
func (m *outboxModel) Publish(*rapid.T) { m.published.Store(m.place) }

// Offer wakes for some entry, in no particular order.
func (m *outboxModel) Offer(t *rapid.T) {
	if len(m.offers) == 0 {
		t.Skip("none")
	}
	i := rapid.IntRange(0, len(m.offers)-1).Draw(t, "offer")
	m.offers[i]()
	m.offers = slices.Delete(m.offers, i, i+1)
}

// Push sends a response: behind all that is published.
func (m *outboxModel) Push(t *rapid.T) {
	m.items++
	w := awaited{place: m.published.Load(), direct: true, name: fmt.Sprint("d", m.items)}
	m.o.push(item{msg: []byte(w.name), done: m.finished})
	m.expect(w)
}

// PushNumbered sends a rejection: a step of its own.
func (m *outboxModel) PushNumbered(t *rapid.T) {
	m.Publish(t)
	m.items++
	m.place++
	m.seq++
	w := awaited{place: m.place, direct: true, seq: m.seq, name: fmt.Sprint("r", m.items)}
	m.o.push(item{place: w.place, seq: w.seq, render: func() []byte { return []byte(w.name) }, done: m.finished})
	m.Publish(t)
	m.expect(w)
}

func (m *outboxModel) finished() { m.done++ }

func (m *outboxModel) Urgent(*rapid.T) {
	name := fmt.Sprint("u", len(m.urgent))
	m.o.pushUrgent([]byte(name))
	m.urgent = append(m.urgent, name)
}

func (m *outboxModel) Commit(t *rapid.T) {
	m.committed = uint64(rapid.IntRange(int(m.committed), int(m.seq)).Draw(t, "committed"))
}

// Attach subscribes to a channel, with the answer before all that follows.
func (m *outboxModel) Attach(t *rapid.T) {
	ch := rapid.SampledFrom(m.channels).Draw(t, "channel")
	if m.subs[ch] != nil {
		t.Skip("subscribed")
	}
	m.Publish(t)
	m.items++
	s := newSubscription(ch, nil)
	m.subs[ch] = s
	w := awaited{place: m.place, direct: true, seq: m.seq, name: fmt.Sprint("s", m.items)}
	m.o.attach(item{place: w.place, seq: w.seq, msg: []byte(w.name), done: m.finished}, s)
	m.expect(w)
}

// Detach unsubscribes: what waits is gone.
func (m *outboxModel) Detach(t *rapid.T) {
	ch := rapid.SampledFrom(m.channels).Draw(t, "channel")
	s := m.subs[ch]
	if s == nil {
		t.Skip("not subscribed")
	}
	delete(m.subs, ch)
	m.o.detach(s)
	m.want = slices.DeleteFunc(m.want, func(w awaited) bool { return w.sub == s })
}

// End removes a channel: what waits still comes. Another takes its place.
func (m *outboxModel) End(t *rapid.T) {
	i := rapid.IntRange(0, len(m.channels)-1).Draw(t, "channel")
	ch := m.channels[i]
	if s := m.subs[ch]; s != nil {
		m.Publish(t)
		m.o.end(s)
	}
	delete(m.subs, ch)
	m.channels[i] = newChannel(ch.uri, nil, nil, nil)
}

// Take takes a batch and holds it against the list.
func (m *outboxModel) Take(t *rapid.T) {
	out, waitFor := m.o.take(nil, rapid.IntRange(1, 200).Draw(t, "bytes"))
	m.match(out)
	if waitFor == 0 {
		return
	}
	if waitFor <= m.committed || len(m.want) == 0 || m.want[0].seq != waitFor {
		t.Fatalf("waits for %d with %d committed, next is %+v", waitFor, m.committed, m.want)
	}
}

func (m *outboxModel) match(out []outgoing) {
	m.t.Helper()
	for i := range out {
		name := string(out[i].msg)
		switch {
		case out[i].entry != nil:
			name = string(out[i].entry.msg)
		case out[i].render != nil:
			name = string(out[i].render())
		}
		if out[i].done != nil {
			out[i].done()
		}
		if strings.HasPrefix(name, "u") {
			if len(m.urgent) == 0 || m.urgent[0] != name {
				m.t.Fatalf("got %s, want urgent %v", name, m.urgent)
			}
			m.urgent = m.urgent[1:]
			continue
		}
		if len(m.want) == 0 || m.want[0].name != name {
			m.t.Fatalf("got %s, want %+v", name, m.want)
		}
		if w := m.want[0]; w.seq > m.committed || !w.direct && w.place > m.published.Load() {
			m.t.Fatalf("%s left before its time: %+v, committed %d, published %d", name, w, m.committed, m.published.Load())
		}
		m.want = m.want[1:]
	}
}

// Check implements rapid.StateMachine: once everybody was woken, the count is
// that of what waits.
func (m *outboxModel) Check(t *rapid.T) {
	if n := m.o.count.Load(); len(m.offers) == 0 && n != int64(len(m.want)+len(m.urgent)) {
		t.Fatalf("%d messages are counted, %d wait", n, len(m.want)+len(m.urgent))
	}
}

// drain lets everything happen that is due and takes all of it.
func (m *outboxModel) drain() {
	m.published.Store(m.place)
	m.committed = m.seq
	for _, offer := range m.offers {
		offer()
	}
	for {
		out, _ := m.o.take(nil, 1000)
		if len(out) == 0 {
			break
		}
		m.match(out)
	}
	if len(m.want) > 0 || len(m.urgent) > 0 {
		m.t.Fatalf("never sent: %+v %v", m.want, m.urgent)
	}
	if b, n := m.o.bytes.Load(), m.o.count.Load(); b != 0 || n != 0 {
		m.t.Fatalf("drained, yet %d bytes in %d messages are counted", b, n)
	}
	if m.done != m.items {
		m.t.Fatalf("%d items done, want %d", m.done, m.items)
	}
}

func TestOutboxModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newOutboxModel(t)
		t.Repeat(rapid.StateMachineActions(m))
		if rapid.Bool().Draw(t, "close") {
			m.o.close()
			for _, offer := range m.offers {
				offer()
			}
			m.o.push(item{done: m.finished})
			if b, n := m.o.bytes.Load(), m.o.count.Load(); b != 0 || n != 0 {
				t.Fatalf("closed, yet %d bytes in %d messages are counted", b, n)
			}
			if m.done != m.items+1 {
				t.Fatalf("%d items done, want %d", m.done, m.items+1)
			}
			return
		}
		m.drain()
	})
}

// TestOutboxBound checks that the bounds are those in bytes and in messages, and
// that what has left makes room.
func TestOutboxBound(t *testing.T) {
	var published atomic.Uint64
	o := &outbox{
		published: &published, committed: func() uint64 { return 1 << 60 },
		maxBytes: 10, maxCount: 3, wake: make(chan struct{}, 1),
	}
	push := func(size int) bool { return o.push(item{msg: make([]byte, size)}) }
	for i, want := range []bool{true, true, true, false} {
		if got := push(1); got != want {
			t.Errorf("message %d: push %v, want %v", i+1, got, want)
		}
	}
	o.take(nil, 100)
	for i, want := range []bool{true, false} {
		if got := push(6); got != want {
			t.Errorf("6 bytes, time %d: push %v, want %v", i+1, got, want)
		}
	}
	if !o.takeAny() || o.pushUrgent(make([]byte, 11)) {
		t.Error("an urgent message over the bound was accepted")
	}
}

// takeAny takes everything and reports whether there was anything.
func (o *outbox) takeAny() bool {
	out, _ := o.take(nil, 1<<20)
	return len(out) > 0
}
