package host

import (
	"sync/atomic"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// sequencer orders everything. It is the only writer of channel state.
type sequencer struct {
	// mu guards the state of every channel, the numbers and the subscriber
	// sets. The locks of an outbox and of the journal are taken inside it,
	// never the other way round (docs/LOCKS.md).
	mu       measuredLock
	seq      uint64 // the last serverSeq
	place    uint64 // the last place
	channels map[ahp.URI]*channel
	sessions map[*channel]struct{}
	dirty    map[*channel]struct{} // changed since the archive had an image of them
	awake    map[*channel]struct{} // in memory, and the archive has them

	census census

	// published is the last place whose entry is visible in its log.
	published atomic.Uint64
}

// step collects what one turn of the sequencer did, to be made known after the
// lock is released.
type step struct {
	records   []*journal.Record // not yet in the journal, which takes them as one
	touched   []touch
	effects   []*channel
	observers []*observer
}

// touch is an entry that subscribers must be woken for.
type touch struct {
	ch *channel
	e  *entry
}

// nextLocked takes the next number.
func (s *sequencer) nextLocked() uint64 {
	s.seq++
	return s.seq
}

func (s *sequencer) placeLocked() uint64 {
	s.place++
	return s.place
}

// publishLocked makes everything appended so far visible to writers.
func (s *sequencer) publishLocked() { s.published.Store(s.place) }

// endLocked ends a step: what it appended becomes visible, the lock is released
// and everybody concerned is told. It is deferred, so that a panic of a feature's
// validator or reducer does not leave the host locked.
func (h *Host) endLocked(st *step) {
	h.recordLocked(st)
	h.seq.publishLocked()
	h.seq.mu.Unlock()
	h.finish(st)
}

// applyLocked numbers an action that was reduced to after, and appends it to the
// channel's log and to the journal, with all that is derived from it.
func (h *Host) applyLocked(st *step, ch *channel, a ahp.Action, after any, body jsontext.Value, origin journal.Origin) (before any, e *entry) {
	before = ch.state
	ch.state = after
	rec := &journal.Record{Seq: h.seq.nextLocked(), Kind: journal.Action, Channel: ch.uri, Body: body, Origin: origin}
	if ch.scheme.Class == Shared {
		rec.Open = ch.unfinishedLocked()
		st.records = append(st.records, rec)
		h.changedLocked(ch, rec)
	} else {
		markLocked(st, ch, rec.Seq, journal.Origin{})
	}
	e = &entry{place: h.seq.placeLocked(), seq: rec.Seq, rec: rec, cost: int64(len(body)) + envelopeOverhead}
	ch.appendLocked(e)
	st.touched = append(st.touched, touch{ch, e})
	if before != ch.state {
		h.mirrorLocked(st, ch, before, a)
	}
	h.queueObservedLocked(st, ch, Observed{Channel: ch.uri, Action: a, Before: before, After: after, ServerSeq: rec.Seq})
	return before, e
}

// deriveLocked applies an action of the host's own, unless it changes nothing.
func (h *Host) deriveLocked(st *step, ch *channel, a ahp.Action) {
	after := ch.scheme.Reduce(ch.state, a)
	if after == ch.state {
		return
	}
	body, err := ahp.EncodeAction(a)
	if err != nil { // the host's own actions always encode
		h.log.Error("encode derived action", "type", a.ActionType(), "err", err)
		return
	}
	h.applyLocked(st, ch, a, after, body, journal.Origin{})
}

// announceLocked appends a notification of the host's own to the root channel. It
// is kept from who may not see the session it is about. Params must not change
// any more: they are encoded later, outside the lock.
func (h *Host) announceLocked(st *step, method string, params any, about ahp.URI) {
	h.notifyLocked(st, h.root, &entry{method: method, params: params, cost: notificationCost, about: about})
}

// notifyLocked appends a notification to the channel's log.
func (h *Host) notifyLocked(st *step, ch *channel, e *entry) {
	e.place, e.seq = h.seq.placeLocked(), h.seq.seq
	ch.appendLocked(e)
	st.touched = append(st.touched, touch{ch, e})
}

// markLocked takes a number in the journal without its content, and what it came
// from: a dispatch that was refused has been processed all the same.
func markLocked(st *step, ch *channel, seq uint64, from journal.Origin) {
	st.records = append(st.records, &journal.Record{Seq: seq, Kind: journal.Mark, Channel: ch.uri, Origin: from})
}

// recordLocked gives the journal the step so far, before anything that must wait
// for its numbers is queued.
func (h *Host) recordLocked(st *step) {
	if err := h.journal.Append(st.records...); err != nil {
		// Only after Close: the host is going down and nothing more is sent.
		h.log.Debug("journal refused records", "seq", st.records[0].Seq, "err", err)
	}
	st.records = nil
}

// finish makes known what a step did. It is called after the lock is released.
func (h *Host) finish(st *step) {
	for _, t := range st.touched {
		h.commits.wake(t)
	}
	for _, ch := range st.effects {
		h.startEffects(ch)
	}
	for _, ob := range st.observers {
		h.wg.Go(func() { h.observeLoop(ob) })
	}
}

// Apply applies an action of the host's own. It reports false for an action
// that would change nothing (it is then neither numbered nor sent), or whose
// channel does not exist. It waits while the store is too far behind, so that an
// agent cannot be faster than the disk for long.
func (h *Host) Apply(uri ahp.URI, a ahp.Action) bool {
	body, err := ahp.EncodeAction(a)
	if err != nil {
		h.log.Error("encode action", "type", a.ActionType(), "err", err)
		return false
	}
	h.awaitRoom()
	if err := h.lockWith(uri); err != nil {
		return false
	}
	var st step
	defer h.endLocked(&st)
	ch := h.seq.channels[uri]
	if ch == nil {
		return false
	}
	after := ch.scheme.Reduce(ch.state, a)
	if after == ch.state {
		return false
	}
	h.applyLocked(&st, ch, a, after, body, journal.Origin{})
	return true
}

// Decide applies the actions that decide returns for the channel's state, in one
// step. Decide is pure, runs under the sequencer's lock and should return few,
// small actions. Actions that change nothing are left out. It reports whether
// anything was applied. It waits as Apply does.
func (h *Host) Decide(uri ahp.URI, decide func(state any) []ahp.Action) bool {
	h.awaitRoom()
	if err := h.lockWith(uri); err != nil {
		return false
	}
	var st step
	defer h.endLocked(&st)
	if ch := h.seq.channels[uri]; ch != nil {
		for _, a := range decide(ch.state) {
			h.deriveLocked(&st, ch, a)
		}
	}
	return len(st.touched) > 0
}

// State returns the state of a channel, nil if it does not exist or cannot be
// read; Load tells these apart.
func (h *Host) State(uri ahp.URI) any {
	state, _ := h.Load(uri)
	return state
}

// Notify sends a notification to the subscribers of a channel, in order with
// its actions. It is false when the channel does not exist or params do not
// encode.
func (h *Host) Notify(uri ahp.URI, method string, params any) bool {
	body, err := ahp.Marshal(params)
	if err != nil {
		h.log.Error("encode notification", "method", method, "err", err)
		return false
	}
	msg := jsonrpc.AppendNotification(nil, method, body)
	var st step
	h.seq.mu.Lock()
	defer h.endLocked(&st)
	ch := h.seq.channels[uri]
	if ch != nil {
		h.notifyLocked(&st, ch, &entry{msg: msg, cost: int64(len(msg))})
	}
	return ch != nil
}
