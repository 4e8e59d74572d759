package host

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// measured reads what the host shows: the values of a metric by its labels, written
// one=a,two=b. Of a histogram it is the number of values.
func (w *world) measured(name string) map[string]float64 {
	w.t.Helper()
	families, err := w.h.Metrics().Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, f := range families {
		if f.GetName() != namespace+"_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			v := m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			values[strings.Join(labels, ",")] = v
		}
	}
	return values
}

// some are the values that are not 0.
func some(values map[string]float64) map[string]float64 {
	maps.DeleteFunc(values, func(_ string, v float64) bool { return v == 0 })
	return values
}

// checkCensus holds what the sequencer counts against what is there.
func checkCensus(t *testing.T, h *Host) {
	t.Helper()
	h.seq.mu.Lock()
	defer h.seq.mu.Unlock()
	want := newCensus()
	for _, ch := range h.seq.channels {
		want.channels[ch.scheme.Kind]++
		if ch.kept != nil && ch.state != nil {
			want.loaded[ch.scheme.Kind]++
		}
		want.effects += len(ch.effects.waiting)
	}
	got := h.seq.census
	for kind := range h.registry.schemes {
		if got.channels[kind] != want.channels[kind] || got.loaded[kind] != want.loaded[kind] {
			t.Errorf("%s: %d counted, %d of them in memory; there are %d and %d", kind,
				got.channels[kind], got.loaded[kind], want.channels[kind], want.loaded[kind])
		}
	}
	if got.effects != want.effects {
		t.Errorf("%d effects counted, %d wait", got.effects, want.effects)
	}
}

func hello(client string, channels ...ahp.URI) string {
	subscribe := ""
	if len(channels) > 0 {
		subscribe = `"` + strings.Join(channels, `","`) + `"`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":%q,"initialSubscriptions":[%s]}}`, client, subscribe)
}

func titled(channel ahp.URI, clientSeq int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"session/titleChanged","title":"t%[2]d"}}}`, channel, clientSeq)
}

// Every message is counted once, under its method as far as that is in the closed set,
// with its bytes.
func TestTrafficIsCountedByKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		if err := w.h.Create("ahp-session:/s", labSession("x"), ""); err != nil {
			t.Fatal(err)
		}
		p := w.peer("a")
		in := []string{
			hello("a", "ahp-session:/s"), titled("ahp-session:/s", 1), titled("ahp-session:/s", 2),
			`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"channel":"ahp-root://"}}`,
			`{"jsonrpc":"2.0","method":"made/up","params":{}}`, `{"jsonrpc":"2.0","method":"made/up/too","params":{}}`,
			`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"none"}}`,
			`{"jsonrpc":"2.0","id":77,"result":null}`, `not JSON`,
			`{"jsonrpc":"2.0","id":"x","method":"x-sleep","params":{"channel":"ahp-root://"}}`,
		}
		p.send(in...)
		out := p.take()
		count := func(values map[string]float64) (sum float64) {
			for _, v := range values {
				sum += v
			}
			return sum
		}
		size := func(list []string) (n float64) {
			for _, m := range list {
				n += float64(len(m))
			}
			return n
		}
		want := "map[kind=$/cancelRequest:1 kind=dispatchAction:2 kind=initialize:1 kind=malformed:1 kind=other:2 kind=ping:1 kind=response:1 kind=x-sleep:1]"
		if got := fmt.Sprint(some(w.measured("messages_received_total"))); got != want {
			t.Errorf("received %s, want %s", got, want)
		}
		if got := fmt.Sprint(some(w.measured("messages_sent_total"))); got != "map[kind=action:2 kind=response:3]" {
			t.Errorf("sent %s of %q", got, out)
		}
		if got := count(w.measured("received_bytes_total")); got != size(in) {
			t.Errorf("%v bytes received, want %v", got, size(in))
		}
		if got := count(w.measured("sent_bytes_total")); got != size(out) {
			t.Errorf("%v bytes sent, want %v", got, size(out))
		}
		if got := w.measured("requests_in_flight")[""]; got != 1 {
			t.Errorf("%v requests in flight, want 1", got)
		}
		if got := fmt.Sprint(some(w.measured("connections"))); got != "map[transport=memory,version=1.x:1]" {
			t.Errorf("connections %s", got)
		}
	})
}

// Every kind of message the host makes is recognised by how it begins.
func TestKindsOfWhatIsSent(t *testing.T) {
	traffic := newTraffic(nil, newRegistry())
	for msg, want := range map[string]string{
		`{"jsonrpc":"2.0","method":"action","params":{}}`:                   "action",
		`{"jsonrpc":"2.0","method":"actions","params":{}}`:                  kindOther,
		`{"jsonrpc":"2.0","id":7,"method":"clientService/handleRequest"}`:   "clientService/handleRequest",
		`{"jsonrpc":"2.0","id":7,"method":"x/y"}`:                           kindOther,
		`{"jsonrpc":"2.0","id":7,"result":{"a":",\"method\":\"action\""}}`:  kindResponse,
		`{"jsonrpc":"2.0","id":"7","error":{"code":1,"message":"m"}}`:       kindResponse,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"method"}}`: kindResponse,
		`{"jsonrpc":"2.0","id":",\"method\":\"action\"","result":null}`:     kindResponse,
		`{"jsonrpc":"2.0","method":"root/sessionAdded","params":{}}`:        "root/sessionAdded",
		`{"jsonrpc":"2.0","method":"action`:                                 kindOther,
		``:                                                                  kindResponse,
	} {
		if got := traffic.out.Name(traffic.kindOf([]byte(msg))); got != want {
			t.Errorf("%s is a %s, want %s", msg, got, want)
		}
	}
}

// Every dispatch is measured once, from its arrival until its echo or its rejection has
// been written, however it reaches its sender.
func TestDispatchToEchoIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGate()
		w := newWorld(t, Options{Store: store})
		if err := w.h.Create("ahp-session:/s", labSession("x"), ""); err != nil {
			t.Fatal(err)
		}
		follows, other, absent := w.peer("a"), w.peer("b"), w.peer("c")
		follows.send(hello("a", "ahp-session:/s"))
		other.send(hello("b", "ahp-session:/s"))
		absent.send(hello("c"))
		windowed := w.peer("d")
		windowed.send(hello("d"), `{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":"ahp-session:/s","flowControl":{"windowBytes":100000,"maxFrameBytes":1024}}}`)
		windowed.take()
		store.hold(nil)
		follows.send(titled("ahp-session:/s", 1), titled("ahp-session:/s", 1)) // the second one is repeated
		absent.send(titled("ahp-session:/s", 1), `{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-session:/s","clientSeq":2,"action":{"type":"chat/delta"}}}`)
		windowed.send(titled("ahp-session:/s", 1))
		synctest.Wait()
		if n := w.measured("dispatch_echo_seconds")[""]; n != 0 {
			t.Errorf("%v measured before anything was written", n)
		}
		time.Sleep(3 * time.Second)
		store.release()
		synctest.Wait()
		if n := w.measured("dispatch_echo_seconds")[""]; n != 5 {
			t.Errorf("%v measured, want 5", n)
		}
		sum, below := w.histogram("dispatch_echo_seconds", 2.097152)
		if sum < 15 || below != 0 {
			t.Errorf("%v s together, %d below 3 s; all five waited that long", sum, below)
		}
	})
}

// histogram reads the sum of a histogram and how many values are not above a bound.
func (w *world) histogram(name string, bound float64) (sum float64, below uint64) {
	w.t.Helper()
	families, err := w.h.Metrics().Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != namespace+"_"+name {
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		for _, b := range h.GetBucket() {
			if b.GetUpperBound() <= bound {
				below = b.GetCumulativeCount()
			}
		}
		return h.GetSampleSum(), below
	}
	w.t.Fatalf("there is no %s", name)
	return 0, 0
}

// How long the sequencer's lock is held is measured, and held by whoever.
func TestSequencerHoldIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		before := w.measured("sequencer_hold_seconds")[""]
		w.h.seq.mu.Lock()
		time.Sleep(5 * time.Second)
		w.h.seq.mu.Unlock()
		sum, below := w.histogram("sequencer_hold_seconds", 2)
		if after := w.measured("sequencer_hold_seconds")[""]; sum < 5 || uint64(after) <= below || after <= before {
			t.Errorf("%v holds, %d of them below 2 s, %v s together; before there were %v", after, below, sum, before)
		}
	})
}

// What waits is shown: in outboxes, of other clients, in the journal.
func TestQueuesAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGate()
		w := newWorld(t, Options{Store: store})
		if err := w.h.Create("ahp-session:/s", labSession("x"), ""); err != nil {
			t.Fatal(err)
		}
		p := w.peer("a")
		p.send(hello("a", "ahp-session:/s"))
		p.take()
		store.hold(nil)
		p.send(titled("ahp-session:/s", 1), titled("ahp-session:/s", 2))
		synctest.Wait()
		time.Sleep(7 * time.Second)
		for name, want := range map[string]float64{
			"journal_pending_records": 2, "journal_lag_seconds": 7, "outbox_messages": 0, "journal_failing": 0, "effects_waiting": 0,
		} {
			if got := w.measured(name)[""]; got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		store.release()
		p.take()
		for _, name := range []string{"journal_pending_records", "journal_lag_seconds", "journal_pending_bytes"} {
			if got := w.measured(name)[""]; got != 0 {
				t.Errorf("%s is %v once all is committed", name, got)
			}
		}
		if n, writes := w.measured("journal_group_records")[""], w.measured("journal_write_seconds")[""]; n < 2 || n != writes {
			t.Errorf("%v groups and %v writes", n, writes)
		}
	})
}

// checks lists the checks that fail.
func checks(h Health) (names []string) {
	for _, a := range h.Ailments {
		names = append(names, a.Check)
	}
	return names
}

// The host is ill while the store refuses, or takes longer than it may, and well again
// without a restart.
func TestHealthFollowsTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGate()
		w := newWorld(t, Options{Store: store})
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			if got := checks(w.h.Health()); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v fail, want %v", when, got, want)
			}
		}
		touch := func(uri ahp.URI) {
			if err := w.h.Create(uri, labSession("x"), ""); err != nil {
				t.Error(err)
			}
		}
		touch("ahp-session:/1")
		expect("at first")
		store.hold(nil)
		touch("ahp-session:/2")
		time.Sleep(HealthyLag)
		expect("just in time")
		time.Sleep(time.Second)
		expect("too slow", CheckJournal)
		if h := w.h.Health(); h.Lag != HealthyLag+time.Second || h.Ailments[0].For != h.Lag || h.Sessions != 2 {
			t.Errorf("got %+v", h)
		}
		store.release()
		expect("caught up")
		store.hold(errors.New("disk full: /secret/path"))
		touch("ahp-session:/3")
		expect("refused", CheckJournal)
		if text := fmt.Sprintf("%+v", w.h.Health()); strings.Contains(text, "secret") {
			t.Errorf("the error is shown: %s", text)
		}
		store.release()
		time.Sleep(time.Minute)
		expect("accepted again")
	})
}

// A sequencer that does not give its lock back is seen, also by who reads the metrics,
// and nobody who looks stays with it.
func TestHealthSeesAStuckSequencer(t *testing.T) {
	w := newWorld(t, Options{})
	w.h.healthyHold = 50 * time.Millisecond
	if !w.h.Live() {
		t.Fatal("the host is not alive")
	}
	w.h.seq.mu.Lock()
	for range 3 {
		if got := checks(w.h.Health()); w.h.Live() || fmt.Sprint(got) != "["+CheckSequencer+"]" {
			t.Errorf("%v fail, want %s", got, CheckSequencer)
		}
	}
	if len(w.measured("channels")) != 0 || len(w.measured("connections")) == 0 {
		t.Error("the metrics do not leave out just what the sequencer alone knows")
	}
	w.h.seq.mu.Unlock()
	w.h.healthyHold = 30 * time.Second
	if got := checks(w.h.Health()); len(got) > 0 || !w.h.Live() {
		t.Errorf("%v fail although the lock was given back", got)
	}
}

func TestHealthOfAHostThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		if err := w.h.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := checks(w.h.Health()); fmt.Sprint(got) != "["+CheckShutdown+"]" {
			t.Errorf("%v fail, want %s", got, CheckShutdown)
		}
	})
}
