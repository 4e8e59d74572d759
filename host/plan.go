package host

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
)

// plan is the answer to a reconnect, taken under the lock and encoded later.
type plan struct {
	h        *Host
	c        *Conn // whom it answers
	cursors  bool  // answer in the form with an outcome for each channel
	snapshot bool  // the other form: snapshots, not replay
	opened   []*subscription
	ordinary []*subscription // those opened that are not windowed
	resumed  []*subscription // those opened that are replayed
	missing  []ahp.URI
	replay   []*journal.Record
	snaps    []*snapshot // of those opened that are not
	unread   []ahp.URI   // of those, the ones that must be loaded first
	windowed bool        // the request speaks of windows
	windows  []ahp.WindowResult
}

// planLocked opens the wanted channels and decides between replay and
// snapshots: for all at once, or for each in the form with cursors.
func (c *Conn) planLocked(w wantedChannels) *plan {
	h := c.h
	p := &plan{h: h, c: c, cursors: w.cursors, snapshot: w.after > h.seq.seq, windowed: w.windows != nil}
	oldest := h.journal.Oldest()
	after := make(map[ahp.URI]uint64, len(w.list))
	var fresh []*subscription
	var volatile []ahp.URI
	for _, want := range w.list {
		ch := c.visibleLocked(want.uri)
		if ch == nil {
			p.missing = append(p.missing, want.uri)
			continue
		}
		if lastApplied, windowed := w.windows[want.uri]; windowed {
			limits, known := w.limits[want.uri]
			switch {
			case !known:
				p.missing = append(p.missing, want.uri)
			case !c.subscribedLocked(ch):
				p.windowedLocked(c, ch, limits, lastApplied)
			}
			continue
		}
		if ch.scheme.Class == Volatile {
			volatile = append(volatile, want.uri)
			continue
		}
		if c.subscribedLocked(ch) { // named twice
			continue
		}
		s := c.openLocked(ch)
		p.opened, p.ordinary = append(p.opened, s), append(p.ordinary, s)
		if !h.resumableLocked(ch, want, oldest) {
			fresh = append(fresh, s)
			continue
		}
		p.resumed = append(p.resumed, s)
		after[ch.uri] = want.after
	}
	p.snapshot = p.snapshot || len(fresh) > 0
	if !p.cursors && p.snapshot || !p.replayLocked(after) {
		p.snapshot, fresh, p.resumed = true, p.ordinary, nil
	}
	for _, s := range fresh {
		if s.ch.state == nil {
			p.unread = append(p.unread, s.ch.uri)
			continue
		}
		p.snaps = append(p.snaps, h.snapshotLocked(s.ch, c.see(wholeView)))
	}
	p.volatileLocked(c, volatile)
	return p
}

// volatileLocked adds the channels that are never replayed: with a snapshot where
// the answer has snapshots, else among the missing, which makes the client
// subscribe again (AHP core, 15.3, R8).
func (p *plan) volatileLocked(c *Conn, uris []ahp.URI) {
	if !p.cursors && !p.snapshot {
		p.missing = append(p.missing, uris...)
		return
	}
	for _, uri := range uris {
		ch := c.visibleLocked(uri)
		if c.subscribedLocked(ch) { // named twice
			continue
		}
		p.opened = append(p.opened, c.openLocked(ch))
		p.snaps = append(p.snaps, p.h.snapshotLocked(ch, c.see(wholeView)))
	}
}

// resumableLocked reports whether a replay brings the client up to date. It does
// not when the client has no state to begin with (a cursor of 0), or one from
// before the channel was made or from a host that is gone, or when the ring has
// moved on.
func (h *Host) resumableLocked(ch *channel, want wantedChannel, oldest uint64) bool {
	none := want.object && want.after == 0
	return !none && want.after <= h.seq.seq && want.after >= ch.born && want.after >= oldest && !h.lostLocked(want.after)
}

// replayLocked collects what the resumed channels have had since; it is false
// when snapshots are the better answer.
func (p *plan) replayLocked(after map[ahp.URI]uint64) bool {
	lowest := p.h.seq.seq
	for _, seq := range after {
		lowest = min(lowest, seq)
	}
	records, size, complete := p.h.journal.Replay(lowest, func(r *journal.Record) bool {
		seq, ok := after[r.Channel]
		return ok && r.Seq > seq
	})
	if !complete || !p.h.worthReplay(p.resumed, size) {
		return false
	}
	p.replay = records
	return true
}

// worthReplay decides whether a replay of size bytes is better than snapshots:
// always when it is short, and never when the log holds several times what the
// states can (every part of a state came with an action at least as large).
func (h *Host) worthReplay(subs []*subscription, size int) bool {
	if size <= h.limits.ReplayBytes {
		return true
	}
	state := 0
	for _, s := range subs {
		state += s.ch.sizeLocked()
	}
	return size <= 4*state
}

func (p *plan) kind() string {
	switch {
	case p.cursors:
		return "cursors"
	case p.snapshot:
		return ahp.ReconnectSnapshot
	}
	return ahp.ReconnectReplay
}

func (p *plan) release() { releaseAll(p.snaps) }

// undoLocked takes a plan back whose answer was not queued.
func (p *plan) undoLocked() {
	for _, s := range p.opened {
		delete(s.conn.subs, s.ch.uri)
		s.ch.removeSubscriberLocked(s)
		if s.win != nil {
			s.conn.closeWindowed(s.win)
		}
	}
	p.release()
}

// result encodes the answer in the caller's form.
func (p *plan) result() (out []byte, err error) {
	switch {
	case p.cursors:
		out, err = p.perChannel()
	case p.snapshot:
		out, err = p.snapshots()
	default:
		out = p.appendEnvelopes([]byte(`{"type":"replay","actions":`), p.replay)
		out = appendURIs(append(out, `,"missing":`...), p.missing)
	}
	if err == nil {
		out, err = p.appendWindows(out)
	}
	return append(out, '}'), err
}

// snapshots encodes the snapshot variant. Its missing is an addition that older
// clients ignore.
func (p *plan) snapshots() ([]byte, error) {
	out, err := appendSnapshots([]byte(`{"type":"snapshot","snapshots":`), p.snaps)
	if err == nil && len(p.missing) > 0 {
		out = appendURIs(append(out, `,"missing":`...), p.missing)
	}
	return out, err
}

// perChannel encodes the form with one outcome for each channel.
func (p *plan) perChannel() (out []byte, err error) {
	out = append(out, `{"channels":[`...)
	for _, s := range p.snaps {
		out = append(appendOutcome(out, ahp.ReconnectSnapshot, s.ch.uri), `,"snapshot":`...)
		if out, err = s.append(out); err != nil {
			return nil, err
		}
		out = append(out, '}')
	}
	byChannel := make(map[ahp.URI][]*journal.Record)
	for _, r := range p.replay {
		byChannel[r.Channel] = append(byChannel[r.Channel], r)
	}
	for _, s := range p.resumed {
		out = append(appendOutcome(out, ahp.ReconnectReplay, s.ch.uri), `,"actions":`...)
		out = append(p.appendEnvelopes(out, byChannel[s.ch.uri]), '}')
	}
	for _, uri := range p.missing {
		out = append(appendOutcome(out, ahp.ReconnectMissing, uri), '}')
	}
	return append(out, ']'), nil
}

// appendOutcome begins the outcome of one channel.
func appendOutcome(dst []byte, kind string, uri ahp.URI) []byte {
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	dst = appendString(append(dst, `{"kind":`...), kind)
	return appendString(append(dst, `,"channel":`...), uri)
}

// appendEnvelopes appends the records that the client's dialect has.
func (p *plan) appendEnvelopes(dst []byte, records []*journal.Record) []byte {
	dst = append(dst, '[')
	for _, r := range records {
		in := p.c.inDialect(r)
		if in == nil {
			continue
		}
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		dst = appendEnvelope(dst, in, "")
	}
	return append(dst, ']')
}

func appendURIs(dst []byte, uris []ahp.URI) []byte {
	dst = append(dst, '[')
	for i, u := range uris {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, u)
	}
	return append(dst, ']')
}
