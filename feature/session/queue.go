package session

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/google/uuid"
)

// advance starts the next waiting message of an idle chat, in one step of the
// sequencer: a steering message the agent could not take during the turn, else
// the first of the queue (AHP channels, 2.3 Queue consumption).
func (d *driver) advance() {
	var started *turn
	d.f.h.Decide(d.chat, func(state any) []ahp.Action {
		s := state.(*ahp.ChatState)
		kind, m := nextPending(s)
		if s.ActiveTurn != nil || m == nil {
			return nil
		}
		started = &turn{id: uuid.NewString(), message: m.Message}
		return []ahp.Action{
			&ahp.ChatPendingMessageRemoved{Kind: kind, ID: m.ID},
			&ahp.ChatTurnStarted{TurnID: started.id, StartedAt: host.Now(), Message: m.Message, QueuedMessageID: &m.ID},
		}
	})
	if started != nil {
		d.run(started)
	}
}

func nextPending(s *ahp.ChatState) (kind string, m *ahp.PendingMessage) {
	if s.SteeringMessage != nil {
		return ahp.PendingSteering, s.SteeringMessage
	}
	if len(s.QueuedMessages) > 0 {
		return ahp.PendingQueued, &s.QueuedMessages[0]
	}
	return "", nil
}

// pending acts on a new pending message: a queued one starts an idle chat, a
// steering one is offered to a working agent and waits otherwise.
func (d *driver) pending(a *ahp.ChatPendingMessageSet) {
	if a.Kind != ahp.PendingSteering {
		d.advanceQueue()
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.agent
	if s == nil || d.current == nil || !d.provider.Describe().Steering {
		return
	}
	d.startLocked(func() {
		if s.Steer(d.ctx, a.Message) {
			d.f.h.Apply(d.chat, &ahp.ChatPendingMessageRemoved{Kind: ahp.PendingSteering, ID: a.ID})
		}
	})
}

// advanceQueue starts the first queued message of an idle chat. A steering
// message alone starts nothing: it waits for a turn to steer.
func (d *driver) advanceQueue() {
	s, ok := d.f.h.State(d.chat).(*ahp.ChatState)
	if ok && s.ActiveTurn == nil && len(s.QueuedMessages) > 0 {
		d.advance()
	}
}
