package host

import "github.com/causeway-ahp/causeway/ahp"

// effectQueue holds the effects of a channel that wait, in sequence order. It is
// bounded by admission: a client action over the bound was rejected as busy.
type effectQueue struct {
	waiting []Committed
	running bool
}

// queueEffectLocked queues the effect of an accepted client action.
func (h *Host) queueEffectLocked(st *step, ch *channel, e Committed) {
	if ch.scheme.Effect == nil || !ch.scheme.HasEffect(e.Action) {
		return
	}
	ch.effects.waiting = append(ch.effects.waiting, e)
	h.seq.census.effects++
	if !ch.effects.running {
		ch.effects.running = true
		st.effects = append(st.effects, ch)
	}
}

// effectsFullLocked reports whether another effect of the action has no room.
func (h *Host) effectsFullLocked(ch *channel, a ahp.Action) bool {
	return ch.scheme.Effect != nil && len(ch.effects.waiting) >= h.limits.EffectsPerChannel && ch.scheme.HasEffect(a)
}

// startEffects runs the effects of a channel until none is left. A channel has a
// goroutine only while it has effects.
func (h *Host) startEffects(ch *channel) {
	h.wg.Go(func() { h.effectLoop(ch) })
}

func (h *Host) effectLoop(ch *channel) {
	for {
		h.seq.mu.Lock()
		if len(ch.effects.waiting) == 0 || h.ctx.Err() != nil {
			h.seq.census.effects -= len(ch.effects.waiting)
			ch.effects = effectQueue{}
			h.seq.mu.Unlock()
			return
		}
		e := ch.effects.waiting[0]
		ch.effects.waiting = ch.effects.waiting[1:]
		h.seq.census.effects--
		h.seq.mu.Unlock()
		if h.commits.wait(h.ctx, e.ServerSeq) != nil {
			return
		}
		h.runEffect(ch, e)
	}
}

func (h *Host) runEffect(ch *channel, e Committed) {
	defer h.recovered("effect", ch.uri)
	ch.scheme.Effect(h.ctx, e)
}
