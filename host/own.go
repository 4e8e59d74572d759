package host

import (
	"maps"
	"slices"

	"github.com/causeway-ahp/causeway/ahp"
)

// A channel of a PerPrincipal kind is a name under which each principal has a
// channel of its own, with its own state and log. So an envelope one principal
// may not see is not filtered out of what it is sent: it was never written for
// it, and snapshots, logs, windows and numbers work as they do elsewhere. Such a
// channel exists while somebody subscribes to it.

// forLocked returns what p sees of the channel: the channel itself, but for a
// PerPrincipal kind.
func (ch *channel) forLocked(p Principal) *channel {
	if ch.scheme.PerPrincipal == nil {
		return ch
	}
	if own := ch.own[p]; own != nil {
		return own
	}
	own := newChannel(ch.uri, ch.scheme, ch.scheme.PerPrincipal(p), nil)
	own.whole, own.owner = ch, p
	return own
}

// keepLocked is called before the channel gets a subscriber, dropLocked when it
// has lost its last.
func (ch *channel) keepLocked() {
	if ch.whole == nil {
		return
	}
	if ch.whole.own == nil {
		ch.whole.own = make(map[Principal]*channel)
	}
	ch.whole.own[ch.owner] = ch
}

func (ch *channel) dropLocked() {
	if ch.whole != nil {
		delete(ch.whole.own, ch.owner)
	}
}

// DecideEach applies, to what each principal sees of a channel of a PerPrincipal
// kind, the actions that decide returns for it, all in one step. Principals of
// which nobody subscribes are left out: what they see is made when one does.
// Decide is as the one of Decide.
func (h *Host) DecideEach(uri ahp.URI, decide func(p Principal, state any) []ahp.Action) {
	h.awaitRoom()
	var st step
	h.seq.mu.Lock()
	defer h.endLocked(&st)
	whole := h.seq.channels[uri]
	if whole == nil {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(whole.own)) {
		for _, a := range decide(p, whole.own[p].state) {
			h.deriveLocked(&st, whole.own[p], a)
		}
	}
}
