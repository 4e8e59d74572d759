package host

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// addWindows reads what a reconnect asks to recover windowed: each channel once,
// and each among the subscriptions (AHP core, 12.6).
func (w *wantedChannels) addWindows(offer *ahp.WindowsOffer) error {
	if offer == nil {
		return nil
	}
	w.windows = make(map[ahp.URI]*uint64, len(offer.Items))
	for _, it := range offer.Items {
		uri := normalRoot(it.Channel)
		if _, twice := w.windows[uri]; twice || !w.names(uri) {
			return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "windows.items must name channels once, and only those in subscriptions")
		}
		w.windows[uri] = it.LastAppliedServerSeq
	}
	return nil
}

func (w *wantedChannels) names(uri ahp.URI) bool {
	for _, want := range w.list {
		if want.uri == uri {
			return true
		}
	}
	return false
}

// windowedLocked opens a channel that recovers windowed, under fresh windows with
// the limits it had before.
func (p *plan) windowedLocked(c *Conn, ch *channel, limits flow.Limits, lastApplied *uint64) {
	s := c.openWindowedLocked(ch, limits, wholeView)
	p.opened = append(p.opened, s)
	r := ahp.WindowResult{Channel: ch.uri, FlowControl: s.win.w.limits(), Recovery: ahp.RecoveryReplay}
	records, ok := p.h.missedLocked(s, lastApplied)
	switch {
	case ok:
		s.win.replay = records
	case ch.state == nil:
		p.unread = append(p.unread, ch.uri)
		return
	default:
		r.Recovery = ahp.RecoverySnapshot
		s.win.snap = p.h.snapshotLocked(ch, wholeView)
	}
	p.windows = append(p.windows, r)
}

// missedLocked returns what the channel has had since the client's last action; it
// is false when a snapshot is the better answer.
func (h *Host) missedLocked(s *subscription, lastApplied *uint64) ([]*journal.Record, bool) {
	if lastApplied == nil || s.ch.scheme.Class != Shared {
		return nil, false
	}
	want := wantedChannel{uri: s.ch.uri, after: *lastApplied, object: true}
	if !h.resumableLocked(s.ch, want, h.journal.Oldest()) {
		return nil, false
	}
	records, size, complete := h.journal.Replay(want.after, func(r *journal.Record) bool { return r.Channel == s.ch.uri })
	return records, complete && h.worthReplay([]*subscription{s}, size)
}

// windowsLocked returns the limits of the windowed subscriptions of the connection
// that is, or was, the lineage's.
func (l *lineage) windowsLocked() map[ahp.URI]flow.Limits {
	if l.conn != nil {
		return windowsOf(l.conn.subs)
	}
	return l.windows
}

// windowsOf returns what the client of each windowed subscription can receive.
func windowsOf(subs map[ahp.URI]*subscription) map[ahp.URI]flow.Limits {
	var limits map[ahp.URI]flow.Limits
	for uri, s := range subs {
		if s.win == nil {
			continue
		}
		if limits == nil {
			limits = make(map[ahp.URI]flow.Limits)
		}
		limits[uri] = s.win.w.window.Limits() // never changes
	}
	return limits
}

// appendWindows adds the outcome of the windows, which stands in every variant.
func (p *plan) appendWindows(dst []byte) ([]byte, error) {
	if !p.windowed {
		return dst, nil
	}
	body, err := ahp.Marshal(ahp.WindowsResult{Items: append([]ahp.WindowResult{}, p.windows...)})
	return append(append(dst, `,"windows":`...), body...), err
}
