package session

import (
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// stopping is the activity of a chat whose agent is still draining.
const stopping = "stopping…"

// askAgain is how often a cancel is repeated: an agent that was just being
// prompted may not have known the turn yet.
const askAgain = 250 * time.Millisecond

// cancelled acts on the end of a turn that a client cancelled. The chat is idle
// at once; the agent drains, and is ended when it takes too long.
func (d *driver) cancelled(turnID string) {
	d.withdraw(turnID)
	d.mu.Lock()
	t := d.current
	if d.next != nil && d.next.id == turnID {
		close(d.next.done)
		d.next = nil
	}
	if t == nil || t.id != turnID || t.cancelled {
		d.mu.Unlock()
		return
	}
	t.cancelled = true
	d.startLocked(func() { d.drain(t) })
	d.mu.Unlock()
}

// drain asks the agent to stop until it has, and ends it at the deadline.
func (d *driver) drain(t *turn) {
	deadline := time.NewTimer(d.f.opts.DrainTimeout)
	defer deadline.Stop()
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for first := true; ; first = false {
		s := d.running(t)
		if s == nil {
			return
		}
		s.Cancel(t.id)
		select {
		case <-t.done:
			return
		case <-d.ctx.Done():
			return
		case <-again.C:
			if first { // most agents are gone by now and need no mention
				d.say(stopping)
			}
		case <-deadline.C:
			d.f.log.Warn("agent ignored a cancel and is ended", "chat", d.chat)
			d.discard(s)
			return
		}
	}
}

// running returns the agent while it works on t.
func (d *driver) running(t *turn) agent.Session {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != t {
		return nil
	}
	return d.agent
}

// say sets the chat's activity, "" clears it.
func (d *driver) say(activity string) {
	d.f.h.Decide(d.chat, func(state any) []ahp.Action {
		now := state.(*ahp.ChatState).Activity
		if activity == "" {
			if now == nil {
				return nil
			}
			return []ahp.Action{&ahp.ChatActivityChanged{}}
		}
		return []ahp.Action{&ahp.ChatActivityChanged{Activity: &activity}}
	})
}
