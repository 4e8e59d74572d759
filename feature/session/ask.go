package session

import (
	"context"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// waiter is a question of an agent that waits for its answer.
type waiter struct {
	turnID string
	answer chan ahp.Action // holds at most the first answer; closed when withdrawn
}

func toolKey(turnID, toolCallID string) string { return "tool\x00" + turnID + "\x00" + toolCallID }
func inputKey(turnID, requestID string) string { return "input\x00" + turnID + "\x00" + requestID }

// ask applies the action that puts a question and waits for the answer. The
// answer is nil when the question was withdrawn: its turn ended.
func (d *driver) ask(ctx context.Context, turnID, key string, question ahp.Action) (ahp.Action, error) {
	w := d.put(turnID, key, question)
	if w == nil {
		return nil, d.alive()
	}
	defer d.forget(key, w)
	select {
	case a := <-w.answer:
		return a, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-d.ctx.Done():
		return nil, agent.ErrClosed
	}
}

// put registers a question and then applies it, so that no answer is missed. It
// is nil when the turn is over or the question changes nothing. That the turn is
// the chat's active one is decided in the same step: an input request does not
// name its turn and would end up in the next one.
func (d *driver) put(turnID, key string, question ahp.Action) *waiter {
	d.emitting.Lock()
	defer d.emitting.Unlock()
	t := d.active(turnID)
	if t == nil {
		d.f.count.stale.Inc()
		return nil
	}
	t.parts.interrupt()
	w := d.wait(turnID, key)
	asked := d.decide(func(s *ahp.ChatState) []ahp.Action {
		if s.ActiveTurn == nil || s.ActiveTurn.ID != turnID {
			return nil
		}
		return []ahp.Action{question}
	})
	if !asked {
		d.forget(key, w)
		d.f.count.stale.Inc()
		return nil
	}
	return w
}

// wait registers a question. It takes the place of one with the same key, which
// is withdrawn.
func (d *driver) wait(turnID, key string) *waiter {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := d.waiters[key]; old != nil {
		close(old.answer)
	}
	w := &waiter{turnID: turnID, answer: make(chan ahp.Action, 1)}
	d.waiters[key] = w
	return w
}

func (d *driver) forget(key string, w *waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiters[key] == w {
		delete(d.waiters, key)
	}
}

// answer hands the first answer to whoever asked.
func (d *driver) answer(key string, a ahp.Action) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.waiters[key]; w != nil {
		delete(d.waiters, key)
		w.answer <- a // it has room: only one answer finds the waiter
	}
}

// withdraw ends the questions of a turn without an answer.
func (d *driver) withdraw(turnID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, w := range d.waiters {
		if w.turnID == turnID {
			delete(d.waiters, key)
			close(w.answer)
		}
	}
}

// withdrawTool ends the question about one tool call without an answer.
func (d *driver) withdrawTool(ref ahp.ToolCallRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := toolKey(ref.TurnID, ref.ToolCallID)
	if w := d.waiters[key]; w != nil {
		delete(d.waiters, key)
		close(w.answer)
	}
}
