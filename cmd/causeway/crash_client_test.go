package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// crashClient is a client that keeps its states over the deaths of its host. It
// writes the protocol by hand, so that it shares nothing with our client but the
// reducers.
type crashClient struct {
	id    string
	facts *crashFacts

	conn    *websocket.Conn
	reading sync.WaitGroup

	mu        sync.Mutex
	states    map[ahp.URI]any
	from      map[ahp.URI]uint64 // number a state is as of at least
	last      uint64             // the highest number seen
	clientSeq uint64
	requests  map[string]chan message
	confirmed map[string]bool
}

type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

type envelope struct {
	Channel   ahp.URI        `json:"channel"`
	Action    jsontext.Value `json:"action"`
	ServerSeq uint64         `json:"serverSeq"`
	Rejection string         `json:"rejectionReason"`
}

type snapshot struct {
	Resource ahp.URI        `json:"resource"`
	State    jsontext.Value `json:"state"`
	FromSeq  uint64         `json:"fromSeq"`
}

// crashFacts is what clients were shown, by all hosts together.
type crashFacts struct {
	mu     sync.Mutex
	shown  map[uint64]string
	wrong  []string
	replay int // reconnects answered by replay
	others int // and otherwise
}

func (f *crashFacts) complain(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
}

// show notes an envelope. A number means the same to everybody, for ever.
func (f *crashFacts) show(e *envelope) {
	text := fmt.Sprintf("%s %s %s", e.Channel, e.Action, e.Rejection)
	f.mu.Lock()
	old, known := f.shown[e.ServerSeq]
	f.shown[e.ServerSeq] = text
	f.mu.Unlock()
	if known && old != text {
		f.complain("number %d is %q and %q", e.ServerSeq, old, text)
	}
}

func newCrashClient(id string, f *crashFacts) *crashClient {
	return &crashClient{id: id, facts: f, states: make(map[ahp.URI]any), from: make(map[ahp.URI]uint64), confirmed: make(map[string]bool)}
}

// connect dials the host and returns when the client is up to date: by
// initialize the first time, by reconnect afterwards.
func (c *crashClient) connect(ctx context.Context, socket string) error {
	conn, err := dialUnix(ctx, socket)
	if err != nil {
		return err
	}
	conn.SetReadLimit(-1)
	c.mu.Lock()
	c.conn, c.requests = conn, make(map[string]chan message)
	first := c.last == 0
	subs := make([]ahp.URI, 0, len(c.states))
	for uri := range c.states {
		subs = append(subs, uri)
	}
	c.mu.Unlock()
	c.reading.Go(func() { c.readLoop(ctx, conn) })
	if first {
		return c.initialize(ctx)
	}
	return c.reconnect(ctx, subs)
}

func (c *crashClient) initialize(ctx context.Context) error {
	var r struct {
		ServerSeq uint64     `json:"serverSeq"`
		Snapshots []snapshot `json:"snapshots"`
	}
	err := c.call(ctx, "initialize", map[string]any{
		"channel": ahp.RootURI, "protocolVersions": []string{"1.1.0"}, "clientId": c.id, "initialSubscriptions": []ahp.URI{ahp.RootURI},
	}, &r)
	if err != nil {
		return err
	}
	c.take(r.Snapshots)
	c.mu.Lock()
	c.last = max(c.last, r.ServerSeq)
	c.mu.Unlock()
	return nil
}

func (c *crashClient) reconnect(ctx context.Context, subs []ahp.URI) error {
	var r struct {
		Type      string     `json:"type"`
		Actions   []envelope `json:"actions"`
		Snapshots []snapshot `json:"snapshots"`
		Missing   []ahp.URI  `json:"missing"`
	}
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	err := c.call(ctx, "reconnect", map[string]any{
		"channel": ahp.RootURI, "clientId": c.id, "lastSeenServerSeq": last, "subscriptions": subs,
	}, &r)
	if err != nil {
		return err
	}
	c.facts.mu.Lock()
	if r.Type == "replay" {
		c.facts.replay++
	} else {
		c.facts.others++
	}
	c.facts.mu.Unlock()
	for i := range r.Actions {
		c.apply(&r.Actions[i])
	}
	c.take(r.Snapshots)
	c.mu.Lock()
	for _, uri := range r.Missing {
		delete(c.states, uri)
	}
	c.mu.Unlock()
	return nil
}

// lost waits until the connection to a dead host has ended.
func (c *crashClient) lost() {
	if c.conn != nil {
		_ = c.conn.CloseNow()
		c.reading.Wait()
	}
}

func (c *crashClient) readLoop(ctx context.Context, conn *websocket.Conn) {
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			c.mu.Lock()
			for _, ch := range c.requests {
				close(ch)
			}
			c.requests = nil
			c.mu.Unlock()
			return
		}
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			c.facts.complain("%s: %v in %s", c.id, err, raw)
			return
		}
		switch {
		case m.Method == "action":
			var e envelope
			if err := json.Unmarshal(m.Params, &e); err != nil {
				c.facts.complain("%s: %v in %s", c.id, err, raw)
				return
			}
			c.apply(&e)
		case m.Method == "":
			c.mu.Lock()
			ch := c.requests[string(m.ID)]
			delete(c.requests, string(m.ID))
			c.mu.Unlock()
			if ch != nil {
				ch <- m
			}
		}
	}
}

// apply takes an envelope, live or replayed.
func (c *crashClient) apply(e *envelope) {
	c.facts.show(e)
	a, err := ahp.DecodeAction(e.Action)
	if err != nil {
		c.facts.complain("%s: %v in %s", c.id, err, e.Action)
		return
	}
	c.mu.Lock()
	if e.ServerSeq <= c.last && e.Rejection == "" && e.ServerSeq > c.from[e.Channel] {
		if _, mine := c.states[e.Channel]; mine {
			c.facts.complain("%s: number %d came after %d", c.id, e.ServerSeq, c.last)
		}
	}
	c.last = max(c.last, e.ServerSeq)
	state, ok := c.states[e.Channel]
	if ok && e.Rejection == "" && e.ServerSeq > c.from[e.Channel] {
		c.states[e.Channel], c.from[e.Channel] = reducer.Apply(state, a), e.ServerSeq
	}
	c.mu.Unlock()
}

func (c *crashClient) take(list []snapshot) {
	for _, s := range list {
		state, err := reducer.Decode(ahp.KindOf(s.Resource), s.State)
		if err != nil {
			c.facts.complain("%s: %v", c.id, err)
			continue
		}
		c.mu.Lock()
		c.states[s.Resource], c.from[s.Resource] = state, s.FromSeq
		c.mu.Unlock()
	}
}

var errLost = errors.New("the host has gone")

func (c *crashClient) call(ctx context.Context, method string, params, result any) error {
	ch := make(chan message, 1)
	id := fmt.Sprintf("%q", uuid.NewString())
	c.mu.Lock()
	if c.requests == nil {
		c.mu.Unlock()
		return errLost
	}
	c.requests[id] = ch
	c.mu.Unlock()
	if err := c.write(ctx, map[string]any{"jsonrpc": "2.0", "id": jsontext.Value(id), "method": method, "params": params}); err != nil {
		return errLost
	}
	m, ok := <-ch
	switch {
	case !ok:
		return errLost
	case m.Error != nil:
		return fmt.Errorf("%s: %s", method, m.Error)
	case result == nil:
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

func (c *crashClient) write(ctx context.Context, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.conn.Write(ctx, websocket.MessageText, raw)
}

func (c *crashClient) dispatch(ctx context.Context, channel ahp.URI, action any) error {
	c.mu.Lock()
	c.clientSeq++
	n := c.clientSeq
	c.mu.Unlock()
	return c.write(ctx, map[string]any{"jsonrpc": "2.0", "method": "dispatchAction", "params": map[string]any{
		"channel": channel, "clientSeq": n, "action": action,
	}})
}

func (c *crashClient) subscribe(ctx context.Context, uri ahp.URI) error {
	var r struct {
		Snapshot snapshot `json:"snapshot"`
	}
	if err := c.call(ctx, "subscribe", map[string]any{"channel": uri}, &r); err != nil {
		return err
	}
	// What came since the snapshot is waited for again: it was not applied.
	c.take([]snapshot{r.Snapshot})
	return nil
}

func (c *crashClient) state(uri ahp.URI) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.states[uri]
}

// work does what users do, until the host dies.
func (c *crashClient) work(ctx context.Context, w *crashWorld, rng *rand.Rand) {
	for {
		if c.act(ctx, w, rng) != nil {
			return
		}
		select {
		case <-time.After(time.Duration(rng.IntN(4)) * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

// act does one thing in one chat.
func (c *crashClient) act(ctx context.Context, w *crashWorld, rng *rand.Rand) error {
	chat := w.chats[rng.IntN(len(w.chats))]
	s, ok := c.state(chat).(*ahp.ChatState)
	if !ok {
		return nil
	}
	message := func(text string) map[string]any {
		return map[string]any{"text": text, "origin": map[string]any{"kind": "user"}}
	}
	switch n := rng.IntN(100); {
	case s.ActiveTurn == nil && n < 85:
		id := uuid.NewString()
		return c.dispatch(ctx, chat, map[string]any{
			"type": "chat/turnStarted", "turnId": id, "startedAt": "2026-01-01T00:00:00.000Z", "message": message(w.command(id, rng)),
		})
	case s.ActiveTurn != nil && n < 85:
		return c.confirm(ctx, chat, s)
	case s.ActiveTurn != nil && n < 89:
		return c.dispatch(ctx, chat, map[string]any{"type": "chat/turnCancelled", "turnId": s.ActiveTurn.ID, "duration": 1})
	case n < 95 && len(s.QueuedMessages) < 3:
		id := uuid.NewString()
		return c.dispatch(ctx, chat, map[string]any{
			"type": "chat/pendingMessageSet", "kind": "queued", "id": id, "message": message(w.command(id, rng)),
		})
	default:
		return c.dispatch(ctx, w.sessions[rng.IntN(len(w.sessions))], map[string]any{"type": "session/titleChanged", "title": strings.Repeat("é", rng.IntN(20)+1)})
	}
}

// confirm lets a command run, once from this client.
func (c *crashClient) confirm(ctx context.Context, chat ahp.URI, s *ahp.ChatState) error {
	for _, p := range s.ActiveTurn.ResponseParts.All() {
		t, ok := p.Part.(*ahp.ToolCallPart)
		if !ok || t.ToolCall.Status != ahp.ToolPendingConfirmation || c.confirmed[s.ActiveTurn.ID+t.ToolCall.ToolCallID] {
			continue
		}
		c.confirmed[s.ActiveTurn.ID+t.ToolCall.ToolCallID] = true
		return c.dispatch(ctx, chat, map[string]any{
			"type": "chat/toolCallConfirmed", "turnId": s.ActiveTurn.ID, "toolCallId": t.ToolCall.ToolCallID,
			"approved": true, "confirmed": "user-action",
		})
	}
	return nil
}
