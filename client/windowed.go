package client

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// windowed is the windowed part of a connection: its subscriptions, and what they
// have to send. The client's lock guards it.
type windowed struct {
	subs   map[ahp.URI]*subscription
	routes atomic.Bool // there is or was one; anybody's
	// owing have a credit to send, urgent are resets and the unsubscribes behind
	// them. Both overtake everything else (AHP core, 12.2), and neither holds
	// more than a few messages for each subscription there was.
	owing  []*subscription
	urgent [][]byte
	// held are actions behind a full window, and those behind them: their
	// numbers must ascend on the wire. They are bounded as all actions are.
	held []outgoing
	cut  *cutting // the first of held, when it goes out in frames
	// turns are the TCP connections with something to send.
	turns flow.Turns[*TCPConn]

	// Only the writer touches these.
	arena  []byte   // small messages of the batch
	frames []*frame // large ones, to be used again when the batch is written
}

// cutting is an action that goes out in frames.
type cutting struct {
	dispatch *Dispatch
	sub      *subscription
	rest     flow.Fragmenter
}

// hearWindowed hands a notification to the windowed subscription it belongs to, and
// reports whether there was one. It runs on the reader.
func (l *link) hearWindowed(m *jsonrpc.Message) bool {
	if !l.routes.Load() {
		return false
	}
	l.c.mu.Lock()
	raw, _ := jsonrpc.Member(m.Params, "channel")
	uri, _ := jsonrpc.StringBytes(raw)
	s := l.subs[string(uri)]
	open := s != nil && s.open
	l.c.mu.Unlock()
	if open {
		s.receive(*m, flow.Size(l.reading))
	}
	// What comes before the answer to the subscribe is left over from an earlier
	// subscription of the same channel.
	return s != nil
}

// subscribe asks for a windowed subscription, whose route is there before the
// answer can be, and waits for the answer. Heard takes it on the reader, before
// what follows it is read, and its error is the result; it may also be called
// with why no answer came.
func (l *link) subscribe(ctx context.Context, s *subscription, params ahp.SubscribeParams, heard func(*ahp.SubscribeResult, error) error) error {
	params.FlowControl = &ahp.FlowControlOffer{Receive: ahp.ChannelReceiveLimits{
		WindowBytes: s.offer.WindowBytes, MaximumFrameBytes: s.offer.MaxFrameBytes,
	}}
	raw, err := ahp.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode params of %s: %w", ahp.MethodSubscribe, err)
	}
	l.c.mu.Lock()
	l.routeLocked(s)
	l.c.mu.Unlock()
	settled := make(chan error, 1)
	call, err := l.rpc.Start(jsonrpc.Request{
		Method: ahp.MethodSubscribe, Params: raw,
		Settled: func(result jsontext.Value, err error) {
			var r ahp.SubscribeResult
			if err == nil {
				err = ahp.Unmarshal(result, &r)
			}
			settled <- heard(&r, err)
		},
	})
	if err != nil {
		return l.callError(ahp.MethodSubscribe, err, true)
	}
	select {
	case err = <-settled:
	case <-ctx.Done():
		call.Cancel(context.Cause(ctx))
		err = <-settled
	}
	return l.lostError(ahp.MethodSubscribe, call.ID(), err)
}

// routeLocked lets notifications of its channel go to a subscription.
func (l *link) routeLocked(s *subscription) {
	if l.subs == nil {
		l.subs = make(map[ahp.URI]*subscription)
		l.routes.Store(true)
	}
	l.subs[s.uri] = s
}

// closeSubscriptionLocked ends a subscription at this end.
func (l *link) closeSubscriptionLocked(s *subscription) {
	if l.subs[s.uri] == s {
		delete(l.subs, s.uri)
	}
	s.open = false
	l.wakeLocked() // actions held back by it
}

// urgeLocked queues control messages that overtake everything else.
func (l *link) urgeLocked(messages ...[]byte) {
	if l.dropped {
		return
	}
	l.urgent = append(l.urgent, messages...)
	l.wakeLocked()
}

// takeControlLocked takes what overtakes everything else.
func (l *link) takeControlLocked(batch [][]byte) [][]byte {
	l.arena = l.arena[:0]
	for _, s := range l.owing {
		s.owing = false
		if s.open {
			batch = l.addLocked(batch, s.appendCredit)
		}
	}
	clear(l.owing)
	l.owing = l.owing[:0]
	batch = append(batch, l.urgent...)
	clear(l.urgent)
	l.urgent = l.urgent[:0]
	return batch
}

// addLocked adds a small message that is built in the arena.
func (l *link) addLocked(batch [][]byte, build func(dst []byte) []byte) [][]byte {
	start := len(l.arena)
	l.arena = build(l.arena) // what it grows out of stays valid
	return append(batch, l.arena[start:len(l.arena):len(l.arena)])
}

// holdsLocked reports whether an action must wait: for its window, for the answer to its
// subscribe, or behind another one that does. If not it is charged.
func (l *link) holdsLocked(o outgoing) bool {
	s := o.dispatch.ch.sub
	if len(l.held) == 0 && s == nil {
		return false
	}
	if size := flow.Size(o.msg); len(l.held) == 0 && s.open && s.window.CanStart() && s.window.Limits().Fits(size) {
		return s.window.Charge(size) != nil // never: it may start and fits
	}
	l.held = append(l.held, o)
	return true
}

// maxTurnBytes is about how much of a batch windowed subscriptions get: what is
// behind it waits for no more than that and a frame.
const maxTurnBytes = 64 << 10

// takeTurnsLocked adds to a batch: the windowed subscriptions take turns, a frame
// each (AHP core, 12.4, 4). One turn there is always, whatever else there is to
// send.
func (l *link) takeTurnsLocked(batch [][]byte) [][]byte {
	for size := 0; size < maxTurnBytes; {
		before := len(batch)
		batch = l.takeHeldLocked(batch)
		batch = l.takeTCPLocked(batch)
		if len(batch) == before {
			break
		}
		for _, m := range batch[before:] {
			size += len(m)
		}
	}
	return batch
}

// takeTCPLocked takes a message of the TCP connection whose turn it is.
func (l *link) takeTCPLocked(batch [][]byte) [][]byte {
	t, ok := l.turns.Next()
	if !ok {
		return batch
	}
	batch, more := t.turnLocked(batch)
	if more {
		l.turns.Join(t)
	}
	return batch
}

// takeHeldLocked takes the first action held back, or a frame of it, if it may go.
func (l *link) takeHeldLocked(batch [][]byte) [][]byte {
	for len(l.held) > 0 {
		o := l.held[0]
		s := o.dispatch.ch.sub
		if l.cut != nil && (l.cut.sub != s || !o.dispatch.waitsLocked()) {
			l.cut = nil // its subscription has ended; so has the action
			l.popHeldLocked()
			continue
		}
		if s != nil && !(s.open && s.window.CanStart()) {
			return batch
		}
		if l.cut == nil && !o.dispatch.writeLocked() {
			l.popHeldLocked()
			continue
		}
		l.expectEchoLocked(echoPatience)
		return l.sendHeldLocked(batch, o, s)
	}
	return batch
}

// sendHeldLocked sends the first action held back: whole, or the next frame of it.
func (l *link) sendHeldLocked(batch [][]byte, o outgoing, s *subscription) [][]byte {
	size := flow.Size(o.msg)
	if s == nil || l.cut == nil && s.window.Limits().Fits(size) {
		if s != nil {
			_ = s.window.Charge(size) // it may start and fits
		}
		l.popHeldLocked()
		return append(batch, o.msg)
	}
	if l.cut == nil {
		rest, err := flow.NewFragmenter(o.msg, s.frame, s.window.Limits().MaxFrameBytes)
		if err != nil { // accept has tried the envelope, and encoders write UTF-8
			l.popHeldLocked()
			return batch
		}
		l.cut = &cutting{dispatch: o.dispatch, sub: s, rest: rest}
	}
	msg, size := l.cut.rest.AppendNext(nil)
	_ = s.window.Charge(size)
	if l.cut.rest.Done() {
		l.cut = nil
		l.popHeldLocked()
	}
	return append(batch, msg)
}

func (l *link) popHeldLocked() {
	l.held[0] = outgoing{}
	l.held = l.held[1:]
	if len(l.held) == 0 {
		l.held = nil
	}
}

// written is called by the writer when the batch has left: its frames are free.
func (l *link) written() {
	for i, f := range l.frames {
		giveFrame(f)
		l.frames[i] = nil
	}
	l.frames = l.frames[:0]
	if cap(l.arena) > maxArena {
		l.arena = nil
	}
}

// maxArena is what a connection keeps for small messages.
const maxArena = 16 << 10
