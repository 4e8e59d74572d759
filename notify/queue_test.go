package notify

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestQueueModel plays random additions, answers and waits, and holds the queue
// against a plain account of what it was given.
func TestQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{InFlight: 8, Queued: 60, QueuedPerTarget: 25, Target: TargetLimits{Rate: 5, Burst: 4, InFlight: 2}}.withDefaults()
		m := &queueModel{q: newQueue(&limits), now: time.Unix(1_800_000_000, 0), limits: &limits, waiting: map[string]bool{}, flying: map[string]flight{}}
		t.Repeat(map[string]func(*rapid.T){
			"add":    m.add,
			"next":   m.next,
			"answer": m.answer,
			"wait": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 60_000).Draw(t, "ms")) * time.Millisecond)
			},
			"": m.check,
		})
		m.finish(t)
	})
}

type flight struct {
	en entry
	h  health
}

type queueModel struct {
	q       *queue
	limits  *Limits
	now     time.Time
	made    int
	waiting map[string]bool
	flying  map[string]flight
}

func (m *queueModel) add(t *rapid.T) {
	m.made++
	en := entry{id: fmt.Sprint("n", m.made), principal: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "principal"), target: rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "target")}
	for _, out := range m.q.evict(1) {
		if !m.waiting[out.id] {
			t.Fatalf("%s was evicted, it was not there", out.id)
		}
		delete(m.waiting, out.id)
	}
	queued := m.q.target(en.target, m.now).queued
	ok, again := m.q.add(en, m.now)
	switch {
	case ok:
		m.waiting[en.id] = true
	case queued < m.limits.QueuedPerTarget:
		t.Fatalf("refused with %d queued", queued)
	case !again.After(m.now):
		t.Fatalf("refused without a later time")
	}
}

func (m *queueModel) next(t *rapid.T) {
	en, ok, at := m.q.next(m.now)
	if !ok {
		if !at.IsZero() && !at.After(m.now) {
			t.Fatalf("nothing now, but at %v", at.Sub(m.now))
		}
		if at.IsZero() && len(m.waiting) > 0 && len(m.flying) == 0 {
			t.Fatalf("%d wait, nothing is on its way, and there is no time to look again", len(m.waiting))
		}
		return
	}
	if !m.waiting[en.id] {
		t.Fatalf("%s goes out, it does not wait", en.id)
	}
	delete(m.waiting, en.id)
	m.flying[en.id] = flight{en, m.q.targets[en.target].health}
}

func (m *queueModel) answer(t *rapid.T) {
	for id, f := range m.flying {
		delete(m.flying, id)
		switch rapid.IntRange(0, 4).Draw(t, "answer") {
		case 0:
			m.q.withdrawn(f.en, f.h, m.now)
		case 1, 2:
			if m.q.back(f.en, f.h, Outcome{Class: ClassTransient}, m.now) {
				for _, en := range m.q.strand(f.en.target, m.now) {
					delete(m.waiting, en.id)
				}
			}
		case 3:
			m.q.back(f.en, f.h, Outcome{Class: ClassTransient, RetryAfter: m.now.Add(time.Minute), PauseTarget: true}, m.now)
		default:
			m.q.back(f.en, f.h, Outcome{Class: ClassDelivered}, m.now)
		}
		return
	}
}

func (m *queueModel) check(t *rapid.T) {
	if m.q.total != len(m.waiting) || m.q.total > m.limits.Queued {
		t.Fatalf("the queue counts %d, the model %d, the bound is %d", m.q.total, len(m.waiting), m.limits.Queued)
	}
	if n := len(m.flying); n > m.limits.InFlight {
		t.Fatalf("%d in flight", n)
	}
	per := map[string]int{}
	for _, f := range m.flying {
		per[f.en.target]++
	}
	for name, target := range m.q.targets {
		if target.inFlight != per[name] || target.inFlight > m.limits.Target.InFlight {
			t.Fatalf("%s counts %d in flight, the model %d", name, target.inFlight, per[name])
		}
	}
	for h, n := range m.q.flying {
		if n < 0 || health(h) == healthBad && n > m.limits.InFlight/2 {
			t.Fatalf("%d in flight of health %d", n, h)
		}
	}
}

// finish lets everything be answered well: nothing is forgotten.
func (m *queueModel) finish(t *rapid.T) {
	for step := 0; len(m.waiting)+len(m.flying) > 0; step++ {
		if step > 100_000 {
			t.Fatalf("%d are still waiting, %d in flight", len(m.waiting), len(m.flying))
		}
		for id, f := range m.flying {
			delete(m.flying, id)
			m.q.back(f.en, f.h, Outcome{Class: ClassDelivered}, m.now)
		}
		en, ok, at := m.q.next(m.now)
		switch {
		case ok:
			delete(m.waiting, en.id)
			m.flying[en.id] = flight{en, m.q.targets[en.target].health}
		case at.IsZero() && len(m.flying) == 0 && len(m.waiting) > 0:
			t.Fatalf("stuck with %d", len(m.waiting))
		case at.After(m.now):
			m.now = at
		}
	}
}

// TestPrincipalsTakeTurns: one with a thousand items does not hold up one with a
// single item, and neither do a thousand dead targets.
func TestPrincipalsTakeTurns(t *testing.T) {
	limits := Limits{Target: TargetLimits{Rate: 1e6, Burst: 1e6, InFlight: 1e6}}.withDefaults()
	q := newQueue(&limits)
	now := time.Unix(1_800_000_000, 0)
	for i := range 900 {
		q.add(entry{id: fmt.Sprint("busy", i), principal: "busy", target: fmt.Sprint("t", i%30)}, now)
	}
	q.add(entry{id: "single", principal: "quiet", target: "t0"}, now)
	for i := range 3 {
		if en, ok, _ := q.next(now); ok && en.id == "single" {
			return
		} else if !ok {
			t.Fatalf("nothing at step %d", i)
		}
	}
	t.Error("the single item was not among the first three")
}

// TestSlotsForThoseWhoAnswer: however many endpoints hang, one that has answered
// finds a slot.
func TestSlotsForThoseWhoAnswer(t *testing.T) {
	limits := Limits{}.withDefaults()
	q := newQueue(&limits)
	now := time.Unix(1_800_000_000, 0)
	good := entry{id: "first", principal: "a", target: "good"}
	q.add(good, now)
	en, _, _ := q.next(now)
	q.back(en, healthUnknown, Outcome{Class: ClassDelivered}, now)
	for i := range 1000 {
		q.add(entry{id: fmt.Sprint("d", i), principal: "a", target: fmt.Sprint("dead", i)}, now)
	}
	hanging := 0
	for {
		if _, ok, _ := q.next(now); !ok {
			break
		}
		hanging++
	}
	if hanging != 48 {
		t.Errorf("%d unknown targets were given a slot, want 48 of 64", hanging)
	}
	q.add(entry{id: "second", principal: "a", target: "good"}, now)
	if en, ok, _ := q.next(now); !ok || en.id != "second" {
		t.Errorf("the one that answers got no slot: %v, %v", en.id, ok)
	}
}

func TestBreaker(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var b breaker
	for i := range breakerFailures {
		if ok, _ := b.may(now); !ok {
			t.Fatalf("open after %d failures", i)
		}
		b.sent()
		if changed := b.answered(false, now); changed != (i == breakerFailures-1) {
			t.Errorf("after %d failures: changed %v", i+1, changed)
		}
	}
	for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		ok, at := b.may(now)
		if ok || at.Sub(now) != want {
			t.Errorf("open: %v, next probe after %v, want %v", !ok, at.Sub(now), want)
		}
		now = at
		if ok, _ := b.may(now); !ok {
			t.Error("no probe at its time")
		}
		b.sent()
		if ok, at := b.may(now); ok || !at.IsZero() {
			t.Error("a second probe beside the first")
		}
		b.answered(false, now)
	}
	now = b.until
	b.sent()
	if !b.answered(true, now) || b != (breaker{}) {
		t.Errorf("after a probe that was answered: %+v", b)
	}
}
