package host

import (
	"runtime/debug"
	"strconv"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// dispatched is a dispatchAction as it was read, before it meets the state.
type dispatched struct {
	channel   ahp.URI
	clientSeq uint64
	action    ahp.Action
	body      jsontext.Value // canonical, or as it came when action is nil
	malformed string         // why action is nil
	came      int64          // when it was read, see Host.clock
}

// scanDispatch reads the params of a dispatchAction. It is false when channel,
// clientSeq or action are missing: there is then nothing to echo to.
func (c *Conn) scanDispatch(params jsontext.Value) (d dispatched, ok bool) {
	var raw jsontext.Value
	seqOK := false
	jsonrpc.EachMember(params, func(name []byte, v jsontext.Value) bool {
		switch string(name) {
		case "channel":
			u, _ := jsonrpc.StringValue(v)
			d.channel = normalRoot(u)
		case "clientSeq":
			n, err := strconv.ParseUint(string(v), 10, 64)
			d.clientSeq, seqOK = n, err == nil
		case "action":
			raw = v
		}
		return true
	})
	if d.channel == "" || !seqOK || raw.Kind() != '{' {
		return d, false
	}
	d.decode(c.dialect().Dispatched(raw))
	return d, true
}

// decode decodes the action and encodes it anew, so that what is stored and
// sent is canonical whoever wrote it.
func (d *dispatched) decode(raw jsontext.Value) {
	action, err := ahp.DecodeAction(raw)
	if err == nil {
		var body jsontext.Value
		if body, err = ahp.EncodeAction(action); err == nil {
			d.action, d.body = action, body
			return
		}
	}
	d.body, d.malformed = raw.Clone(), "the action does not have the right form"
}

// dispatch orders an action of a client (AHP core, 6.3).
func (h *Host) dispatch(c *Conn, params jsontext.Value) {
	d, ok := c.scanDispatch(params)
	if !ok {
		h.metrics.dropped.WithLabelValues("malformed_dispatch").Inc()
		return
	}
	d.came = h.clock()
	h.awaitRoom()
	unread := h.lockWith(d.channel)
	if unread != nil {
		h.seq.mu.Lock()
	}
	var st step
	defer h.endLocked(&st)
	ch := c.visibleLocked(d.channel)
	if ch == nil || c.invalid {
		h.metrics.dropped.WithLabelValues("unknown_channel").Inc()
		return
	}
	if c.lineage.seenLocked(d.clientSeq) {
		h.repeatLocked(&st, c, ch, &d)
	} else if unread != nil {
		h.rejectLocked(&st, c, ch, &d, "the host could not read the channel; its log says why")
	} else if after, reason := h.judgeLocked(c, ch, &d); reason != "" {
		h.rejectLocked(&st, c, ch, &d, reason)
	} else {
		h.acceptLocked(&st, c, ch, &d, after)
	}
}

// judgeLocked returns the state after the action, or why it is not accepted. A
// feature that panics here costs the sender a rejection: it waits for an echo.
func (h *Host) judgeLocked(c *Conn, ch *channel, d *dispatched) (after any, reason string) {
	defer func() {
		if v := recover(); v != nil {
			c.panicked(v, debug.Stack())
			reason = "the host failed to handle the action"
		}
	}()
	if reason = h.refuseLocked(c, ch, d); reason != "" {
		return nil, reason
	}
	return ch.scheme.Reduce(ch.state, d.action), ""
}

// refuseLocked returns why the action is not accepted, "" to accept it.
func (h *Host) refuseLocked(c *Conn, ch *channel, d *dispatched) string {
	if d.action == nil {
		return d.malformed
	}
	name := d.action.ActionType()
	switch {
	case !h.policy.Allow(c.principal, OpDispatch, ch.uri):
		return "not permitted"
	case !ahp.Known(name):
		return "unknown action type"
	case !ahp.ClientMayDispatch(name):
		return "a client may not dispatch this action"
	case !ahp.BelongsTo(name, ch.scheme.Kind):
		return "the action does not belong to this kind of channel"
	case h.effectsFullLocked(ch, d.action):
		h.LimitReached(limitEffects)
		return "busy: too many actions wait on this channel"
	}
	return ch.scheme.Validate(ch.state, d.action, c.actor())
}

func (h *Host) acceptLocked(st *step, c *Conn, ch *channel, d *dispatched, after any) {
	before, e := h.applyLocked(st, ch, d.action, after, d.body, c.origin(d.clientSeq))
	e.came = d.came // before it is published
	h.metrics.accepted.Inc()
	h.queueEffectLocked(st, ch, Committed{
		Channel: ch.uri, Action: d.action, Before: before, After: ch.state, ServerSeq: e.seq, By: c.actor(),
	})
	if !c.subscribedLocked(ch) { // an own echo is always delivered
		h.recordLocked(st)
		c.pushLocked(item{place: e.place, seq: e.seq, came: d.came, render: func() []byte { return c.wireFor(e) }})
	}
}

// rejectLocked numbers a refused action and echoes it to its sender alone. It is
// never reduced and not kept for replay (AHP core, 17, 10).
func (h *Host) rejectLocked(st *step, c *Conn, ch *channel, d *dispatched, reason string) {
	echo := journal.Record{Seq: h.seq.nextLocked(), Channel: ch.uri, Body: d.body, Origin: c.origin(d.clientSeq)}
	markLocked(st, ch, echo.Seq, echo.Origin)
	h.recordLocked(st)
	h.metrics.rejected.Inc()
	c.pushToLocked(ch, item{place: h.seq.placeLocked(), seq: echo.Seq, came: d.came, msg: c.appendAction(&echo, reason)})
}

// repeatLocked answers a dispatch that was processed before: with its stored
// echo, or a rejection when that is no longer held.
func (h *Host) repeatLocked(st *step, c *Conn, ch *channel, d *dispatched) {
	h.metrics.dropped.WithLabelValues("repeated_dispatch").Inc()
	if rec := h.journal.Find(c.lineage.id, d.clientSeq); rec != nil && rec.Channel == ch.uri {
		c.pushToLocked(ch, item{place: h.seq.placeLocked(), seq: rec.Seq, came: d.came, msg: c.appendAction(rec, "")})
		return
	}
	h.rejectLocked(st, c, ch, d, "already processed")
}
