package host

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/go-json-experiment/json/jsontext"
)

// plan is the answer to a reconnect, taken under the lock and encoded later.
type plan struct {
	h        *Host
	cursors  bool // answer in the form with an outcome for each channel
	snapshot bool // the other form: snapshots, not replay
	opened   []*subscription
	resumed  []*subscription // those opened that are replayed
	missing  []ahp.URI
	replay   []*journal.Record
	snaps    []*snapshot // of those opened that are not
}

// planLocked opens the wanted channels and decides between replay and
// snapshots: for all at once, or for each in the form with cursors.
func (c *Conn) planLocked(w wantedChannels) *plan {
	h := c.h
	p := &plan{h: h, cursors: w.cursors, snapshot: w.after > h.seq.seq}
	oldest := h.journal.Oldest()
	after := make(map[ahp.URI]uint64, len(w.list))
	var fresh []*subscription
	for _, want := range w.list {
		ch := c.visibleLocked(want.uri)
		if ch == nil || ch.scheme.Class != Shared {
			p.missing = append(p.missing, want.uri)
			continue
		}
		if c.subscribedLocked(ch) { // named twice
			continue
		}
		s := c.openLocked(ch)
		p.opened = append(p.opened, s)
		if !h.resumableLocked(ch, want, oldest) {
			fresh = append(fresh, s)
			continue
		}
		p.resumed = append(p.resumed, s)
		after[ch.uri] = want.after
	}
	p.snapshot = p.snapshot || len(fresh) > 0
	if !p.cursors && p.snapshot || !p.replayLocked(after) {
		p.snapshot, fresh, p.resumed = true, p.opened, nil
	}
	for _, s := range fresh {
		p.snaps = append(p.snaps, h.snapshotLocked(s.ch, wholeView))
	}
	return p
}

// resumableLocked reports whether a replay brings the client up to date. It does
// not when the client has no state to begin with (a cursor of 0), or one from
// before the channel was made or from a host that is gone, or when the ring has
// moved on.
func (h *Host) resumableLocked(ch *channel, want wantedChannel, oldest uint64) bool {
	none := want.object && want.after == 0
	return !none && want.after <= h.seq.seq && want.after >= ch.born && want.after >= oldest
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
		state += roughSize(s.ch.state)
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

// result encodes the answer in the caller's form.
func (p *plan) result() any {
	switch {
	case p.cursors:
		return p.perChannel()
	case p.snapshot:
		return snapshotResult{Type: ahp.ReconnectSnapshot, Snapshots: p.h.wireAll(p.snaps), Missing: p.missing}
	}
	return replayResult{Type: ahp.ReconnectReplay, Actions: envelopes(p.replay), Missing: p.missing}
}

// snapshotResult is the snapshot variant; missing is an addition that older
// clients ignore.
type snapshotResult struct {
	Type      string         `json:"type"`
	Snapshots []ahp.Snapshot `json:"snapshots"`
	Missing   []ahp.URI      `json:"missing,omitzero"`
}

// replayResult is the replay variant, its envelopes encoded as they were.
type replayResult struct {
	Type    string           `json:"type"`
	Actions []jsontext.Value `json:"actions"`
	Missing []ahp.URI        `json:"missing"`
}

// channelResult is one outcome of the cursor form.
type channelResult struct {
	Kind     string           `json:"kind"`
	Channel  ahp.URI          `json:"channel"`
	Actions  []jsontext.Value `json:"actions,omitzero"`
	Snapshot *ahp.Snapshot    `json:"snapshot,omitzero"`
}

func (p *plan) perChannel() any {
	out := struct {
		Channels []channelResult `json:"channels"`
	}{Channels: []channelResult{}}
	for _, s := range p.h.wireAll(p.snaps) {
		out.Channels = append(out.Channels, channelResult{Kind: ahp.ReconnectSnapshot, Channel: s.Resource, Snapshot: &s})
	}
	byChannel := make(map[ahp.URI][]*journal.Record)
	for _, r := range p.replay {
		byChannel[r.Channel] = append(byChannel[r.Channel], r)
	}
	for _, s := range p.resumed {
		actions := envelopes(byChannel[s.ch.uri])
		out.Channels = append(out.Channels, channelResult{Kind: ahp.ReconnectReplay, Channel: s.ch.uri, Actions: actions})
	}
	for _, uri := range p.missing {
		out.Channels = append(out.Channels, channelResult{Kind: ahp.ReconnectMissing, Channel: uri})
	}
	return out
}

func envelopes(records []*journal.Record) []jsontext.Value {
	out := make([]jsontext.Value, 0, len(records))
	for _, r := range records {
		out = append(out, appendEnvelope(nil, r, ""))
	}
	return out
}
