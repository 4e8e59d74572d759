package session

import (
	"context"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// callbacks is what an agent sees of its driver. Events become actions in the
// order of the calls.
type callbacks driver

var _ agent.Host = (*callbacks)(nil)

// Emit implements agent.Host.
func (c *callbacks) Emit(_ context.Context, e agent.Event) error {
	d := (*driver)(c)
	switch e := e.(type) {
	case agent.Activity:
		d.say(e.Text)
	case agent.Title:
		d.entitle(e.Title)
	case agent.ConfigValues:
		d.publish(e.Values)
	case agent.Meta:
		d.annotate(e)
	case agent.Models:
		d.f.offer(d.about.Provider, e.Models)
	case agent.Commands:
		d.learn(e.Commands)
	case agent.Break:
		d.breakPart(e.TurnID)
	default:
		d.relay(e)
	}
	return d.alive()
}

// relay turns an event of a turn into an action. What belongs to another turn
// than the one being prompted, and what would change nothing, is dropped and
// counted.
func (d *driver) relay(e agent.Event) {
	d.emitting.Lock()
	defer d.emitting.Unlock()
	t := d.active(agent.TurnOf(e))
	if t == nil {
		d.f.count.stale.Inc()
		return
	}
	if a := t.parts.action(e); a != nil && !d.f.h.Apply(d.chat, a) {
		d.f.count.stale.Inc()
	}
}

// alive is ErrClosed when the driver is closing.
func (d *driver) alive() error {
	if d.ctx.Err() != nil {
		return agent.ErrClosed
	}
	return nil
}

// active returns the turn being prompted if it has the id and has not ended.
func (d *driver) active(turnID string) *turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.current
	if t == nil || t.id != turnID || t.cancelled || t.over {
		return nil
	}
	return t
}

// entitle gives the session a title of the agent's, but never in place of one
// that a user or another agent chose.
func (d *driver) entitle(title string) {
	d.emitting.Lock()
	defer d.emitting.Unlock()
	d.f.h.Decide(d.session, func(state any) []ahp.Action {
		now := state.(*ahp.SessionState).Title
		if title == now || now != untitled && now != d.title {
			return nil
		}
		return []ahp.Action{&ahp.SessionTitleChanged{Title: title}}
	})
	d.title = title
}

// Confirm implements agent.Host.
func (c *callbacks) Confirm(ctx context.Context, q agent.Confirmation) (agent.Decision, error) {
	d := (*driver)(c)
	ready := &ahp.ChatToolCallReady{
		ToolCallRef:       ref(q.TurnID, q.ToolCallID),
		InvocationMessage: q.Message, ToolInput: q.Input, ConfirmationTitle: q.Title, Edits: q.Edits, Options: q.Options,
	}
	if q.Editable {
		ready.Editable = &q.Editable
	}
	answer, err := d.ask(ctx, q.TurnID, toolKey(q.TurnID, q.ToolCallID), ready)
	a, ok := answer.(*ahp.ChatToolCallConfirmed)
	if !ok {
		return agent.Decision{Withdrawn: true}, err
	}
	return decision(a), nil
}

func decision(a *ahp.ChatToolCallConfirmed) agent.Decision {
	r := agent.Decision{Approved: a.Approved}
	if a.SelectedOptionID != nil {
		r.OptionID = *a.SelectedOptionID
	}
	switch {
	case a.Approved:
		r.EditedInput = a.EditedToolInput
	case a.Reason != nil:
		r.Reason = *a.Reason
	default:
		r.Reason = ahp.ReasonDenied
	}
	return r
}

// Ask implements agent.Host.
func (c *callbacks) Ask(ctx context.Context, turnID string, r *ahp.ChatInputRequest) (agent.Answers, error) {
	d := (*driver)(c)
	answer, err := d.ask(ctx, turnID, inputKey(turnID, r.ID), &ahp.ChatInputRequested{Request: r})
	a, ok := answer.(*ahp.ChatInputCompleted)
	if !ok {
		return agent.Answers{Withdrawn: true}, err
	}
	return agent.Answers{Response: a.Response, Values: a.Answers}, nil
}
