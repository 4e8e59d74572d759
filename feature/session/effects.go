package session

import (
	"context"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// Effects begin what accepted client actions ask for. They run one at a time per
// channel and wait for no agent.

func hasChatEffect(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.ChatTurnStarted, *ahp.ChatTurnResume, *ahp.ChatTurnCancelled, *ahp.ChatToolCallConfirmed,
		*ahp.ChatInputCompleted, *ahp.ChatPendingMessageSet:
		return true
	}
	return false
}

func (f *Feature) chatEffect(_ context.Context, e host.Committed) {
	d := f.driverOf(e.Channel)
	if d == nil {
		return
	}
	defer d.letLoose()
	switch a := e.Action.(type) {
	case *ahp.ChatTurnStarted:
		d.asked(e.By)
		d.run(a.TurnID)
	case *ahp.ChatTurnResume:
		d.asked(e.By)
		d.run(a.TurnID)
	case *ahp.ChatTurnCancelled:
		d.cancelled(a.TurnID)
	case *ahp.ChatToolCallConfirmed:
		d.answer(toolKey(a.TurnID, a.ToolCallID), a)
	case *ahp.ChatInputCompleted:
		if s := e.After.(*ahp.ChatState); s.ActiveTurn != nil {
			d.answer(inputKey(s.ActiveTurn.ID, a.RequestID), answered(s, a))
		}
	case *ahp.ChatPendingMessageSet:
		d.asked(e.By)
		d.pending(a)
	}
}

// answered returns the completed request as the state has it: the answers given
// earlier overlaid with those of the action. An agent may use an id again, so it
// is the last of them.
func answered(s *ahp.ChatState, a *ahp.ChatInputCompleted) *ahp.ChatInputCompleted {
	whole := *a
	for _, p := range s.ActiveTurn.ResponseParts.All() {
		if r, ok := p.Part.(*ahp.InputRequestPart); ok && r.Request != nil && r.Request.ID == a.RequestID {
			whole.Answers = r.Request.Answers
		}
	}
	return &whole
}

func hasSessionEffect(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.SessionConfigChanged, *ahp.SessionActiveClientSet, *ahp.SessionActiveClientRemoved:
		return true
	}
	return false
}

func (f *Feature) sessionEffect(_ context.Context, e host.Committed) {
	switch a := e.Action.(type) {
	case *ahp.SessionConfigChanged:
		f.configChanged(e, a)
	case *ahp.SessionActiveClientSet:
		f.presence.joined(e.Channel, a.ActiveClient.ClientID)
	case *ahp.SessionActiveClientRemoved:
		f.presence.resigned(e.Channel, a.ClientID)
	}
}
