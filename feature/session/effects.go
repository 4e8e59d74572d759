package session

import (
	"context"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// Effects begin what accepted client actions ask for. They run one at a time per
// chat and wait for no agent.

func hasChatEffect(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.ChatTurnStarted, *ahp.ChatTurnResume, *ahp.ChatTurnCancelled, *ahp.ChatToolCallConfirmed,
		*ahp.ChatInputCompleted, *ahp.ChatPendingMessageSet:
		return true
	}
	return false
}

func (f *Feature) chatEffect(_ context.Context, e host.Committed) {
	d := f.driver(e.Channel)
	if d == nil {
		return
	}
	switch a := e.Action.(type) {
	case *ahp.ChatTurnStarted:
		d.run(&turn{id: a.TurnID, message: a.Message})
	case *ahp.ChatTurnResume:
		if s := e.After.(*ahp.ChatState); s.ActiveTurn != nil {
			d.run(&turn{id: a.TurnID, message: s.ActiveTurn.Message, resume: true})
		}
	case *ahp.ChatTurnCancelled:
		d.cancelled(a.TurnID)
	case *ahp.ChatToolCallConfirmed:
		d.answer(toolKey(a.TurnID, a.ToolCallID), a)
	case *ahp.ChatInputCompleted:
		if s := e.After.(*ahp.ChatState); s.ActiveTurn != nil {
			d.answer(inputKey(s.ActiveTurn.ID, a.RequestID), answered(s, a))
		}
	case *ahp.ChatPendingMessageSet:
		d.pending(a)
	}
}

// answered returns the completed request as the state has it: the answers given
// earlier overlaid with those of the action.
func answered(s *ahp.ChatState, a *ahp.ChatInputCompleted) *ahp.ChatInputCompleted {
	for _, p := range s.ActiveTurn.ResponseParts.All() {
		if r, ok := p.Part.(*ahp.InputRequestPart); ok && r.Request != nil && r.Request.ID == a.RequestID {
			return &ahp.ChatInputCompleted{RequestID: a.RequestID, Response: a.Response, Answers: r.Request.Answers}
		}
	}
	return a
}

func hasSessionEffect(a ahp.Action) bool {
	_, ok := a.(*ahp.SessionConfigChanged)
	return ok
}

// sessionEffect passes configuration on to the agents of the session's chats; a
// value an agent did not take is put right.
func (f *Feature) sessionEffect(_ context.Context, e host.Committed) {
	a, ok := e.Action.(*ahp.SessionConfigChanged)
	if !ok {
		return
	}
	for _, chat := range f.h.Children(e.Channel) {
		if d := f.driver(chat); d != nil {
			d.mu.Lock()
			d.startLocked(func() { d.configure(a) })
			d.mu.Unlock()
		}
	}
}

func (d *driver) configure(a *ahp.SessionConfigChanged) {
	d.mu.Lock()
	s := d.agent
	d.mu.Unlock()
	if s == nil {
		return
	}
	for id, value := range a.Config {
		values, err := s.SetConfig(d.ctx, id, value)
		if err != nil {
			d.f.log.Warn("agent refused a configuration value", "chat", d.chat, "property", id, "err", err)
			continue
		}
		(*callbacks)(d).configValues(values)
	}
}
