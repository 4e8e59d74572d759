package reconcile_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/reconcile"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// TestClientsConverge drives several clients of one host through dispatches,
// echoes, foreign actions, rejections, cuts, replays and snapshots in any order,
// and compares each machine with the host's own record after every step.
func TestClientsConverge(t *testing.T) {
	setChecks(t, scale.Count(10_000))
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"dispatch":  w.dispatch,
			"write":     w.write,
			"host":      w.hostActs,
			"process":   w.process,
			"deliver":   w.deliver,
			"cut":       w.cut,
			"reconnect": w.reconnect,
			"remove":    w.remove,
			"":          w.check,
		})
		w.quiesce(rt)
	})
}

// setChecks sets the number of cases unless the command line did.
func setChecks(t *testing.T, n int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if f == nil {
		t.Fatal("rapid has no flag for the number of checks")
	}
	if f.Value.String() != f.DefValue {
		return
	}
	if err := f.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}

const (
	modelClients  = 3
	modelChannels = 2
)

// world is a host and its clients. The host is the plainest thing that follows
// AHP core, 6.3: a list of envelopes and the state after each.
type world struct {
	channels []*hostChannel
	seq      uint64
	clients  []*peer
}

type hostChannel struct {
	uri     ahp.URI
	removed bool
	log     []reconcile.Envelope // accepted, ascending
	states  []any                // states[i] is the state after i entries of log
}

func (h *hostChannel) state() any { return h.states[len(h.states)-1] }

// upTo is the state that contains everything up to seq.
func (h *hostChannel) upTo(seq uint64) any {
	n := 0
	for n < len(h.log) && h.log[n].ServerSeq <= seq {
		n++
	}
	return h.states[n]
}

func (h *hostChannel) accept(e reconcile.Envelope) {
	h.log = append(h.log, e)
	h.states = append(h.states, reducer.Apply(h.state(), e.Action))
}

// message is something on the wire between a client and the host.
type message struct {
	channel   int
	clientSeq uint64
	action    ahp.Action
	envelope  reconcile.Envelope
}

// peer is a client: a machine for each channel and the two directions of its
// connection.
type peer struct {
	id        string
	online    bool
	clientSeq uint64
	lastSeen  uint64
	machines  []*reconcile.Channel
	up, down  []message
	fates     map[uint64][]reconcile.Outcome // by clientSeq
	sent      map[uint64]ahp.Action
}

func newWorld(t *rapid.T) *world {
	w := &world{}
	for i := range modelChannels {
		w.channels = append(w.channels, &hostChannel{
			uri:    fmt.Sprint(ahp.ChatPrefix, i),
			states: []any{reducer.New(ahp.KindChat)},
		})
	}
	for i := range modelClients {
		p := &peer{id: fmt.Sprint("client-", i), online: true, fates: map[uint64][]reconcile.Outcome{}, sent: map[uint64]ahp.Action{}}
		for _, ch := range w.channels {
			p.machines = append(p.machines, reconcile.New(p.id, ch.state(), 0))
		}
		w.clients = append(w.clients, p)
	}
	return w
}

func (w *world) anyClient(t *rapid.T) *peer { return rapid.SampledFrom(w.clients).Draw(t, "client") }

func (w *world) anyChannel(t *rapid.T) int {
	return rapid.IntRange(0, modelChannels-1).Draw(t, "channel")
}

// action draws a client action over a small set of ids, so that actions meet.
func action(t *rapid.T) ahp.Action {
	id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")
	text := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "text")
	switch rapid.IntRange(0, 8).Draw(t, "kind") {
	case 0:
		return &ahp.ChatPendingMessageRemoved{Kind: ahp.PendingQueued, ID: id}
	case 1:
		return &ahp.ChatQueuedMessagesReordered{Order: []string{id, "b", "missing"}}
	case 2:
		return &ahp.ChatDraftChanged{Draft: ahp.UserMessage(text)}
	case 3:
		return &ahp.ChatTurnStarted{TurnID: id, StartedAt: "2026-10-01T00:00:00.000Z", Message: ahp.UserMessage(text)}
	case 4:
		return &ahp.ChatTurnCancelled{TurnID: id}
	case 5:
		return &ahp.UnknownAction{Type: "chat/fromTheFuture", Raw: jsontext.Value(`{"type":"chat/fromTheFuture"}`)}
	case 6:
		return &ahp.ChatResponsePart{TurnID: id, Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p"}}}
	case 7:
		return &ahp.ChatDelta{TurnID: id, PartID: "p", Content: text}
	}
	return &ahp.ChatPendingMessageSet{Kind: ahp.PendingQueued, ID: id, Message: ahp.UserMessage(text)}
}

// refuses is the host's validator: pure, and depending on the state.
func refuses(state any, a ahp.Action) string {
	chat := state.(*ahp.ChatState)
	switch a := a.(type) {
	case *ahp.ChatTurnStarted:
		if chat.ActiveTurn != nil {
			return "busy"
		}
	case *ahp.ChatTurnCancelled:
		if chat.ActiveTurn == nil || chat.ActiveTurn.ID != a.TurnID {
			return "no such turn"
		}
	case *ahp.ChatDraftChanged:
		if a.Draft.Text == "z" {
			return "not this draft"
		}
	}
	return ""
}

func (w *world) dispatch(t *rapid.T) {
	p, ch, a := w.anyClient(t), w.anyChannel(t), action(t)
	p.clientSeq++
	p.sent[p.clientSeq] = a
	var body jsontext.Value
	if rapid.Bool().Draw(t, "encoded") {
		body = encoded(a)
	}
	p.machines[ch].Dispatch(p.clientSeq, a, body)
}

// write hands the oldest unwritten actions of a client to its transport.
func (w *world) write(t *rapid.T) {
	p := w.anyClient(t)
	if p.online {
		p.write(rapid.IntRange(1, 4).Draw(t, "count"))
	}
}

func (p *peer) write(count int) {
	type unwritten struct {
		channel int
		entry   reconcile.Entry
	}
	var due []unwritten
	for ch, m := range p.machines {
		for _, e := range m.Pending() {
			if !e.Written {
				due = append(due, unwritten{ch, e})
			}
		}
	}
	slices.SortFunc(due, func(a, b unwritten) int { return int(a.entry.ClientSeq) - int(b.entry.ClientSeq) })
	for _, d := range due[:min(count, len(due))] {
		p.machines[d.channel].Written(d.entry.ClientSeq)
		p.up = append(p.up, message{channel: d.channel, clientSeq: d.entry.ClientSeq, action: d.entry.Action})
	}
}

// hostActs applies an action of the host's own.
func (w *world) hostActs(t *rapid.T) { w.broadcast(w.anyChannel(t), action(t), ahp.Origin{}) }

func (w *world) broadcast(ch int, a ahp.Action, origin ahp.Origin) {
	if w.channels[ch].removed {
		return
	}
	w.seq++
	e := reconcile.Envelope{ServerSeq: w.seq, Action: a, Body: encoded(a), Origin: origin}
	w.channels[ch].accept(e)
	for _, p := range w.clients {
		if p.online {
			p.down = append(p.down, message{channel: ch, envelope: e})
		}
	}
}

// process lets the host read one message.
func (w *world) process(t *rapid.T) { w.processOne(w.anyClient(t)) }

func (w *world) processOne(p *peer) {
	if len(p.up) == 0 {
		return
	}
	m := p.up[0]
	p.up = p.up[1:]
	ch := w.channels[m.channel]
	if ch.removed {
		return // silently ignored (AHP core, 6.3, 1)
	}
	origin := ahp.Origin{ClientID: p.id, ClientSeq: m.clientSeq}
	if reason := refuses(ch.state(), m.action); reason != "" {
		w.seq++
		p.down = append(p.down, message{channel: m.channel, envelope: reconcile.Envelope{
			ServerSeq: w.seq, Action: m.action, Origin: origin, Rejected: true, Reason: reason,
		}})
		return
	}
	// The host sends its own copy, an equal one, never the client's value.
	w.broadcast(m.channel, copyOf(m.action), origin)
}

func encoded(a ahp.Action) jsontext.Value {
	raw, err := ahp.EncodeAction(a)
	if err != nil {
		panic(err)
	}
	return raw
}

func copyOf(a ahp.Action) ahp.Action {
	c, err := ahp.DecodeAction(encoded(a))
	if err != nil {
		panic(err)
	}
	return c
}

func (w *world) deliver(t *rapid.T) { w.deliverOne(t, w.anyClient(t)) }

func (w *world) deliverOne(t *rapid.T, p *peer) {
	if len(p.down) == 0 {
		return
	}
	m := p.down[0]
	p.down = p.down[1:]
	p.receive(t, m)
}

func (p *peer) receive(t *rapid.T, m message) {
	p.lastSeen = max(p.lastSeen, m.envelope.ServerSeq)
	_, outcomes := p.machines[m.channel].Receive(m.envelope)
	p.note(t, outcomes)
}

func (p *peer) note(t *rapid.T, outcomes []reconcile.Outcome) {
	for _, o := range outcomes {
		if p.sent[o.ClientSeq] == nil {
			t.Fatalf("%s: outcome %v of a dispatch it never made", p.id, o)
		}
		p.fates[o.ClientSeq] = append(p.fates[o.ClientSeq], o)
	}
}

func (w *world) cut(t *rapid.T) {
	p := w.anyClient(t)
	p.online, p.up, p.down = false, nil, nil
}

func (w *world) reconnect(t *rapid.T) {
	w.reconnectClient(t, w.anyClient(t), rapid.Bool().Draw(t, "replay"))
}

// reconnectClient resumes by replay or by snapshots. A removed channel is
// missing; it keeps its machine so that its outcomes can be checked.
func (w *world) reconnectClient(t *rapid.T, p *peer, replay bool) {
	if p.online {
		return
	}
	p.online, p.up, p.down = true, nil, nil
	for i, ch := range w.channels {
		m := p.machines[i]
		switch {
		case ch.removed:
			p.note(t, m.Remove())
		case replay:
			for _, e := range ch.log {
				if e.ServerSeq > p.lastSeen {
					_, outcomes := m.Receive(e)
					p.note(t, outcomes)
				}
			}
			p.note(t, m.Replayed())
		default:
			p.note(t, m.Reset(ch.state(), w.seq))
		}
	}
	p.lastSeen = w.seq
}

// remove ends a channel, rarely: most cases should go on.
func (w *world) remove(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
		w.channels[w.anyChannel(t)].removed = true
	}
}

// check compares every machine with the host's record.
func (w *world) check(t *rapid.T) {
	for _, p := range w.clients {
		for i, m := range p.machines {
			if got, want := text(t, m.Confirmed()), text(t, w.channels[i].upTo(m.Applied())); got != want {
				t.Fatalf("%s channel %d: confirmed at %d\n got %s\nwant %s", p.id, i, m.Applied(), got, want)
			}
			want := m.Confirmed()
			for _, e := range m.Pending() {
				want = reducer.Apply(want, e.Action)
			}
			if got, want := text(t, m.Optimistic()), text(t, want); got != want {
				t.Fatalf("%s channel %d: optimistic\n got %s\nwant %s", p.id, i, got, want)
			}
			checkOrder(t, m.Pending())
		}
	}
}

func checkOrder(t *rapid.T, pending []reconcile.Entry) {
	for i := 1; i < len(pending); i++ {
		if pending[i].ClientSeq <= pending[i-1].ClientSeq || pending[i].Written && !pending[i-1].Written {
			t.Fatalf("pending out of order: %v", pending)
		}
	}
}

// quiesce lets everything arrive and checks that all agree and every dispatch
// ended once, truthfully.
func (w *world) quiesce(t *rapid.T) {
	for _, p := range w.clients {
		w.reconnectClient(t, p, true)
		p.write(1 << 20)
	}
	for slices.ContainsFunc(w.clients, func(p *peer) bool { return len(p.up)+len(p.down) > 0 }) {
		for _, p := range w.clients {
			w.processOne(p)
			w.deliverOne(t, p)
		}
	}
	for _, p := range w.clients {
		for i, m := range p.machines {
			if w.channels[i].removed {
				p.note(t, m.Remove())
			} else if got, want := text(t, m.Optimistic()), text(t, w.channels[i].state()); got != want {
				t.Fatalf("%s channel %d after quiet\n got %s\nwant %s", p.id, i, got, want)
			}
			// An action with no successor to reveal it can only be pending on
			// a channel that is gone, and that was removed above.
			if m.Len() != 0 {
				t.Fatalf("%s channel %d: still pending after quiet: %v", p.id, i, m.Pending())
			}
		}
		w.checkFates(t, p)
	}
}

func (w *world) checkFates(t *rapid.T, p *peer) {
	applied := map[uint64]int{}
	for _, ch := range w.channels {
		for _, e := range ch.log {
			if e.Origin.ClientID == p.id {
				applied[e.Origin.ClientSeq]++
			}
		}
	}
	for seq := range maps.Keys(p.sent) {
		fates, times := p.fates[seq], applied[seq]
		if len(fates) != 1 {
			t.Fatalf("%s: dispatch %d ended %d times: %v", p.id, seq, len(fates), fates)
		}
		bad := times > 1
		switch fates[0].Result {
		case reconcile.Confirmed:
			bad = times != 1
		case reconcile.Rejected, reconcile.Unsent:
			bad = times != 0
		}
		if bad {
			t.Fatalf("%s: dispatch %d ended %v but was applied %d times", p.id, seq, fates[0], times)
		}
	}
}

func text(t *rapid.T, state any) string {
	raw, err := ahp.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
