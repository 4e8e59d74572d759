package session

import (
	"context"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
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
		return d.alive()
	case agent.Title:
		d.f.h.Apply(d.session, &ahp.SessionTitleChanged{Title: e.Title})
		return d.alive()
	case agent.ConfigValues:
		c.configValues(e.Values)
		return d.alive()
	}
	t := d.active(agent.TurnOf(e))
	if t == nil {
		return d.alive()
	}
	d.emitting.Lock()
	defer d.emitting.Unlock()
	if a := t.parts.action(e); a != nil {
		d.f.h.Apply(d.chat, a)
	}
	return d.alive()
}

// alive is ErrClosed when the driver is closing.
func (d *driver) alive() error {
	if d.ctx.Err() != nil {
		return agent.ErrClosed
	}
	return nil
}

// interrupt ends the part that text was going to.
func (d *driver) interrupt(t *turn) {
	d.emitting.Lock()
	defer d.emitting.Unlock()
	t.parts.interrupt()
}

// active returns the turn being prompted if it has the id and has not ended; the
// event of another one is counted and dropped.
func (d *driver) active(turnID string) *turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == nil || d.current.id != turnID || d.current.cancelled {
		d.stale++
		return nil
	}
	return d.current
}

// configValues publishes the values that differ from the session's.
func (c *callbacks) configValues(values map[string]jsontext.Value) {
	s, ok := c.f.h.State(c.session).(*ahp.SessionState)
	if !ok || s.Config == nil {
		return
	}
	changed := make(map[string]jsontext.Value)
	for id, v := range values {
		if string(s.Config.Values[id]) != string(v) {
			changed[id] = v
		}
	}
	if len(changed) > 0 {
		c.f.h.Apply(c.session, &ahp.SessionConfigChanged{ConfigChange: ahp.ConfigChange{Config: changed}})
	}
}

// Confirm implements agent.Host.
func (c *callbacks) Confirm(ctx context.Context, q agent.Confirmation) (agent.Decision, error) {
	d := (*driver)(c)
	t := d.active(q.TurnID)
	if t == nil {
		return agent.Decision{Withdrawn: true}, d.alive()
	}
	d.interrupt(t)
	ready := &ahp.ChatToolCallReady{
		ToolCallRef:       ahp.ToolCallRef{TurnID: q.TurnID, ToolCallID: q.ToolCallID},
		InvocationMessage: q.Message, ToolInput: q.Input, ConfirmationTitle: q.Title, Edits: q.Edits, Options: q.Options,
	}
	if q.Editable {
		ready.Editable = &q.Editable
	}
	answer, err := d.ask(ctx, toolKey(q.TurnID, q.ToolCallID), ready)
	if err != nil {
		return agent.Decision{Withdrawn: true}, err
	}
	a, ok := answer.(*ahp.ChatToolCallConfirmed)
	if !ok {
		return agent.Decision{Withdrawn: true}, nil
	}
	return decision(a), nil
}

func decision(a *ahp.ChatToolCallConfirmed) agent.Decision {
	r := agent.Decision{Approved: a.Approved, EditedInput: a.EditedToolInput}
	if a.SelectedOptionID != nil {
		r.OptionID = *a.SelectedOptionID
	}
	if !a.Approved {
		r.Reason = ahp.ReasonDenied
		if a.Reason != nil {
			r.Reason = *a.Reason
		}
	}
	return r
}

// Ask implements agent.Host.
func (c *callbacks) Ask(ctx context.Context, turnID string, r *ahp.ChatInputRequest) (agent.Answers, error) {
	d := (*driver)(c)
	t := d.active(turnID)
	if t == nil {
		return agent.Answers{Withdrawn: true}, d.alive()
	}
	d.interrupt(t)
	answer, err := d.ask(ctx, inputKey(turnID, r.ID), &ahp.ChatInputRequested{Request: r})
	if err != nil {
		return agent.Answers{Withdrawn: true}, err
	}
	a, ok := answer.(*ahp.ChatInputCompleted)
	if !ok {
		return agent.Answers{Withdrawn: true}, nil
	}
	return agent.Answers{Response: a.Response, Values: a.Answers}, nil
}
