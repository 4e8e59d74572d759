package session

import (
	"time"

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
	d.mu.Lock()
	if t := d.current; t != nil && t.id == turnID && !t.cancelled && !t.over && !d.closed {
		t.cancelled = true
		d.wg.Go(func() { d.drain(t) })
	}
	d.mu.Unlock()
	d.withdraw(turnID)
}

// drain asks the agent to stop until it has, and ends it at the deadline.
func (d *driver) drain(t *turn) {
	deadline := time.NewTimer(d.f.opts.Limits.DrainTimeout)
	defer deadline.Stop()
	again := time.NewTicker(askAgain)
	defer again.Stop()
	d.askToStop(t)
	for {
		select {
		case <-t.done:
			return
		case <-d.ctx.Done():
			return
		case <-again.C: // most agents are gone by now and need no mention
			d.sayStopping(t)
			d.askToStop(t)
		case <-deadline.C:
			d.endDraining(t)
			return
		}
	}
}

// working returns the agent while it works on t, also if it is still being
// opened for that.
func (d *driver) working(t *turn) (a *instance, opened bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != t || t.over || d.agent == nil {
		return nil, false
	}
	return d.agent, d.agent.s != nil
}

func (d *driver) askToStop(t *turn) {
	if a, opened := d.working(t); opened {
		a.call("Cancel", func() { a.s.Cancel(t.id) })
	}
}

func (d *driver) endDraining(t *turn) {
	if a, _ := d.working(t); a != nil {
		d.f.log.Warn("agent ignored a cancel and is ended", "chat", d.chat)
		d.discard(a, endDeadline)
	}
}

// sayStopping tells that the agent drains, unless it just has.
func (d *driver) sayStopping(t *turn) {
	d.emitting.Lock()
	defer d.emitting.Unlock()
	if a, _ := d.working(t); a != nil {
		d.say(stopping)
	}
}

// say sets the chat's activity, "" clears it.
func (d *driver) say(activity string) {
	d.decide(func(s *ahp.ChatState) []ahp.Action {
		switch {
		case s.Activity == nil && activity == "", s.Activity != nil && *s.Activity == activity:
			return nil
		case activity == "":
			return []ahp.Action{&ahp.ChatActivityChanged{}}
		}
		return []ahp.Action{&ahp.ChatActivityChanged{Activity: &activity}}
	})
}
