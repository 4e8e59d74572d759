package session

import (
	"context"

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
func (d *driver) ask(ctx context.Context, key string, question ahp.Action) (ahp.Action, error) {
	w := d.wait(key)
	if w == nil {
		return nil, d.alive()
	}
	defer d.forget(key, w)
	if !d.f.h.Apply(d.chat, question) {
		return nil, d.alive()
	}
	select {
	case a := <-w.answer:
		return a, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-d.ctx.Done():
		return nil, context.Cause(d.ctx)
	}
}

// wait registers a question before it is put, so that no answer is missed. It is
// nil when the turn was cancelled meanwhile.
func (d *driver) wait(key string) *waiter {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.current == nil || d.current.cancelled {
		return nil
	}
	w := &waiter{turnID: d.current.id, answer: make(chan ahp.Action, 1)}
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
