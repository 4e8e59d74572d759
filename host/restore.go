package host

import (
	"fmt"
	"slices"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/go-json-experiment/json/jsontext"
)

// recall reads what an earlier process left. Without an archive that is nothing.
func (h *Host) recall(store journal.Store) (*journal.Recovery, error) {
	archive, ok := store.(journal.Archive)
	if !ok {
		return new(journal.Recovery), nil
	}
	past, err := archive.Recover(h.limits.RingRecords, h.limits.RingBytes)
	if err != nil {
		return nil, fmt.Errorf("recall the past: %w", err)
	}
	h.archive, h.lost = archive, past.Lost
	return past, nil
}

// restore takes over the channels and clients of an earlier process. Sessions
// are listed by their summaries; nothing else is read before somebody needs it,
// but for what was changed since its summary was written.
func (h *Host) restore(past *journal.Recovery) error {
	h.seq.seq = past.Seq
	h.restoreClients(past)
	var ahead []*channel
	for i := range past.Channels {
		if ch := h.adopt(&past.Channels[i]); ch != nil && ch.session != nil && (past.Channels[i].Ahead() || past.Channels[i].Summary == nil) {
			ahead = append(ahead, ch)
		}
	}
	for _, ch := range ahead {
		h.catchUp(ch)
	}
	return h.restoreRoot()
}

// adopt takes over one channel, without its state. It is nil for a channel that
// nothing here serves: it stays as it is, for a host that does.
func (h *Host) adopt(e *journal.Entry) *channel {
	scheme := h.registry.schemes[ahp.KindOf(e.Channel)]
	parent := h.seq.channels[e.Parent]
	if scheme == nil || !scheme.Durable || e.Parent != "" && parent == nil {
		h.log.Warn("the journal has a channel that is not served", "channel", e.Channel)
		return nil
	}
	ch := newChannel(e.Channel, scheme, nil, parent)
	ch.born, ch.kept = e.Born, &kept{size: e.Size}
	h.seq.addLocked(ch)
	if e.Open {
		h.unfinished = append(h.unfinished, ch.uri)
	}
	switch {
	case parent != nil:
		if parent.children == nil {
			parent.children = make(map[ahp.URI]*channel)
		}
		parent.children[ch.uri] = ch
	case scheme.Kind == ahp.KindSession:
		ch.session = &sessionRecord{createdAt: e.CreatedAt, summary: summaryOf(e)}
		h.seq.sessions[ch] = struct{}{}
	}
	return ch
}

// summaryOf is the list entry of a session as it was saved. One that was never
// saved, or cannot be read, is listed all the same.
func summaryOf(e *journal.Entry) *ahp.SessionSummary {
	s := new(ahp.SessionSummary)
	if e.Summary == nil || ahp.Unmarshal(e.Summary, s) != nil {
		s = &ahp.SessionSummary{Title: "(cannot be read)", Status: ahp.StatusError, ModifiedAt: e.CreatedAt}
	}
	s.Resource, s.CreatedAt = e.Channel, e.CreatedAt
	return s
}

// catchUp reads a session that was changed since its summary was written.
func (h *Host) catchUp(ch *channel) {
	if h.load(ch) != nil {
		return // it is logged, and listed as it was
	}
	ch.session.summary = summarize(ch)
	h.seq.dirty[ch] = struct{}{}
}

// restoreRoot makes the root channel, or reads the one that was.
func (h *Host) restoreRoot() error {
	h.root = h.seq.channels[ahp.RootURI]
	if h.root != nil {
		if err := h.load(h.root); err != nil {
			return fmt.Errorf("%w; 'causeway doctor' can tell more", err)
		}
	} else if h.archive == nil {
		h.seq.addLocked(newChannel(ahp.RootURI, h.registry.schemes[ahp.KindRoot], reducer.New(ahp.KindRoot), nil))
	} else if err := h.Create(ahp.RootURI, reducer.New(ahp.KindRoot), ""); err != nil {
		return err
	}
	h.root = h.seq.channels[ahp.RootURI]
	if h.archive == nil {
		return nil
	}
	// Cursors that clients hold go on being good.
	if key := h.Note(ahp.RootURI, cursorNote); key != nil {
		h.cursors.key = key
	} else {
		h.SetNote(ahp.RootURI, cursorNote, h.cursors.key)
	}
	var st step
	h.seq.mu.Lock()
	defer h.endLocked(&st)
	h.countSessionsLocked(&st)
	return nil
}

const cursorNote = "cursor.key"

// Unfinished returns the channels that an earlier process left with open work, as
// their scheme's Open tells, in the order in which they were made. A feature that
// starts closes it.
func (h *Host) Unfinished(kind ahp.Kind) []ahp.URI {
	return slices.DeleteFunc(slices.Clone(h.unfinished), func(u ahp.URI) bool { return ahp.KindOf(u) != kind })
}

// clientBody is what a Joined record says of a client.
type clientBody struct {
	Principal Principal      `json:"principal"`
	Version   string         `json:"version"`
	Extra     jsontext.Value `json:",embed"`
}

// joinedLocked writes a new lineage down. It takes a number, so that the answer
// waits until the client would be known after a crash.
func (h *Host) joinedLocked(l *lineage) {
	if h.archive == nil {
		return
	}
	body, err := ahp.Marshal(clientBody{Principal: l.principal, Version: l.version})
	if err != nil { // two strings always encode
		h.log.Error("encode client", "err", err)
	}
	h.recordLocked(&step{records: []*journal.Record{{
		Seq: h.seq.nextLocked(), Kind: journal.Joined, Body: body,
		Origin: journal.Origin{ClientID: l.clientID, Lineage: l.id},
	}}})
}

// forgottenLocked writes down that nobody can continue a lineage any more.
func (h *Host) forgottenLocked(l *lineage) {
	h.recordLocked(&step{records: []*journal.Record{{
		Seq: h.seq.seq, Kind: journal.Forgotten, Origin: journal.Origin{ClientID: l.clientID, Lineage: l.id},
	}}})
}

// restoreClients remembers the clients of an earlier process. For all of them the
// grace time begins now.
func (h *Host) restoreClients(past *journal.Recovery) {
	h.lineages.last = past.Lineage
	if h.archive == nil {
		return
	}
	h.lineages.forgotten = h.forgottenLocked
	now := time.Now()
	for _, c := range past.Clients {
		var body clientBody
		if err := ahp.Unmarshal(c.Body, &body); err != nil {
			h.log.Warn("a client of before cannot be read, and begins anew", "client", c.ID, "err", err)
			continue
		}
		h.lineages.restoreLocked(&lineage{
			id: c.Lineage, clientID: c.ID, principal: body.Principal, version: body.Version, seen: c.Seen, high: c.High,
		}, now)
	}
}

// lostLocked reports whether a number was shown to somebody and lost with the
// power: what that client saw is not what is in the journal.
func (h *Host) lostLocked(seq uint64) bool {
	for _, r := range h.lost {
		if r.Contains(seq) {
			return true
		}
	}
	return false
}
