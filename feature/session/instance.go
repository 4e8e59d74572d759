package session

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// instance is one life of a chat's agent, from its opening until it is
// discarded. A panic of the agent in one of its methods counts as its death and
// goes no further.
type instance struct {
	d *driver
	// ctx ends when the host gives up on the agent.
	ctx    context.Context
	giveUp context.CancelCauseFunc

	// with are the tokens it was opened with. They are constant.
	with map[string]*credential

	s agent.Session // nil while it is being opened; the driver's mu guards it

	closing sync.Once
}

// Why the host gives up on an agent, or on what it was asked.
var (
	errAgentGone = errors.New("the agent is gone")
	errDiscarded = errors.New("the agent was ended")
	errTurnOver  = errors.New("the turn is over")
)

// contain calls the agent. It is false if the agent panicked.
func (d *driver) contain(what string, call func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			d.f.log.Error("agent panicked", "in", what, "chat", d.chat, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			ok = false
		}
	}()
	call()
	return true
}

// call calls an agent that was opened. A panic is its death; call is then false.
func (a *instance) call(what string, call func()) (ok bool) {
	if a.d.contain(what, call) {
		return true
	}
	a.d.discard(a, endPanic)
	return false
}

// open starts the agent. What it is opened with is read after the instance is
// known, so that a change of configuration either is in there or finds it.
func (d *driver) open() (*instance, error) {
	held, err := d.authorize()
	if err != nil {
		return nil, err
	}
	a := &instance{d: d, with: held}
	a.ctx, a.giveUp = context.WithCancelCause(d.ctx)
	spec, ok := d.adopt(a)
	if !ok {
		return nil, errStopping
	}
	if s, ok := d.f.h.State(d.session).(*ahp.SessionState); ok && s.Config != nil {
		spec.Config = s.Config.Values
	}
	if s := d.state(); s != nil {
		spec.Turns = s.Turns.Len()
	}
	spec.Tokens = tokens(held)
	s, err := a.start(spec)
	if err != nil {
		d.discard(a, endStart)
		return nil, fmt.Errorf("open agent: %w", err)
	}
	if !d.opened(a, s) {
		a.end(s)
		return nil, errDiscarded
	}
	d.noteToken(s)
	d.send(&d.configuring, d.configure)
	d.review()
	return a, nil
}

// adopt makes a the agent of the driver, while it is being opened.
func (d *driver) adopt(a *instance) (spec agent.Spec, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return spec, false
	}
	d.agent = a
	return d.spec, true
}

// opened completes the instance; it is false if that was discarded meanwhile.
func (d *driver) opened(a *instance, s agent.Session) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.agent != a {
		return false
	}
	a.s = s
	d.f.count.opened.WithLabelValues(d.about.Provider).Inc()
	if d.opens++; d.opens > 1 {
		d.f.count.reopened.WithLabelValues(d.about.Provider).Inc()
	}
	return true
}

func (a *instance) start(spec agent.Spec) (s agent.Session, err error) {
	if !a.d.contain("Open", func() { s, err = a.d.provider.Open(a.ctx, spec, (*callbacks)(a.d)) }) {
		return nil, &agent.StartError{Type: "agentStartFailed", Message: "the agent failed to start"}
	}
	return s, err
}

// ready returns the agent, opened anew if it has died or has not the tokens it
// should have.
func (d *driver) ready() (*instance, error) {
	d.mu.Lock()
	a := d.agent
	d.mu.Unlock()
	switch {
	case a == nil:
	case a.gone():
		d.discard(a, endExited)
	case a.stale() || d.hasMore(a):
		d.discard(a, endToken)
	default:
		return a, nil
	}
	return d.open()
}

// gone reports whether the agent has died. The agent must have been opened.
func (a *instance) gone() bool {
	select {
	case <-a.s.Done():
		return true
	default:
		return false
	}
}

// prompt runs the agent's turn, opening the agent if it is gone. A turn that was
// cancelled meanwhile does not reach it.
func (d *driver) prompt(t *turn) agent.Outcome {
	a, err := d.ready()
	if err != nil {
		return agent.Outcome{Result: agent.Failed, Err: startInfo(err)}
	}
	if d.isCancelled(t) {
		return agent.Outcome{Result: agent.Cancelled}
	}
	var o agent.Outcome
	returned := make(chan struct{})
	d.wg.Go(func() { a.watch(returned) })
	ok := a.call("Prompt", func() {
		o = a.s.Prompt(a.ctx, agent.Prompt{TurnID: t.id, Message: t.message, Resume: t.resume})
	})
	close(returned)
	if ok && !a.gone() && a.ctx.Err() == nil {
		return o
	}
	if !ok {
		return agent.Outcome{Result: agent.Failed, Err: failure}
	}
	d.discard(a, endExited) // which waits for whoever is ending it already
	return exited(o)
}

// watch gives up on a prompt that does not return although its agent is gone.
func (a *instance) watch(returned <-chan struct{}) {
	select {
	case <-returned:
		return
	case <-a.s.Done():
	}
	deadline := time.NewTimer(a.d.f.opts.Limits.DrainTimeout)
	defer deadline.Stop()
	select {
	case <-returned:
	case <-deadline.C:
		a.giveUp(errAgentGone)
	}
}

// exited is the outcome of a turn in which the agent went away. That it says
// how the turn ended counts, but not that somebody cancelled: if somebody did,
// the turn is over already.
func exited(o agent.Outcome) agent.Outcome {
	if o.Result == agent.Cancelled || o.Result == agent.Failed && o.Err == nil {
		o.Result = agent.Failed
		o.Err = &ahp.ErrorInfo{ErrorType: "agentExited", Message: "the agent ended in the middle of the turn"}
	}
	return o
}

func (d *driver) isCancelled(t *turn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return t.cancelled
}

// discard ends an agent that is of no use any more and waits for its end; the
// next turn opens another. The cause is for the counter.
func (d *driver) discard(a *instance, cause string) {
	d.mu.Lock()
	s := a.s
	d.mu.Unlock()
	var token []byte
	if s != nil {
		d.contain("ResumeToken", func() { token = s.ResumeToken() })
		d.noteToken(s)
	}
	d.mu.Lock()
	if d.agent == a {
		d.agent = nil
		d.f.count.ended.WithLabelValues(cause, d.about.Provider).Inc()
		clear(d.config) // the next one is opened with the values of the session
		if s != nil {
			d.spec.ResumeToken = token
		}
	}
	d.mu.Unlock()
	a.giveUp(errDiscarded)
	if s != nil {
		a.end(s)
	}
}

// end closes the agent, once; whoever comes second waits for the first.
func (a *instance) end(s agent.Session) {
	a.closing.Do(func() {
		a.d.contain("Close", func() {
			if err := s.Close(); err != nil {
				a.d.f.log.Warn("close agent", "chat", a.d.chat, "err", err)
			}
		})
	})
}
