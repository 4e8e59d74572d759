package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/causeway-ahp/causeway/flow"
)

// wire is one message in the pipe.
type wire struct {
	text           []byte
	frame, control bool
}

// world is one direction of a subscription: a sender, a pipe that keeps order
// and loses nothing, a receiver whose consumer is slow, and the way back.
type world struct {
	limits   flow.Limits
	cautious bool // the sender stays below the window, as a foreign one may

	window flow.Window
	queue  [][]byte
	frames *flow.Fragmenter
	next   []byte // the frame that waits for room

	pipe []wire
	back []int64

	credit flow.Credit
	join   flow.Reassembler

	wrote, got               []string
	controls, controlsPassed int
	lastCredit               int64
}

func newWorld(t *rapid.T) *world {
	limits := flow.Limits{
		WindowBytes:   rapid.OneOf(rapid.Int64Range(1, 8), rapid.Int64Range(9, 8192)).Draw(t, "window"),
		MaxFrameBytes: rapid.OneOf(rapid.Just(int64(1024)), rapid.Int64Range(1024, 4096)).Draw(t, "frame"),
	}
	return &world{
		limits:   limits,
		cautious: rapid.Bool().Draw(t, "cautious"),
		window:   flow.NewWindow(limits),
		credit:   flow.NewCredit(limits),
		join:     flow.NewReassembler(1 << 20),
	}
}

func (w *world) write(t *rapid.T) {
	text := rapid.OneOf(
		rapid.StringN(0, 60, -1),
		rapid.Map(rapid.IntRange(0, 6000), func(n int) string { return strings.Repeat("\"é😀\n", n/4) }),
	).Draw(t, "text")
	quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "?"))
	if err != nil {
		t.Fatal(err)
	}
	msg := fmt.Sprintf(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/c1","n":%d,"text":%s}}`, len(w.wrote), quoted)
	w.queue = append(w.queue, []byte(msg))
	w.wrote = append(w.wrote, msg)
}

// prepare makes the sender's next wire message ready: whole if it fits, otherwise
// the next of its frames.
func (w *world) prepare(t *rapid.T) {
	if w.next != nil || w.frames == nil && len(w.queue) == 0 {
		return
	}
	if w.frames == nil {
		msg := w.queue[0]
		w.queue = w.queue[1:]
		if w.window.Limits().Fits(flow.Size(msg)) {
			w.next = msg
			return
		}
		f, err := flow.NewFragmenter(msg, envelope("ahp-chat:/c1"), w.limits.MaxFrameBytes)
		if err != nil {
			t.Fatal(err)
		}
		w.frames = &f
	}
	w.next, _ = w.frames.AppendNext(nil)
}

// send puts one wire message into the pipe if the window is open.
func (w *world) send(t *rapid.T) bool {
	w.prepare(t)
	if w.next == nil || !w.mayStart() {
		return false
	}
	if err := w.window.Charge(flow.Size(w.next)); err != nil {
		t.Fatal(err)
	}
	w.pipe = append(w.pipe, wire{text: w.next, frame: w.frames != nil})
	w.next = nil
	if w.frames != nil && w.frames.Done() {
		w.frames = nil
	}
	return true
}

func (w *world) mayStart() bool {
	if w.cautious && w.window.Outstanding() > 0 {
		return w.window.Outstanding()+flow.Size(w.next) <= w.limits.WindowBytes
	}
	return w.window.CanStart()
}

// sendControl passes by: it is never charged.
func (w *world) sendControl() {
	w.controls++
	w.pipe = append(w.pipe, wire{control: true})
}

func (w *world) deliver(t *rapid.T) bool {
	if len(w.pipe) == 0 {
		return false
	}
	m := w.pipe[0]
	w.pipe = w.pipe[1:]
	if m.control {
		w.controlsPassed++
		return true
	}
	if err := w.credit.Receive(flow.Size(m.text)); err != nil {
		t.Fatalf("the receiver accuses a sender that kept the rules: %v", err)
	}
	if m.frame {
		w.deliverFrame(t, m.text)
		return true
	}
	if err := w.join.Whole(); err != nil {
		t.Fatal(err)
	}
	w.got = append(w.got, string(m.text))
	return true
}

func (w *world) deliverFrame(t *rapid.T, text []byte) {
	var f frame
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	msg, err := w.join.Add([]byte(f.Params.Data), f.Params.Final)
	if err != nil {
		t.Fatal(err)
	}
	if msg != nil {
		w.got = append(w.got, string(msg))
	}
}

func (w *world) release(t *rapid.T, n int64) bool {
	if err := w.credit.Release(n); err != nil {
		t.Fatal(err)
	}
	return n > 0
}

func (w *world) giveCredit() bool {
	n, due := w.credit.Take()
	if due {
		w.back = append(w.back, n)
	}
	return due
}

func (w *world) takeCredit(t *rapid.T) bool {
	if len(w.back) == 0 {
		return false
	}
	n := w.back[0]
	w.back = w.back[1:]
	if freed, err := w.window.Credit(n); err != nil || freed <= 0 {
		t.Fatalf("the sender refuses the receiver's credit %d: freed %d, %v", n, freed, err)
	}
	w.lastCredit = n
	return true
}

func (w *world) check(t *rapid.T) {
	for name, n := range map[string]int64{"outstanding": w.window.Outstanding(), "held": w.credit.Held()} {
		if n < 0 || n > w.credit.Limits().Budget() {
			t.Fatalf("%s is %d with %+v", name, n, w.limits)
		}
	}
}

// settle lets everybody work until nobody can: then nothing may be left.
func (w *world) settle(t *rapid.T) {
	for busy := true; busy; {
		busy = w.send(t)
		busy = w.deliver(t) || busy
		busy = w.release(t, w.credit.Held()) || busy
		busy = w.giveCredit() || busy
		busy = w.takeCredit(t) || busy
		w.check(t)
	}
	if len(w.queue) > 0 || w.next != nil || w.frames != nil || w.window.Outstanding() != 0 {
		t.Fatalf("stalled: %d messages wait, %d bytes outstanding", len(w.queue), w.window.Outstanding())
	}
	if len(w.got) != len(w.wrote) || w.controlsPassed != w.controls {
		t.Fatalf("%d of %d messages and %d of %d controls arrived", len(w.got), len(w.wrote), w.controlsPassed, w.controls)
	}
	for i := range w.got {
		if w.got[i] != w.wrote[i] {
			t.Fatalf("message %d: got %q, want %q", i, w.got[i], w.wrote[i])
		}
	}
}

func TestTwoEndsOverAPipe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"write":   w.write,
			"send":    func(t *rapid.T) { w.send(t) },
			"control": func(*rapid.T) { w.sendControl() },
			"deliver": func(t *rapid.T) { w.deliver(t) },
			"release": func(t *rapid.T) { w.release(t, rapid.Int64Range(0, w.credit.Held()).Draw(t, "bytes")) },
			"give":    func(*rapid.T) { w.giveCredit() },
			"take":    func(t *rapid.T) { w.takeCredit(t) },
			"repeat": func(t *rapid.T) {
				old := rapid.Int64Range(0, w.lastCredit).Draw(t, "old")
				if freed, err := w.window.Credit(old); freed != 0 || err != nil {
					t.Fatalf("an old credit of %d: freed %d, %v", old, freed, err)
				}
			},
			"": w.check,
		})
		w.settle(t)
	})
}

// A control goes out, arrives and costs nothing while not one byte more of data
// could start, in the middle of a message in frames.
func TestControlPassesAFullWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.cautious = false
		big := strings.Repeat("x", int(w.limits.Budget()))
		w.queue = append(w.queue, []byte(big))
		for w.send(t) {
		}
		if w.window.CanStart() || w.frames == nil {
			t.Fatal("the window is not full, or nothing is cut")
		}
		outstanding := w.window.Outstanding()
		w.sendControl()
		for w.deliver(t) {
		}
		if w.controlsPassed != 1 || w.window.Outstanding() != outstanding || w.credit.Held() != outstanding {
			t.Errorf("%d passed, %d outstanding, %d held, want 1, %d, %d",
				w.controlsPassed, w.window.Outstanding(), w.credit.Held(), outstanding, outstanding)
		}
		w.wrote = append(w.wrote, big)
		w.settle(t)
	})
}
