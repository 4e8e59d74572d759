package host

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/go-json-experiment/json/jsontext"
)

// simClient is a client of the simplest kind that is right: it keeps the reduced
// state of its channels, reconnects when it is cut off, and checks all that it is
// sent. On each connection one goroutine reads, one writes and one talks; the lock
// is held for no I/O, since a bubble's clock stands still for who waits for a lock.
type simClient struct {
	w    *sim
	name string
	rng  *rand.Rand
	want []ahp.URI // the channels it is to follow

	mu        sync.Mutex
	out       chan []byte // to the writer of this connection
	states    map[ahp.URI]any
	at        map[ahp.URI]uint64 // the number each state stands at
	lastSeen  uint64
	connSeq   uint64 // the last number on this connection
	clientSeq uint64
	pending   []dispatchedAction // sent, without an echo
	resent    map[uint64]bool    // numbers that may be answered twice
	echoed    map[string]bool    // titles whose echo came without a rejection
	requests  map[uint64]func(result jsontext.Value, failed bool)
	lastID    uint64
	known     bool // an initialize has succeeded
}

// dispatchedAction is one dispatch as it was sent.
type dispatchedAction struct {
	seq     uint64
	channel ahp.URI
	msg     []byte
}

func newSimClient(w *sim, i int, rng *rand.Rand) *simClient {
	c := &simClient{w: w, name: fmt.Sprintf("client%d", i), rng: rng, echoed: make(map[string]bool)}
	for _, uri := range w.channels {
		if rng.IntN(4) == 0 {
			c.want = append(c.want, uri)
		}
	}
	if len(c.want) == 0 {
		c.want = w.channels[:1]
	}
	c.forget()
	return c
}

// forget drops everything that belongs to a lineage.
func (c *simClient) forget() {
	c.states, c.at = make(map[ahp.URI]any), make(map[ahp.URI]uint64)
	c.pending, c.resent = nil, make(map[uint64]bool)
	c.lastSeen, c.clientSeq, c.known = 0, 0, false
}

// run connects again and again until ctx ends.
func (c *simClient) run(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := c.w.dial(ctx, c.name)
		if err != nil {
			_ = sleep(ctx, time.Duration(10+c.rng.IntN(500))*time.Millisecond)
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close(transport.CodeNormal, "") })
		c.converse(ctx, conn)
		stop()
	}
}

// converse lives through one connection.
func (c *simClient) converse(ctx context.Context, conn transport.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan []byte, 1<<16)
	var others sync.WaitGroup
	defer others.Wait()
	defer conn.Close(transport.CodeNormal, "")
	defer cancel()
	others.Go(func() { writeAll(ctx, conn, out) })
	c.mu.Lock()
	c.out, c.connSeq, c.requests = out, 0, make(map[uint64]func(jsontext.Value, bool))
	c.greet(func() { others.Go(func() { c.talk(ctx) }) })
	c.mu.Unlock()
	for {
		data, err := conn.Read()
		if err != nil {
			return
		}
		c.mu.Lock()
		c.receive(data)
		c.mu.Unlock()
	}
}

// request sends a request; then is called with the answer. The lock is held.
func (c *simClient) request(method string, params any, then func(result jsontext.Value, failed bool)) {
	c.lastID++
	c.requests[c.lastID] = then
	raw, err := ahp.Marshal(params)
	if err != nil {
		panic(err)
	}
	c.write(jsonrpc.AppendRequest(nil, jsonrpc.NumberID(c.lastID), method, raw))
}

func (c *simClient) write(msg []byte) { c.out <- msg }

// writeAll writes what is queued. A failure is noticed by the reader too.
func writeAll(ctx context.Context, conn transport.Conn, out <-chan []byte) {
	for {
		select {
		case msg := <-out:
			if conn.Write([][]byte{msg}) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// greet begins a connection with a reconnect in either form, or an initialize.
func (c *simClient) greet(ready func()) {
	held := make([]ahp.URI, 0, len(c.states))
	for uri := range c.states {
		held = append(held, uri)
	}
	slices.Sort(held)
	root := ahp.RootURI
	p := ahp.ReconnectParams{Channel: &root, ClientID: c.name, LastSeenServerSeq: &c.lastSeen}
	cursors := c.rng.IntN(2) == 0
	for _, uri := range held {
		var entry any = uri
		if cursors {
			entry = ahp.ChannelCursor{Channel: uri, LastSeenServerSeq: c.at[uri]}
		}
		raw, _ := ahp.Marshal(entry)
		p.Subscriptions = append(p.Subscriptions, raw)
	}
	if !c.known || c.rng.IntN(10) == 0 {
		c.initialize(ready)
		return
	}
	c.request(ahp.MethodReconnect, p, func(result jsontext.Value, failed bool) {
		if failed {
			c.initialize(ready)
			return
		}
		c.resume(held, result)
		c.subscribeRest()
		ready()
	})
}

// initialize begins a new lineage.
func (c *simClient) initialize(ready func()) {
	c.forget()
	p := ahp.InitializeParams{
		Channel: ahp.RootURI, ProtocolVersions: []string{"1.1.0"}, ClientID: c.name,
		InitialSubscriptions: c.want[:c.rng.IntN(len(c.want)+1)],
	}
	c.request(ahp.MethodInitialize, p, func(raw jsontext.Value, failed bool) {
		var r ahp.InitializeResult
		if failed || ahp.Unmarshal(raw, &r) != nil || len(r.Snapshots) != len(p.InitialSubscriptions) {
			c.w.t.Errorf("%s: initialize failed: %s", c.name, raw)
			return
		}
		c.known = true
		for i := range r.Snapshots {
			c.adopt(&r.Snapshots[i])
		}
		c.subscribeRest()
		ready()
	})
}

// subscribeRest subscribes to what is wanted and not held, and now and then to
// what is held.
func (c *simClient) subscribeRest() {
	for _, uri := range c.want {
		if c.states[uri] != nil && c.rng.IntN(10) > 0 {
			continue
		}
		c.request(ahp.MethodSubscribe, ahp.SubscribeParams{Channel: uri}, func(raw jsontext.Value, failed bool) {
			var r ahp.SubscribeResult
			if failed || ahp.Unmarshal(raw, &r) != nil || r.Snapshot == nil {
				c.w.t.Errorf("%s: subscribe failed: %s", c.name, raw)
				return
			}
			c.adopt(r.Snapshot)
		})
	}
}

// adopt takes a snapshot as the state of its channel.
func (c *simClient) adopt(s *ahp.Snapshot) {
	state, err := reducer.Decode(ahp.KindOf(s.Resource), s.State)
	if err != nil {
		c.w.t.Errorf("%s: snapshot of %s: %v", c.name, s.Resource, err)
		return
	}
	c.states[s.Resource], c.at[s.Resource] = state, s.FromSeq
	c.lastSeen = max(c.lastSeen, s.FromSeq)
}

// resume applies the answer to a reconnect and settles what is pending.
func (c *simClient) resume(held []ahp.URI, raw jsontext.Value) {
	var r ahp.ReconnectResult
	if err := ahp.Unmarshal(raw, &r); err != nil {
		c.w.t.Errorf("%s: reconnect: %v", c.name, err)
		return
	}
	answered := len(r.Missing)
	for i := range r.Channels {
		ch := &r.Channels[i]
		answered++
		c.w.outcome("cursors " + ch.Kind)
		if ch.Snapshot != nil {
			c.adopt(ch.Snapshot)
		}
		c.replay(ch.Actions, c.at[ch.Channel])
	}
	if r.Type != "" {
		c.w.outcome(r.Type)
		answered = len(held)
	}
	if answered != len(held) || len(r.Missing) > 0 {
		c.w.t.Errorf("%s: %d of %d channels answered, missing %v", c.name, answered, len(held), r.Missing)
	}
	c.replay(r.Actions, c.lastSeen)
	for i := range r.Snapshots {
		c.adopt(&r.Snapshots[i])
	}
	c.retry()
}

// replay applies actions that all lie above the number last.
func (c *simClient) replay(list []ahp.ActionEnvelope, last uint64) {
	for i := range list {
		e := &list[i]
		if e.ServerSeq <= last || e.RejectionReason != nil {
			c.w.t.Errorf("%s: replay of %d after %d", c.name, e.ServerSeq, last)
		}
		last = e.ServerSeq
		c.apply(e)
	}
}

// retry sends what has no echo once more, which a host must endure, or gives up
// on it.
func (c *simClient) retry() {
	if c.rng.IntN(3) == 0 {
		c.pending = nil
		return
	}
	for _, d := range c.pending {
		c.resent[d.seq] = true
		c.write(d.msg)
	}
}

// receive handles one message.
func (c *simClient) receive(data []byte) {
	m, err := jsonrpc.Scan(data)
	if err != nil {
		c.w.t.Errorf("%s: host sent %q: %v", c.name, data, err)
		return
	}
	switch {
	case m.Kind == jsonrpc.KindResponse:
		var answer struct {
			ID     uint64         `json:"id"`
			Result jsontext.Value `json:"result"`
			Error  jsontext.Value `json:"error"`
		}
		if err := ahp.Unmarshal(data, &answer); err != nil || c.requests[answer.ID] == nil {
			c.w.t.Errorf("%s: answer to nothing: %s", c.name, data)
			return
		}
		then := c.requests[answer.ID]
		delete(c.requests, answer.ID)
		then(answer.Result, answer.Error != nil)
	case m.Method == ahp.MethodAction:
		var e ahp.ActionEnvelope
		if err := ahp.Unmarshal(m.Params, &e); err != nil {
			c.w.t.Errorf("%s: envelope %s: %v", c.name, m.Params, err)
			return
		}
		c.live(&e)
	}
}

// live checks the order of an envelope that came by itself, and applies it.
func (c *simClient) live(e *ahp.ActionEnvelope) {
	own := e.Origin != nil && e.Origin.ClientID == c.name
	repeated := own && c.resent[e.Origin.ClientSeq]
	if e.ServerSeq <= c.connSeq && !repeated {
		c.w.t.Errorf("%s: number %d after %d", c.name, e.ServerSeq, c.connSeq)
	}
	c.connSeq = max(c.connSeq, e.ServerSeq)
	if c.states[e.Channel] != nil && e.ServerSeq <= c.at[e.Channel] && !repeated {
		c.w.t.Errorf("%s: number %d on %s, which stands at %d", c.name, e.ServerSeq, e.Channel, c.at[e.Channel])
	}
	c.apply(e)
}

// apply reduces an envelope, unless the state has it already.
func (c *simClient) apply(e *ahp.ActionEnvelope) {
	c.lastSeen = max(c.lastSeen, e.ServerSeq)
	if e.Origin != nil && e.Origin.ClientID == c.name {
		c.settle(e)
	}
	state := c.states[e.Channel]
	if state == nil || e.ServerSeq <= c.at[e.Channel] {
		return
	}
	c.at[e.Channel] = e.ServerSeq
	if e.RejectionReason == nil {
		c.states[e.Channel] = reducer.Apply(state, e.Action.Action)
	}
}

// settle takes an own dispatch off the list.
func (c *simClient) settle(e *ahp.ActionEnvelope) {
	c.pending = slices.DeleteFunc(c.pending, func(d dispatchedAction) bool { return d.seq == e.Origin.ClientSeq })
	if t, ok := e.Action.Action.(*ahp.SessionTitleChanged); ok && e.RejectionReason == nil {
		c.echoed[t.Title] = true
	}
}

// talk dispatches now and then, also to channels it does not follow.
func (c *simClient) talk(ctx context.Context) {
	for sleep(ctx, time.Duration(20+c.talkRand(400))*time.Millisecond) == nil {
		if c.w.quiet.Load() {
			return
		}
		c.mu.Lock()
		c.dispatch()
		c.mu.Unlock()
	}
}

func (c *simClient) talkRand(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n)
}

func (c *simClient) dispatch() {
	channel := c.w.sessions[c.rng.IntN(len(c.w.sessions))]
	title := ""
	if c.rng.IntN(8) > 0 { // else one that is rejected
		title = c.w.title(c.name)
	}
	c.clientSeq++
	action, err := ahp.EncodeAction(&ahp.SessionTitleChanged{Title: title})
	if err != nil {
		panic(err)
	}
	params, err := ahp.Marshal(ahp.DispatchActionParams{Channel: channel, ClientSeq: c.clientSeq, Action: action})
	if err != nil {
		panic(err)
	}
	msg := jsonrpc.AppendNotification(nil, ahp.MethodDispatchAction, params)
	c.pending = append(c.pending, dispatchedAction{c.clientSeq, channel, msg})
	c.write(msg)
}
