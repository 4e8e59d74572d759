package client

import (
	"fmt"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// maxWindowedMessage bounds a message that comes in frames, in bytes of memory;
// the snapshot of a long chat is the largest there is.
const maxWindowedMessage = 256 << 20

// windowSink delivers a windowed subscription to a channel. Its envelopes take
// the road of ordinary ones but for one thing: they say nothing about what the
// client has received on other channels (AHP core, 12.6).
type windowSink struct {
	ch *channel
	s  *subscription
	// resumes says that the snapshot begins a new connection. Only the reader
	// touches it.
	resumes bool
}

// windowLocked makes the windowed subscription of a channel on a connection, in
// the place of one it may have there.
func (ch *channel) windowLocked(l *link) *windowSink {
	w := &windowSink{ch: ch}
	w.s = newSubscription(l, ch.uri, ch.opts.Window.limits(), maxWindowedMessage, w)
	if ch.leaveWindowLocked() {
		l.pushLocked(outgoing{msg: controlText(ahp.MethodUnsubscribe, ch.uri)})
	}
	ch.sub = w.s
	return w
}

// leaveWindowLocked ends a channel's windowed subscription at this end, and
// reports whether there was one on a connection that lives.
func (ch *channel) leaveWindowLocked() bool {
	s := ch.sub
	if s == nil {
		return false
	}
	ch.sub = nil
	s.l.closeSubscriptionLocked(s)
	return !s.l.dropped
}

// subscribeTo subscribes to a channel as its options want it. An answer with flow
// control means that the snapshot follows as data; without, the host has declined
// or was not asked, and delivery is ordinary (AHP core, 12.3).
func (l *link) subscribeTo(ch *channel) (ahp.SubscribeResult, error) {
	var r ahp.SubscribeResult
	params := ch.opts.params(ch.uri)
	if ch.opts.Window == nil {
		err := l.call(l.ctx, ahp.MethodSubscribe, params, &r)
		return r, err
	}
	l.c.mu.Lock()
	w := ch.windowLocked(l)
	l.c.mu.Unlock()
	err := l.subscribe(l.ctx, w.s, params, func(answer *ahp.SubscribeResult, err error) error {
		r = *answer
		return w.answered(answer, err)
	})
	return r, err
}

// answered takes the answer to the subscribe, on the reader.
func (w *windowSink) answered(r *ahp.SubscribeResult, err error) error {
	if err == nil && r.FlowControl != nil {
		if err = w.s.accept(r.FlowControl); err == nil {
			w.ch.c.mu.Lock()
			w.ch.windowed = true
			w.ch.c.mu.Unlock()
			return nil
		}
	}
	w.ch.c.mu.Lock()
	defer w.ch.c.mu.Unlock()
	if w.ch.sub == w.s {
		w.ch.leaveWindowLocked()
		w.ch.windowed = false
	}
	if r.FlowControl != nil && !w.s.l.dropped { // accepted, but not as it was offered
		w.s.l.pushLocked(outgoing{msg: controlText(ahp.MethodUnsubscribe, w.ch.uri)})
	}
	return err
}

// take implements sink.
func (w *windowSink) take(m jsonrpc.Message, size int64) error {
	defer w.s.release(size) // once the state is reduced
	switch m.Method {
	case ahp.MethodChannelSnapshot:
		return w.snapshot(m.Params)
	case ahp.MethodAction:
		return w.action(m.Params)
	}
	w.s.l.notified(&m)
	return nil
}

// moved implements sink: the reassembly buffer is bounded by itself.
func (w *windowSink) moved(size int64) { w.s.release(size) }

// snapshot takes the state a subscription begins with, or begins anew with when
// the host could not keep what was missed.
func (w *windowSink) snapshot(params jsontext.Value) error {
	read, err := w.s.readChannelSnapshot(params)
	if err != nil {
		return err
	}
	state := readSnapshot(read)
	if state.err != nil {
		return state.err
	}
	c := w.ch.c
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case w.ch.sub != w.s: // left meanwhile
	case w.resumes:
		w.resumes = false
		c.resetLocked(w.ch, state)
	default:
		c.installLocked(w.s.l, w.ch, state)
	}
	return nil
}

func (w *windowSink) action(params jsontext.Value) error {
	in, err := readEnvelope(params)
	if err != nil {
		return fmt.Errorf("%s: %w", ahp.MethodAction, errBadParams)
	}
	c := w.ch.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.ch.sub == w.s && w.ch.phase == open {
		c.applyLocked(w.ch, in, false)
	}
	return nil
}

// creditedLocked implements sink.
func (w *windowSink) creditedLocked() { w.s.l.wakeLocked() }

// over implements sink: nothing is dropped to go on (AHP core, 12.4, 5).
func (w *windowSink) over(cause error) {
	c := w.ch.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.ch.sub != w.s {
		return
	}
	if w.ch.leaveWindowLocked() && cause != errResetByHost {
		w.s.l.pushLocked(outgoing{msg: controlText(ahp.MethodUnsubscribe, w.ch.uri)})
	}
	c.goneLocked(w.ch, fmt.Errorf("%w: %w", ErrChannelGone, cause))
}

// windowsLocked lists the windowed channels that a reconnect asks for, with what
// was applied to each (AHP core, 12.6).
func (c *Client) windowsLocked(channels []ahp.URI) *ahp.WindowsOffer {
	var offer ahp.WindowsOffer
	for _, uri := range channels {
		if ch := c.channels[uri]; ch.windowed {
			applied := ch.machine.Applied()
			offer.Items = append(offer.Items, ahp.WindowOffer{Channel: uri, LastAppliedServerSeq: &applied})
		}
	}
	if offer.Items == nil {
		return nil
	}
	return &offer
}

// resumeWindows goes on with the windowed channels. Their recovery follows as data
// under fresh windows. Those that the answer does not name are subscribed anew: a
// host that has forgotten the limits, as after a restart, still has the channel.
func (l *link) resumeWindows(r *reconnectResult) error {
	answers := make(map[ahp.URI]*ahp.WindowResult)
	if r.Windows != nil {
		for i := range r.Windows.Items {
			answers[r.Windows.Items[i].Channel] = &r.Windows.Items[i]
		}
	}
	l.c.mu.Lock()
	var channels []*channel
	for _, ch := range l.c.channels {
		if ch.windowed && ch.phase == open {
			channels = append(channels, ch)
		}
	}
	l.c.mu.Unlock()
	for _, ch := range channels {
		if err := l.resumeWindow(ch, answers[ch.uri]); err != nil {
			return fmt.Errorf("windowed channel %s: %w", ch.uri, err)
		}
	}
	return nil
}

func (l *link) resumeWindow(ch *channel, r *ahp.WindowResult) error {
	c := l.c
	c.mu.Lock()
	if r == nil {
		c.staleLocked(ch)
		c.mu.Unlock()
		return nil
	}
	w := ch.windowLocked(l)
	w.resumes, w.s.begun = r.Recovery == ahp.RecoverySnapshot, r.Recovery != ahp.RecoverySnapshot
	l.routeLocked(w.s)
	if r.Recovery == ahp.RecoveryLive { // nothing was missed and nothing is to come
		c.settleLocked(ch, ch.machine.Replayed())
	}
	c.mu.Unlock()
	switch r.Recovery {
	case ahp.RecoveryReplay, ahp.RecoverySnapshot, ahp.RecoveryLive:
		return w.s.accept(&r.FlowControl)
	}
	return fmt.Errorf("unknown recovery %q", r.Recovery)
}
