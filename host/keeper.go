package host

import (
	"context"
	"fmt"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
)

// The keeper saves the states of channels, so that the actions that led to them
// are not needed any more, and lets idle ones out of memory.

// How often the keeper looks, how long a channel may be quiet before it is saved,
// and how many bytes of actions may come before one that is not quiet is.
const (
	keepEvery = time.Second
	quietTime = 2 * time.Second
	keepBytes = 512 << 10
	trimEvery = 15 * time.Second
)

func (h *Host) startKeeper() {
	if h.archive != nil {
		h.wg.Go(h.keepLoop)
	}
}

func (h *Host) keepLoop() {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	trimmed := time.Now()
	for {
		select {
		case <-tick.C:
		case <-h.ctx.Done():
			return
		}
		now := time.Now()
		h.keepDue(now)
		h.releaseIdle(now)
		if now.Sub(trimmed) >= trimEvery {
			h.trim()
			h.retain(now)
			trimmed = now
		}
	}
}

// archiveLocked makes a new channel one that the archive has: its first state is in
// its record.
func (h *Host) archiveLocked(ch *channel) {
	if h.archive != nil {
		ch.kept = &kept{image: ch.state}
		h.seq.awakeLocked(ch)
		h.dirtyLocked(ch) // so that it stays until the archive has it
	}
}

// changedLocked notes an action that the channel's image does not know.
func (h *Host) changedLocked(ch *channel, r *journal.Record) {
	if ch.kept == nil {
		return
	}
	ch.kept.since += len(r.Body)
	h.dirtyLocked(ch)
}

func (h *Host) dirtyLocked(ch *channel) {
	ch.kept.used = time.Now()
	if _, dirty := h.seq.dirty[ch]; !dirty {
		h.seq.dirty[ch] = struct{}{}
	}
}

// keepDue saves the channels whose turn it is.
func (h *Host) keepDue(now time.Time) {
	var due []*channel
	h.seq.mu.Lock()
	for ch := range h.seq.dirty {
		if ch.dueLocked(now) {
			due = append(due, ch)
		}
	}
	h.seq.mu.Unlock()
	for _, ch := range due {
		if err := h.keep(h.ctx, ch); err != nil {
			h.keepFailed(ch, err)
		}
		if h.ctx.Err() != nil {
			return
		}
	}
}

// dueLocked: a quiet channel soon, a busy one when what came since outweighs what
// saving it again would write.
func (ch *channel) dueLocked(now time.Time) bool {
	k := ch.kept
	return now.Sub(k.used) >= quietTime || k.since >= max(keepBytes, liveSize(ch.state))
}

// liveSize is about the bytes that saving a state again writes: not the turns of
// a chat that have ended.
func liveSize(state any) int {
	chat, ok := state.(*ahp.ChatState)
	if !ok || chat.ActiveTurn == nil {
		return 0
	}
	return partsSize(chat.ActiveTurn.ResponseParts)
}

func (h *Host) keepFailed(ch *channel, err error) {
	h.metrics.saves.WithLabelValues("failed").Inc()
	h.log.Warn("channel could not be saved; its actions are kept", "channel", ch.uri, "err", err)
}

// picture is a state to be saved, taken under the lock.
type picture struct {
	state, before any
	seq           uint64
	since         int
	summary       *ahp.SessionSummary
}

// keep saves a channel's state as of now, once everything up to there is in the
// archive.
func (h *Host) keep(ctx context.Context, ch *channel) error {
	p, ok := h.take(ch)
	if !ok {
		return nil
	}
	if err := h.commits.wait(ctx, p.seq); err != nil {
		return err
	}
	img, err := EncodeImage(p.state, p.before)
	if err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	img.Channel, img.Seq, img.Born = ch.uri, p.seq, ch.born
	if p.summary != nil {
		if img.Summary, err = ahp.Marshal(p.summary); err != nil {
			return fmt.Errorf("encode summary: %w", err)
		}
	}
	if err := h.archive.Save(img); err != nil {
		return err
	}
	h.metrics.saves.WithLabelValues("ok").Inc()
	h.seq.mu.Lock()
	defer h.seq.mu.Unlock()
	ch.kept.image, ch.kept.size = p.state, img.Size
	if ch.state == p.state {
		ch.kept.since = 0
		delete(h.seq.dirty, ch)
	} else {
		ch.kept.since = max(0, ch.kept.since-p.since)
	}
	return nil
}

func (h *Host) take(ch *channel) (p picture, ok bool) {
	h.seq.mu.Lock()
	defer h.seq.mu.Unlock()
	if h.seq.channels[ch.uri] != ch || ch.state == nil {
		delete(h.seq.dirty, ch)
		return p, false
	}
	p = picture{state: ch.state, before: ch.kept.image, seq: h.seq.seq, since: ch.kept.since}
	if ch.session != nil {
		p.summary = ch.session.summary
	}
	return p, true
}

// releaseIdle lets channels out of memory that nobody has needed for a while: no
// viewer, no effect, nothing unfinished, nothing unsaved. A session goes after
// its chats.
func (h *Host) releaseIdle(now time.Time) {
	var idle []*channel
	h.seq.mu.Lock()
	for ch := range h.seq.awake {
		if h.idleLocked(ch, now) {
			idle = append(idle, ch)
		}
	}
	h.seq.mu.Unlock()
	for _, ch := range idle {
		if ch.scheme.Release != nil && !ch.scheme.Release(ch.uri) {
			continue
		}
		h.seq.mu.Lock()
		if h.idleLocked(ch, now) { // still
			ch.state, ch.kept.image = nil, nil
			h.seq.asleepLocked(ch)
			h.metrics.released.Inc()
		}
		h.seq.mu.Unlock()
	}
}

func (h *Host) idleLocked(ch *channel, now time.Time) bool {
	if ch.kept == nil || ch == h.root || ch.state == nil || now.Sub(ch.kept.used) < h.limits.IdleTime {
		return false
	}
	if _, dirty := h.seq.dirty[ch]; dirty || len(ch.subscribers()) > 0 || ch.effects.running || ch.unfinishedLocked() {
		return false
	}
	for _, child := range ch.children {
		if child.state != nil {
			return false
		}
	}
	return true
}

// trim lets the archive give up what the replay ring has moved past.
func (h *Host) trim() {
	if oldest := h.journal.Oldest(); oldest > 0 {
		if err := h.archive.Trim(oldest); err != nil {
			h.log.Warn("old actions could not be removed", "err", err)
		}
	}
}

// keepAll saves whatever is not, so that the next start has nothing to replay.
// What cannot be saved is rebuilt from its actions then, so a store that takes
// nothing any more holds up the end no longer than a client does.
func (h *Host) keepAll(ctx context.Context) {
	if h.archive == nil || h.journal.Trouble() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, h.limits.ShutdownFlush)
	defer cancel()
	h.seq.mu.Lock()
	all := make([]*channel, 0, len(h.seq.dirty))
	for ch := range h.seq.dirty {
		all = append(all, ch)
	}
	h.seq.mu.Unlock()
	for _, ch := range all {
		if err := h.keep(ctx, ch); err != nil {
			h.keepFailed(ch, err)
			return
		}
	}
}
