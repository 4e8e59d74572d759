package session

import (
	"context"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/google/uuid"
)

// pick chooses the pending message that becomes the next turn, nil for none.
type pick func(s *ahp.ChatState) (kind string, m *ahp.PendingMessage)

// startNext starts a pending message of an idle chat as a turn, in one step of
// the sequencer (AHP channels, 2.3 Queue consumption).
func (d *driver) startNext(choose pick) {
	id := uuid.NewString()
	started := d.decide(func(s *ahp.ChatState) []ahp.Action {
		kind, m := choose(s)
		if s.ActiveTurn != nil || m == nil {
			return nil
		}
		return []ahp.Action{
			&ahp.ChatPendingMessageRemoved{Kind: kind, ID: m.ID},
			&ahp.ChatTurnStarted{TurnID: id, StartedAt: host.Now(), Message: m.Message, QueuedMessageID: &m.ID},
		}
	})
	if started {
		d.run(id)
	}
}

// nextPending picks a steering message that the agent could not take during its
// turn, else the first of the queue.
func nextPending(s *ahp.ChatState) (kind string, m *ahp.PendingMessage) {
	if s.SteeringMessage != nil {
		return ahp.PendingSteering, s.SteeringMessage
	}
	return nextQueued(s)
}

// nextQueued picks the first of the queue.
func nextQueued(s *ahp.ChatState) (kind string, m *ahp.PendingMessage) {
	if len(s.QueuedMessages) > 0 {
		return ahp.PendingQueued, &s.QueuedMessages[0]
	}
	return "", nil
}

// pending acts on a new pending message: a queued one starts an idle chat, a
// steering one is offered to a working agent and waits otherwise.
func (d *driver) pending(a *ahp.ChatPendingMessageSet) {
	if a.Kind != ahp.PendingSteering {
		d.startNext(nextQueued)
	} else if d.about.Steering {
		d.send(&d.steering, d.steer)
	}
}

// steer offers the chat's steering message to the agent. Until the agent has
// taken or refused it the turn does not end, so the message is not promoted to a
// turn as well.
func (d *driver) steer() {
	s := d.state()
	if s == nil || s.SteeringMessage == nil {
		return
	}
	m := s.SteeringMessage
	o, ok := d.makeOffer()
	if !ok {
		return
	}
	defer close(o.settled)
	taken := false
	o.to.call("Steer", func() { taken = o.to.s.Steer(o.ctx, m.Message) })
	if !taken {
		return
	}
	d.decide(func(s *ahp.ChatState) []ahp.Action {
		if s.SteeringMessage != m { // the client has put another in its place
			return nil
		}
		return []ahp.Action{&ahp.ChatPendingMessageRemoved{Kind: ahp.PendingSteering, ID: m.ID}}
	})
}

// offer is a steering message on its way to a working agent. There is one at a
// time.
type offer struct {
	to      *instance
	ctx     context.Context // ends with the turn
	end     context.CancelCauseFunc
	settled chan struct{} // closed when the message was taken or refused
}

// makeOffer begins an offer; it is false while no agent works.
func (d *driver) makeOffer() (*offer, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.current
	if t == nil || t.cancelled || t.over || d.agent == nil || d.agent.s == nil {
		return nil, false
	}
	o := &offer{to: d.agent, settled: make(chan struct{})}
	o.ctx, o.end = context.WithCancelCause(d.agent.ctx)
	t.offer = o
	return o, true
}

// settle waits for the offer, if there is one, to be taken or refused.
func (o *offer) settle() {
	if o != nil {
		o.end(errTurnOver)
		<-o.settled
	}
}
