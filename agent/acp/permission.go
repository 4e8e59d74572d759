package acp

import (
	"context"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// question is a permission the agent waits for. It is asked on a goroutine of the
// session's, so that whoever withdraws it depends on nobody else.
type question struct {
	cancel   context.CancelCauseFunc
	returned chan struct{} // closed when the host lets go of it
	answered chan struct{} // closed when result is set
	result   permissionResult
}

// permission asks whether a tool call may run. It runs on the reader, so that the
// call is announced at its place among the updates (agents.md, 4.6, 3).
func (s *session) permission(m jsonrpc.Message) jsonrpc.Reply {
	var p permissionParams
	if err := decode(m.Params, &p); err != nil {
		return jsonrpc.Reply{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s", "the permission cannot be read")}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mine(m.Params) {
		return jsonrpc.Reply{Result: withdrawn}
	}
	t := s.live()
	if t == nil { // nobody can be asked any more (agents.md, 4.7)
		return jsonrpc.Reply{Result: withdrawn}
	}
	q := s.ask(t, &p)
	return jsonrpc.Reply{Later: q.wait}
}

// ask puts the question. The lock is held.
func (s *session) ask(t *turn, p *permissionParams) *question {
	c := t.call(&p.ToolCall, false)
	if c == nil {
		c = t.call(&p.ToolCall, true)
	}
	if c.question != nil {
		s.withdraw(c)
	}
	before := c.status
	c.merge(&p.ToolCall)
	c.status = before // the agent waits, whatever it says
	t.begin(c)
	ctx, cancel := context.WithCancelCause(t.life)
	q := &question{cancel: cancel, returned: make(chan struct{}), answered: make(chan struct{})}
	c.question = q
	confirmation := agent.Confirmation{
		TurnID: t.id, ToolCallID: c.id, Message: ahp.Plain(c.label()), Title: new(ahp.Plain(c.label())),
		Input: c.input, Edits: editsOf(c.content), Options: confirmationOptions(p.Options),
	}
	host := s.host
	s.asking.Go(func() {
		d, err := host.Confirm(ctx, confirmation)
		close(q.returned)
		s.decided(t, c, q, d, err == nil && !d.Withdrawn, p.Options)
	})
	return q
}

// wait returns the answer. If the agent takes its request back, the question is
// withdrawn.
func (q *question) wait(ctx context.Context) (any, error) {
	stop := context.AfterFunc(ctx, func() { q.cancel(context.Cause(ctx)) })
	defer stop()
	<-q.answered
	return q.result, nil
}

// withdraw takes a question back: it is answered with "cancelled". When it
// returns the host has let go of the call. The lock is held.
func (s *session) withdraw(c *call) {
	q := c.question
	c.question = nil
	q.cancel(errTurnOver)
	<-q.returned
}

// decided acts on the answer to a question.
func (s *session) decided(t *turn, c *call, q *question, d agent.Decision, ok bool, offered []permissionOption) {
	defer q.cancel(nil)
	defer close(q.answered)
	s.mu.Lock()
	defer s.mu.Unlock()
	q.result = withdrawn
	if c.question != q { // withdrawn meanwhile
		return
	}
	c.question = nil
	if !ok {
		return
	}
	q.result = outcome(d, offered)
	if !d.Approved {
		c.done = true // the decision itself ended the call
		return
	}
	c.ready, c.asked = true, true
	if kindOf(offered, q.result.Outcome.OptionID) == ahp.OptionDeny {
		// To the client it runs by now; the option says that it does not.
		t.finish(c, ahp.ToolCallResult{
			PastTenseMessage: ahp.Plain(c.label()), Error: &ahp.ToolError{Message: "approved, but with an option that denies"},
		})
		return
	}
	c.dirty = c.content != nil
	t.publishDue(c.published.Add(publishInterval))
}

// outcome is a decision in the agent's words. "cancelled" is no way to say no, as
// long as there is an option for that (agents.md, 4.6, 6).
func outcome(d agent.Decision, offered []permissionOption) permissionResult {
	kinds := []string{rejectOnce, rejectAlways}
	if d.Approved {
		kinds = []string{allowOnce, allowAlways}
		for _, o := range offered {
			if o.OptionID == d.OptionID {
				return selected(o.OptionID)
			}
		}
	}
	for _, o := range offered { // a denial may name one of the options that deny
		if !d.Approved && o.OptionID == d.OptionID && optionKind(o.Kind) == ahp.OptionDeny {
			return selected(o.OptionID)
		}
	}
	for _, kind := range kinds {
		for _, o := range offered {
			if o.Kind == kind {
				return selected(o.OptionID)
			}
		}
	}
	return withdrawn
}

func selected(id string) permissionResult {
	return permissionResult{permissionOutcome{Outcome: "selected", OptionID: id}}
}

func kindOf(offered []permissionOption, id string) string {
	for _, o := range offered {
		if o.OptionID == id {
			return optionKind(o.Kind)
		}
	}
	return ""
}

// optionKind is what an option does; one of a kind not known here denies.
func optionKind(kind string) string {
	if kind == allowOnce || kind == allowAlways {
		return ahp.OptionApprove
	}
	return ahp.OptionDeny
}

// Groups of options, as clients show them (agents.md, 4.3).
var optionGroups = map[string]int64{allowAlways: 1, allowOnce: 2, rejectOnce: 3, rejectAlways: 3}

// confirmationOptions are the agent's options as they are, so that its own
// "always" goes on working, with one that approves once in front: whoever
// confirms without choosing takes the first.
func confirmationOptions(offered []permissionOption) []ahp.ConfirmationOption {
	list := make([]ahp.ConfirmationOption, 0, len(offered))
	for _, once := range []bool{true, false} {
		for _, o := range offered {
			if (o.Kind == allowOnce) != once {
				continue
			}
			c := ahp.ConfirmationOption{ID: o.OptionID, Label: oneLine(o.Name), Kind: optionKind(o.Kind)}
			if group, ok := optionGroups[o.Kind]; ok {
				c.Group = &group
			}
			list = append(list, c)
		}
	}
	return list
}
