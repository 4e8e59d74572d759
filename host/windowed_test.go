package host

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// viewer is the client's end of windowed subscriptions. It is strict about what the
// host may send, and keeps the reduced state of each channel.
type viewer struct {
	t     fataler
	conn  transport.Conn
	write chan []byte // to the goroutine that writes

	mu       sync.Mutex
	views    map[ahp.URI]*viewed
	ordinary func(m jsonrpc.Message) // what is not about a windowed channel
	results  map[string]jsontext.Value
	paused   bool // nothing is released
}

// fataler is a test or a rapid check.
type fataler interface {
	Errorf(format string, args ...any)
}

// viewed is one windowed channel.
type viewed struct {
	credit    flow.Credit
	window    flow.Window // of what we dispatch
	join      flow.Reassembler
	state     any
	fromSeq   uint64
	applied   uint64
	snapshots int
	answers   map[uint64]string // by clientSeq: "" or the rejection
	held      int64             // received and not released
	frames    int
}

func newViewer(t fataler, conn transport.Conn, start func(func())) *viewer {
	v := &viewer{
		t: t, conn: conn, write: make(chan []byte, 1<<16), views: make(map[ahp.URI]*viewed), results: make(map[string]jsontext.Value),
		ordinary: func(jsonrpc.Message) {},
	}
	start(func() {
		for msg := range v.write {
			if conn.Write([][]byte{msg}) != nil {
				break
			}
		}
		for range v.write { // the connection is over
		}
	})
	start(func() {
		for {
			data, err := conn.Read()
			if err != nil {
				return
			}
			v.receive(data)
		}
	})
	v.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":"viewer"}}`)
	return v
}

func (v *viewer) send(msg string) { v.write <- []byte(msg) }

// dispatch sends a message that counts against the host's window.
func (v *viewer) dispatch(uri ahp.URI, msg string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.views[uri].window.Charge(flow.Size([]byte(msg))); err != nil {
		v.t.Errorf("%v", err)
	}
	v.send(msg)
}

// close ends the connection and the goroutine that writes.
func (v *viewer) close() {
	_ = v.conn.Close(transport.CodeNormal, "")
	close(v.write)
}

// subscribe subscribes windowed. The route is in place before the answer.
func (v *viewer) subscribe(uri ahp.URI, l flow.Limits) {
	v.mu.Lock()
	v.views[uri] = &viewed{
		credit: flow.NewCredit(l), join: flow.NewReassembler(1 << 30), answers: make(map[uint64]string),
		window: flow.NewWindow(flow.Limits{WindowBytes: DefaultLimits.WindowBytes, MaxFrameBytes: DefaultLimits.WindowFrameBytes}),
	}
	v.mu.Unlock()
	v.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"subscribe","params":{"channel":%q,"flowControl":{"receive":{"windowBytes":%d,"maximumFrameBytes":%d}}}}`,
		uri, uri, l.WindowBytes, l.MaxFrameBytes))
}

func (v *viewer) receive(data []byte) {
	m, err := jsonrpc.Scan(data)
	if err != nil {
		v.t.Errorf("the host sent %q: %v", data, err)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if m.Kind == jsonrpc.KindResponse {
		v.results[m.ID.String()] = m.Result
		return
	}
	raw, _ := jsonrpc.Member(m.Params, "channel")
	uri, _ := jsonrpc.StringValue(raw)
	c := v.views[uri]
	switch {
	case c == nil:
		v.ordinary(m)
	case m.Method == ahp.MethodChannelCredit:
		n, _ := jsonrpc.Member(m.Params, "consumedBytes")
		var consumed int64
		fmt.Sscan(string(n), &consumed)
		if _, err := c.window.Credit(consumed); err != nil {
			v.t.Errorf("%s: %v", uri, err)
		}
	default:
		v.data(uri, c, m, flow.Size(data))
	}
}

func (v *viewer) data(uri ahp.URI, c *viewed, m jsonrpc.Message, size int64) {
	if err := c.credit.Receive(size); err != nil {
		v.t.Errorf("%s: %v", uri, err)
	}
	c.held += size
	c.frames++
	if m.Method == ahp.MethodChannelFrame {
		text, final, err := readFrame(m.Params)
		if err != nil {
			v.t.Errorf("%s: %v", uri, err)
		}
		whole, err := c.join.Add(text, final)
		if err != nil {
			v.t.Errorf("%s: %v", uri, err)
		}
		if whole != nil {
			if m, err = jsonrpc.Scan(whole); err != nil {
				v.t.Errorf("%s: %v", uri, err)
			}
			v.apply(uri, c, m)
		}
	} else {
		if err := c.join.Whole(); err != nil {
			v.t.Errorf("%s: %v", uri, err)
		}
		v.apply(uri, c, m)
	}
	if !v.paused {
		v.release(uri, c, c.held)
	}
}

// release gives bytes back, and the credit that is due.
func (v *viewer) release(uri ahp.URI, c *viewed, n int64) {
	if err := c.credit.Release(n); err != nil {
		v.t.Errorf("%v", err)
	}
	c.held -= n
	if consumed, due := c.credit.Take(); due {
		v.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"channel/credit","params":{"channel":%q,"consumedBytes":%d}}`, uri, consumed))
	}
}

func (v *viewer) apply(uri ahp.URI, c *viewed, m jsonrpc.Message) {
	if (m.Method == ahp.MethodChannelSnapshot) != (c.snapshots == 0) && m.Method != ahp.MethodChannelSnapshot {
		v.t.Errorf("%s: %s before the snapshot", uri, m.Method)
	}
	switch m.Method {
	case ahp.MethodChannelSnapshot:
		var p ahp.ChannelSnapshotParams
		if err := ahp.Unmarshal(m.Params, &p); err != nil || p.Snapshot.Resource != uri {
			v.t.Errorf("%s: snapshot of %q, %v", uri, p.Snapshot.Resource, err)
			return
		}
		state, err := reducer.Decode(ahp.KindOf(uri), p.Snapshot.State)
		if err != nil {
			v.t.Errorf("%s: %v", uri, err)
		}
		c.state, c.fromSeq, c.applied = state, p.Snapshot.FromSeq, p.Snapshot.FromSeq
		c.snapshots++
	case ahp.MethodAction:
		v.action(uri, c, m.Params)
	default:
		v.t.Errorf("%s: %s", uri, m.Method)
	}
}

func (v *viewer) action(uri ahp.URI, c *viewed, params jsontext.Value) {
	var e ahp.ActionEnvelope
	if err := ahp.Unmarshal(params, &e); err != nil {
		v.t.Errorf("%s: %v", uri, err)
		return
	}
	if e.Origin != nil && e.Origin.ClientID == "viewer" {
		reason := ""
		if e.RejectionReason != nil {
			reason = *e.RejectionReason
		}
		if old, twice := c.answers[e.Origin.ClientSeq]; twice {
			v.t.Errorf("%s: action %d was answered with %q and %q", uri, e.Origin.ClientSeq, old, reason)
		}
		c.answers[e.Origin.ClientSeq] = reason
	}
	if e.RejectionReason != nil || e.ServerSeq <= c.fromSeq {
		return
	}
	if e.ServerSeq <= c.applied {
		v.t.Errorf("%s: number %d after %d", uri, e.ServerSeq, c.applied)
	}
	c.applied = e.ServerSeq
	c.state = reducer.Apply(c.state, e.Action.Action)
}

// TestLargeChatWindowed opens a chat of 40 MB (scaled) over a line of 1 MB/s. Meanwhile
// another chat of the same connection stays live, and so does everybody else.
func TestLargeChatWindowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		size := scale.Count(40) << 20
		w := newSim(t, 1, make(map[string]int))
		large, small := w.channels[1], w.channels[3]
		w.h.Apply(large, &ahp.ChatTurnStarted{TurnID: "t", StartedAt: Now(), Message: &ahp.Message{Text: strings.Repeat("long ago ", size/9)}})
		w.h.Apply(small, &ahp.ChatTurnStarted{TurnID: "t", StartedAt: Now(), Message: &ahp.Message{Text: "now"}})
		w.h.Apply(small, &ahp.ChatResponsePart{TurnID: "t", Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p"}}})
		w.net.Link("viewer", simAddr).Set(simnet.Profile{BytesPerSecond: 1_000_000}, simnet.Down)
		conn, err := w.dial(t.Context(), "viewer")
		if err != nil {
			t.Fatal(err)
		}
		v := newViewer(t, conn, func(f func()) { w.serving.Go(f) })
		heard := make(chan struct{}, 1)
		v.mu.Lock()
		v.ordinary = func(jsonrpc.Message) { heard <- struct{}{} }
		v.mu.Unlock()
		v.send(`{"jsonrpc":"2.0","id":"small","method":"subscribe","params":{"channel":"` + small + `"}}`)
		began := time.Now()
		v.subscribe(large, flow.Limits{WindowBytes: 512 << 10, MaxFrameBytes: 64 << 10})
		synctest.Wait()
		// A frame of 32 KiB, and what the link holds.
		most := time.Duration((32<<10)*2+simnet.DefaultBufferBytes) * time.Second / 1_000_000
		var worst time.Duration
		for i := 0; ; i++ {
			v.mu.Lock()
			opened := v.views[large].snapshots > 0
			v.mu.Unlock()
			if opened {
				break
			}
			at := time.Now()
			w.h.Apply(small, &ahp.ChatDelta{TurnID: "t", PartID: "p", Content: "x"})
			w.h.Apply(large, &ahp.ChatDelta{TurnID: "t", PartID: "p", Content: "x"})
			<-heard
			worst = max(worst, time.Since(at))
			time.Sleep(500 * time.Millisecond)
		}
		t.Logf("%d MB opened in %v; a delta of the other chat took %v at most", size>>20, time.Since(began), worst)
		if worst > most {
			t.Errorf("a delta took %v, want at most %v", worst, most)
		}
		time.Sleep(time.Minute)
		v.mu.Lock()
		if got, want := encoded(t, v.views[large].state), encoded(t, w.h.State(large)); got != want {
			t.Errorf("the states differ: %d and %d bytes", len(got), len(want))
		}
		v.mu.Unlock()
		v.close()
	})
}

// TestStalledViewer: a viewer whose window stays full delays nobody and is charged
// nothing, and the log it no longer reaches is let go of. When it goes on it has
// what everybody has.
func TestStalledViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Limits: Limits{OutboxMessages: 100, OutboxBytes: 64 << 10, WindowLagBytes: 16 << 10}})
		session, chat := "ahp-session:/s", "ahp-chat:/c"
		if err := errors.Join(w.h.Create(session, labSession("x"), ""), w.h.Create(chat, labChat(chat), session)); err != nil {
			t.Fatal(err)
		}
		w.h.Apply(chat, &ahp.ChatTurnStarted{TurnID: "t", StartedAt: Now(), Message: &ahp.Message{Text: "go"}})
		w.h.Apply(chat, &ahp.ChatResponsePart{TurnID: "t", Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p"}}})
		conn, err := w.Dial("a")
		if err != nil {
			t.Fatal(err)
		}
		v := newViewer(t, conn, func(f func()) { w.serving.Go(f) })
		v.mu.Lock()
		v.paused = true
		v.mu.Unlock()
		v.subscribe(chat, flow.Limits{WindowBytes: 1, MaxFrameBytes: 64 << 10})
		fast := w.peer("b")
		fast.initialize("b", chat)
		fast.take()
		deltas, began := scale.Count(10_000), time.Now()
		for i := range deltas {
			w.h.Apply(chat, &ahp.ChatDelta{TurnID: "t", PartID: "p", Content: "some words "})
			if i%50 == 0 {
				synctest.Wait()
			}
		}
		if n := len(fast.take()); n != deltas {
			t.Errorf("the other client got %d of %d", n, deltas)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("somebody waited for %v", took)
		}
		for _, c := range w.h.connsLocked() { // nobody else is about
			if n, b := c.out.count.Load(), c.out.bytes.Load(); n != 0 || b != 0 {
				t.Errorf("%s is charged for %d messages of %d bytes", c.ClientID(), n, b)
			}
			for _, s := range c.subs {
				if s.win != nil && s.ch.tail.cum-s.last.cum > 16<<10 {
					t.Errorf("the cursor holds %d bytes of the log", s.ch.tail.cum-s.last.cum)
				}
			}
		}
		v.resume(chat)
		v.mu.Lock()
		if c := v.views[chat]; encoded(t, c.state) != encoded(t, w.h.State(chat)) || c.snapshots != 2 {
			t.Errorf("after %d snapshots and %d messages the viewer has %s", c.snapshots, c.frames, encoded(t, c.state))
		}
		v.mu.Unlock()
		v.close()
	})
}

// resume lets a paused viewer take a channel again, and waits for what comes.
func (v *viewer) resume(chat ahp.URI) {
	v.mu.Lock()
	v.paused = false
	v.release(chat, v.views[chat], v.views[chat].held)
	v.mu.Unlock()
	synctest.Wait()
}

// TestViewersStalledInASnapshot: viewers that stop inside a large snapshot hold its
// text up to a bound for all of them. Over it the one that has stood still for the
// longest time is closed, and the others go on where they were.
func TestViewersStalledInASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		w := newWorld(t, Options{Limits: Limits{WindowTextBytes: 5 * size / 2}})
		session, chat := "ahp-session:/s", "ahp-chat:/c"
		if err := errors.Join(w.h.Create(session, labSession("x"), ""), w.h.Create(chat, labChat(chat), session)); err != nil {
			t.Fatal(err)
		}
		w.h.Apply(chat, &ahp.ChatTurnStarted{TurnID: "t", StartedAt: Now(), Message: &ahp.Message{Text: strings.Repeat("x", size)}})
		var viewers []*viewer
		for i := range 3 {
			conn, err := w.Dial(string(rune('a' + i)))
			if err != nil {
				t.Fatal(err)
			}
			v := newViewer(t, conn, func(f func()) { w.serving.Go(f) })
			defer v.close()
			v.mu.Lock()
			v.paused = true
			v.mu.Unlock()
			v.subscribe(chat, flow.Limits{WindowBytes: 1, MaxFrameBytes: 64 << 10})
			viewers = append(viewers, v)
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		conns := w.h.connsLocked() // nobody else is about
		if len(conns) != 2 {
			t.Errorf("%d viewers are left, want 2", len(conns))
		}
		if n := w.h.cuts.size(); n < 2*size || n > 5*size/2 {
			t.Errorf("%d bytes are held", n)
		}
		for _, c := range conns {
			if c.id == 1 {
				t.Error("the first is left, who has stood still the longest")
			}
		}
		for _, v := range viewers[1:] {
			v.resume(chat)
			v.mu.Lock()
			if c := v.views[chat]; encoded(t, c.state) != encoded(t, w.h.State(chat)) || c.snapshots != 1 {
				t.Errorf("after %d snapshots and %d messages a viewer has another state", c.snapshots, c.frames)
			}
			v.mu.Unlock()
		}
		if n := w.h.cuts.size(); n != 0 {
			t.Errorf("%d bytes are held for nobody", n)
		}
	})
}

// TestWindowedModel lets a host and a client do what they like: actions of the host,
// dispatches that are accepted and rejected, releases in any portion, a log that
// runs away, subscriptions that end and begin. Whatever happens, the host keeps the
// rules of the window, every dispatch is answered once, and in the end the client
// has the host's state.
func TestWindowedModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limits := flow.Limits{
			WindowBytes:   rapid.OneOf(rapid.Int64Range(1, 3000), rapid.Just(int64(1<<20))).Draw(rt, "window"),
			MaxFrameBytes: rapid.SampledFrom([]int64{1024, 1025, 4096, 64 << 10}).Draw(rt, "frame"),
		}
		lag := rapid.SampledFrom([]int64{1, 500, 5000, 1 << 20}).Draw(rt, "lag")
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 60).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) { windowedRun(t, rt, limits, lag, steps) })
	})
}

func windowedRun(t *testing.T, rt *rapid.T, limits flow.Limits, lag int64, steps []int) {
	w := newWorld(t, Options{Limits: Limits{WindowLagBytes: lag}})
	w.lab.tame = true
	const uri = "ahp-session:/s"
	if err := w.h.Create(uri, labSession("untitled"), ""); err != nil {
		t.Fatal(err)
	}
	conn, err := w.Dial("a")
	if err != nil {
		t.Fatal(err)
	}
	v := newViewer(t, conn, func(f func()) { w.serving.Go(f) })
	v.paused = true
	v.subscribe(uri, limits)
	synctest.Wait()
	sent := make(map[uint64]bool) // clientSeq: is it to be rejected
	for i, step := range steps {
		seq := uint64(len(sent) + 1)
		switch step {
		case 0, 1:
			w.h.Apply(uri, &ahp.SessionTitleChanged{Title: strings.Repeat("h", i*step*40+1) + fmt.Sprint(i)})
		case 2, 3, 4:
			title := fmt.Sprint("c", i)
			if step == 2 {
				title = ""
			}
			sent[seq] = title == ""
			v.dispatch(uri, fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"session/titleChanged","title":%q}}}`, uri, seq, title))
		case 5, 6, 7:
			v.mu.Lock()
			c := v.views[uri]
			v.release(uri, c, c.held*int64(step-4)/3)
			v.mu.Unlock()
		case 8:
			synctest.Wait()
		case 9:
			w.h.Notify(ahp.RootURI, "x-noise", struct{}{})
		}
	}
	v.mu.Lock()
	v.paused = false
	v.release(uri, v.views[uri], v.views[uri].held)
	v.mu.Unlock()
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.views[uri]
	if got, want := encoded(t, c.state), encoded(t, w.h.State(uri)); got != want {
		rt.Errorf("the client has %s, the host %s", got, want)
	}
	for seq, rejected := range sent {
		if reason, answered := c.answers[seq]; !answered || (reason != "") != rejected {
			rt.Errorf("action %d: answered %v with %q, to be rejected %v", seq, answered, reason, rejected)
		}
	}
	if c.held != 0 || c.credit.Held() != 0 {
		rt.Errorf("%d bytes are held", c.held)
	}
	v.close()
}
