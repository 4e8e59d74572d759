package host

import (
	"strings"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host/compat"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// subscribe opens a channel for the connection. The snapshot and the
// subscription are one step: what follows has a number above fromSeq.
func (c *Conn) subscribe(m jsonrpc.Message) jsonrpc.Reply {
	var p ahp.SubscribeParams
	if err := decodeParams(m, &p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if p.Channel == "" {
		return jsonrpc.Reply{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "subscribe names no channel")}
	}
	if err := checkDelivery(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if c.dialect() != compat.Canonical {
		p.FlowControl = nil // windows came with 1.1; ordinary delivery is the answer to who cannot have them
	}
	uri := normalRoot(p.Channel)
	h := c.h
	if s := c.out.stream([]byte(uri)); s != nil {
		if err := s.subscribe(m, p.FlowControl); err != nil {
			return jsonrpc.Reply{Err: err}
		}
		return jsonrpc.Reply{Taken: true}
	}
	if err := h.lockWith(uri); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	ch := c.visibleLocked(uri)
	if ch == nil {
		h.seq.mu.Unlock()
		return jsonrpc.Reply{Err: missingError(uri)}
	}
	old := c.subs[uri]
	if old == nil && len(c.subs) >= h.limits.SubscriptionsPerConn {
		h.seq.mu.Unlock()
		h.LimitReached(limitSubscriptions)
		return jsonrpc.Reply{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "at most %d subscriptions", h.limits.SubscriptionsPerConn)}
	}
	opened, err := c.subscribeLocked(m, &p, ch, old)
	h.seq.mu.Unlock()
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	c.tellSubscribed(opened)
	return jsonrpc.Reply{Taken: true}
}

// subscribeLocked answers a subscribe to a channel that may be seen.
func (c *Conn) subscribeLocked(m jsonrpc.Message, p *ahp.SubscribeParams, ch *channel, old *subscription) (opened []*subscription, err error) {
	if p.FlowControl != nil && !ch.scheme.Stateless || old != nil && old.win != nil {
		return c.subscribeWindowedLocked(m, p, ch, old)
	}
	// A repeated subscribe gets a fresh snapshot (AHP core, 17, 8). Its cursor
	// stays where it is: what waits leaves before the snapshot, own echoes too.
	if old == nil {
		opened = append(opened, c.openLocked(ch))
	}
	snap := c.h.snapshotLocked(ch, c.see(viewOf(p.View)))
	bare := ch.scheme.Stateless && c.dialect() != compat.Canonical
	c.answerLocked(m.ID, func() ([]byte, error) {
		if bare {
			return []byte(`{}`), nil
		}
		result, err := snap.append([]byte(`{"snapshot":`))
		return append(result, '}'), err
	}, snap.release, opened...)
	return opened, nil
}

// checkDelivery refuses delivery options that make no sense. Nothing is buffered
// on purpose, which is within any maxLatencyMs.
func checkDelivery(p *ahp.SubscribeParams) error {
	if d := p.Delivery; d != nil && d.MaxLatencyMS != nil && !(*d.MaxLatencyMS >= 0) {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "delivery.maxLatencyMs must not be negative")
	}
	return nil
}

// missingError is the answer for a channel that does not exist or may not be
// seen (AHP core, 17, 6).
func missingError(uri ahp.URI) error {
	if strings.HasPrefix(uri, ahp.SessionPrefix) && ahp.KindOf(uri) == ahp.KindSession {
		return ahp.ErrSessionNotFound
	}
	return ahp.ErrNotFound
}

// visibleLocked returns a channel the connection may see, nil otherwise.
func (c *Conn) visibleLocked(uri ahp.URI) *channel {
	ch := c.h.seq.channels[uri]
	if ch == nil || ch.scheme.May != nil && !ch.scheme.May(c.principal) || !c.h.policy.Allow(c.principal, OpSee, uri) {
		return nil
	}
	return ch.forLocked(c.principal)
}

// openLocked makes a subscription that begins behind everything in the log. It
// is attached to the outbox by answerLocked, in the same step.
func (c *Conn) openLocked(ch *channel) *subscription {
	s := newSubscription(ch, c)
	c.subs[ch.uri] = s
	ch.addSubscriberLocked(s)
	return s
}

func (c *Conn) closeLocked(s *subscription) {
	delete(c.subs, s.ch.uri)
	s.ch.removeSubscriberLocked(s)
	if s.win != nil {
		c.closeWindowed(s.win)
		return
	}
	c.out.detach(s)
}

// answerLocked queues the response to a request that opened subscriptions. It is
// encoded by the writer, when its turn has come.
func (c *Conn) answerLocked(id jsonrpc.ID, result func() ([]byte, error), release func(), opened ...*subscription) {
	render := func() []byte {
		body, err := result()
		if err != nil {
			return jsonrpc.AppendError(nil, id, c.mapError(err))
		}
		return jsonrpc.AppendResult(make([]byte, 0, len(body)+64), id, body)
	}
	it := item{place: c.h.seq.place, seq: c.h.seq.seq, render: render, done: release}
	ordinary := opened[:0:0]
	for _, s := range opened {
		if s.win != nil {
			it.opens = append(it.opens, s.win.w)
		} else {
			ordinary = append(ordinary, s)
		}
	}
	if !c.out.attach(it, ordinary...) {
		c.overrun()
	}
}

// tellSubscribed tells the features of new subscriptions.
func (c *Conn) tellSubscribed(opened []*subscription) {
	for _, s := range opened {
		c.h.tell(s.ch.uri, func(hooks *Hooks) {
			if hooks.Subscribed != nil {
				hooks.Subscribed(c, s.ch.uri)
			}
		})
	}
}

func (h *Host) tellUnsubscribed(c *Conn, uri ahp.URI) {
	h.tell(uri, func(hooks *Hooks) {
		if hooks.Unsubscribed != nil {
			hooks.Unsubscribed(c, uri)
		}
	})
}

// tell calls a hook of every feature. One that panics keeps the others from
// nothing.
func (h *Host) tell(uri ahp.URI, call func(*Hooks)) {
	for i := range h.registry.hooks {
		func() {
			defer h.recovered("hook", uri)
			call(&h.registry.hooks[i])
		}()
	}
}

// unsubscribe ends a subscription. An unknown one is ignored.
func (c *Conn) unsubscribe(params jsontext.Value) {
	uri, err := channelOf(params)
	if err != nil {
		c.h.metrics.dropped.WithLabelValues("malformed_unsubscribe").Inc()
		return
	}
	if c.unsubscribePrivate(uri) {
		return
	}
	c.h.seq.mu.Lock()
	s := c.subs[uri]
	if s != nil {
		c.closeLocked(s)
	}
	c.h.seq.mu.Unlock()
	if s == nil {
		c.closeDraining(uri)
		return
	}
	c.h.tellUnsubscribed(c, uri)
}

// decodeParams decodes the params of a request of the host's own.
func decodeParams(m jsonrpc.Message, v any) error {
	return (&Request{Method: m.Method, Params: m.Params}).Decode(v)
}
