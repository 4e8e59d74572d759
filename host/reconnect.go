package host

import (
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// reconnect continues a lineage on a new connection (AHP core, 8). Replay or
// snapshots and the subscriptions are one step of the sequencer.
func (c *Conn) reconnect(m jsonrpc.Message) jsonrpc.Reply {
	var p ahp.ReconnectParams
	if err := decodeParams(m, &p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	want, err := c.wanted(&p)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	h := c.h
	l, plan, err := c.prepareLocked(p.ClientID, want)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	c.takeOverLocked(l)
	c.answerLocked(m.ID, plan.result, plan.release, plan.opened...)
	h.seq.mu.Unlock()
	c.live.Store(true)
	c.handshakeOver()
	c.tellSubscribed(plan.opened)
	h.tell("", func(hooks *Hooks) {
		if hooks.Resumed != nil {
			hooks.Resumed(c)
		}
	})
	h.metrics.reconnects.WithLabelValues(plan.kind()).Inc()
	c.logger().Debug("client reconnected", "by", plan.kind(), "transport", c.t.Kind(), "remote", c.t.RemoteAddr())
	return jsonrpc.Reply{Taken: true}
}

// prepareLocked finds the lineage and makes the plan. What a snapshot needs and
// is not in memory is loaded first, without the lock. The lock is held when there
// is no error.
func (c *Conn) prepareLocked(clientID string, want wantedChannels) (*lineage, *plan, error) {
	h := c.h
	for {
		h.seq.mu.Lock()
		l, err := h.lineages.findLocked(clientID, c.principal, time.Now())
		if err != nil {
			h.seq.mu.Unlock()
			return nil, nil, err
		}
		want.limits = l.windowsLocked()
		p := c.planLocked(want)
		if len(p.unread) == 0 {
			return l, p, nil
		}
		p.undoLocked()
		h.seq.mu.Unlock()
		if err := h.loadAll(p.unread); err != nil {
			return nil, nil, err
		}
	}
}

// takeOverLocked makes c the connection of the lineage. An older one is invalid
// from here on: what it still sends changes nothing (AHP core, 8.1).
func (c *Conn) takeOverLocked(l *lineage) {
	if old := c.h.lineages.continueLocked(l, c); old != nil {
		old.invalid = true
		old.fail(CloseReplaced, nil)
	}
	c.continueLineage(l)
}

// wantedChannels is a reconnect request in either form.
type wantedChannels struct {
	after   uint64 // the connection-wide number
	cursors bool   // each channel has its own number; answer in that form
	list    []wantedChannel
	windows map[ahp.URI]*uint64 // those that recover windowed, by their last action; nil: none asked
	limits  map[ahp.URI]flow.Limits
}

// wantedChannel is a channel and the number the client has it at.
type wantedChannel struct {
	uri    ahp.URI
	after  uint64
	object bool // it came as an object
}

// wanted reads both forms of a reconnect's subscriptions.
func (c *Conn) wanted(p *ahp.ReconnectParams) (w wantedChannels, err error) {
	switch {
	case c.live.Load():
		return w, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "the connection is initialized already")
	case p.Channel != nil && normalRoot(*p.Channel) != ahp.RootURI:
		return w, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "reconnect belongs to channel %s", ahp.RootURI)
	case len(p.Subscriptions) > c.h.limits.SubscriptionsPerConn:
		c.h.LimitReached(limitSubscriptions)
		return w, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "at most %d subscriptions", c.h.limits.SubscriptionsPerConn)
	}
	for _, raw := range p.Subscriptions {
		want, err := readSubscription(raw)
		if err != nil {
			return w, err
		}
		w.cursors = w.cursors || want.object
		w.list = append(w.list, want)
	}
	if err := w.addWindows(p.Windows); err != nil {
		return w, err
	}
	if w.cursors {
		return w, w.checkCursors()
	}
	if p.LastSeenServerSeq == nil {
		return w, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "lastSeenServerSeq is missing")
	}
	w.after = *p.LastSeenServerSeq
	for i := range w.list {
		w.list[i].after = w.after
	}
	return w, nil
}

// checkCursors refuses a list that mixes the two forms: a bare URI among cursors
// says nothing about what its client has.
func (w *wantedChannels) checkCursors() error {
	for _, want := range w.list {
		if !want.object {
			return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "subscriptions must not mix URIs with cursors")
		}
	}
	return nil
}

// readSubscription reads one entry: a URI, or an object with a cursor.
func readSubscription(raw jsontext.Value) (wantedChannel, error) {
	if uri, ok := jsonrpc.StringValue(raw); ok {
		return wantedChannel{uri: normalRoot(uri)}, nil
	}
	var cursor ahp.ChannelCursor
	if ahp.Unmarshal(raw, &cursor) != nil || cursor.Channel == "" {
		return wantedChannel{}, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "subscriptions must hold URIs or {channel, lastSeenServerSeq}")
	}
	return wantedChannel{normalRoot(cursor.Channel), cursor.LastSeenServerSeq, true}, nil
}
