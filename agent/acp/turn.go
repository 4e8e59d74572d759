package acp

import (
	"context"
	"fmt"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// publishInterval is the least time between two looks at the output of a running
// call: agents repeat all of it with every change.
const publishInterval = 100 * time.Millisecond

// turn is one prompt. What the agent says in it becomes events; the session's
// lock guards it, and is held while they are emitted, so that they keep their
// order.
type turn struct {
	s         *session
	ctx       context.Context // of Prompt
	id        string
	prefix    string           // of the ids of its calls, which are then unique in the chat
	cancelled bool             // the agent was asked to stop: what it still says is swallowed
	pending   *jsonrpc.Pending // the prompt, nil before it was sent
	messageID string           // of the chunk before
	said      bool             // a chunk came before
	usage     *ahp.UsageInfo

	calls map[string]*call // by the agent's id; of several with one id the latest
	order []*call
	plan  *call
	forms int // questions that are not about a call

	life context.Context // ends when the turn is cancelled or over
	end  context.CancelCauseFunc
	over chan struct{} // closed when Prompt has returned
}

// call is a tool call of the agent.
type call struct {
	id        string // ours
	name      string
	title     string
	kind      string
	status    string
	input     *ahp.ToolInput
	content   []toolContent
	output    []byte // rawOutput, JSON
	locations []byte // JSON

	started, ready, done bool
	asked                bool      // its running was decided on by somebody
	question             *question // waits for an answer
	dirty                bool      // the content changed since it was published
	published            time.Time
}

// live reports whether updates belong to the turn: its prompt was sent and is not
// answered. The answer ends it on the reader, before whoever waits for it knows.
func (t *turn) live() bool {
	if t.pending == nil || t.cancelled {
		return false
	}
	select {
	case <-t.pending.Done():
		return false
	default:
		return true
	}
}

// emit hands an event to the host. An error says that the session is closing,
// and whoever waits for the agent hears of that.
func (t *turn) emit(e agent.Event) { _ = t.s.host.Emit(t.ctx, e) }

// say relays a chunk of the answer or of the thinking.
func (t *turn) say(messageID, text string, thought bool) {
	if t.said && messageID != t.messageID {
		t.emit(agent.Break{TurnID: t.id})
	}
	t.said, t.messageID = true, messageID
	for text != "" {
		var piece string
		piece, text = cutRunes(text, maxPieceBytes)
		if thought {
			t.emit(agent.Thought{TurnID: t.id, Text: piece})
		} else {
			t.emit(agent.Text{TurnID: t.id, Text: piece})
		}
	}
}

// call returns the call an update is about, made if there is none, and nil when
// it has ended. A tool_call that comes again after its end is another call.
func (t *turn) call(u *toolUpdate, announced bool) *call {
	c := t.calls[u.ToolCallID]
	if c != nil && c.done && !announced {
		t.s.stats.late.Add(1)
		return nil
	}
	if c == nil || c.done {
		id := t.prefix + u.ToolCallID
		if c != nil {
			id = fmt.Sprintf("%s#%d", id, len(t.order))
		}
		c = &call{id: id, status: statusPending}
		t.calls[u.ToolCallID] = c
		t.order = append(t.order, c)
	}
	return c
}

// merge takes over what an update changes.
func (c *call) merge(u *toolUpdate) {
	setIf(&c.name, u.Name)
	setIf(&c.title, u.Title)
	setIf(&c.kind, u.Kind)
	setIf(&c.status, u.Status)
	if in := toolInput(u.RawInput); in != nil {
		c.input = in
	}
	if u.Content != nil {
		c.content, c.dirty = u.Content, true
	}
	if len(u.RawOutput) > 0 {
		c.output = u.RawOutput
	}
	if len(u.Locations) > 0 {
		c.locations = u.Locations
	}
}

func setIf(to, from *string) {
	if from != nil && *from != "" {
		*to = *from
	}
}

// update takes an update of a tool call to where it belongs.
func (t *turn) update(u *toolUpdate, announced bool) {
	c := t.call(u, announced)
	if c == nil {
		return
	}
	before := c.title
	c.merge(u)
	t.begin(c)
	ended := c.status == statusCompleted || c.status == statusFailed
	if c.question != nil {
		if !ended {
			return // what it shows waits for the answer
		}
		t.s.withdraw(c)
	}
	switch {
	case ended:
		t.run(c, ahp.ConfirmedNotNeeded)
		t.finish(c, t.result(c))
	case c.ready || c.status == statusInProgress:
		if c.ready && before != c.title && !c.asked {
			t.announce(c, ahp.ConfirmedNotNeeded)
		}
		t.run(c, ahp.ConfirmedNotNeeded)
		t.publish(c, time.Now())
	}
}

// begin announces the call.
func (t *turn) begin(c *call) {
	if c.started {
		return
	}
	c.started = true
	t.said = false
	t.emit(agent.ToolStarted{TurnID: t.id, ToolCallID: c.id, ToolName: c.toolName(), DisplayName: c.label(), Meta: c.meta()})
}

// run lets the call run, if it does not.
func (t *turn) run(c *call, confirmed string) {
	if c.ready {
		return
	}
	c.ready = true
	t.announce(c, confirmed)
}

func (t *turn) announce(c *call, confirmed string) {
	t.emit(agent.ToolRunning{
		TurnID: t.id, ToolCallID: c.id, Message: ahp.Plain(c.label()), Input: c.input, Confirmed: confirmed,
	})
}

// publish shows the content of a running call, unless that was done a moment ago:
// then the prompt does it later.
func (t *turn) publish(c *call, now time.Time) {
	switch {
	case !c.dirty || !c.ready || c.done || c.question != nil:
	case now.Sub(c.published) < publishInterval:
		t.s.poke()
	default:
		c.dirty, c.published = false, now
		t.emit(agent.ToolContent{TurnID: t.id, ToolCallID: c.id, Content: t.s.contents(c.content)})
	}
}

// publishDue publishes what waits.
func (t *turn) publishDue(now time.Time) {
	for _, c := range t.order {
		t.publish(c, now)
	}
}

// finish ends a call that runs.
func (t *turn) finish(c *call, r ahp.ToolCallResult) {
	c.done = true
	t.emit(agent.ToolFinished{TurnID: t.id, ToolCallID: c.id, Result: r})
}

// result is how the agent says the call ended.
func (t *turn) result(c *call) ahp.ToolCallResult {
	r := ahp.ToolCallResult{
		Success: c.status != statusFailed, PastTenseMessage: ahp.Plain(c.label()), Content: t.s.contents(c.content),
	}
	addOutput(&r, c.output)
	if !r.Success {
		r.Error = &ahp.ToolError{Message: failureText(r.Content)}
	}
	return r
}

// settle ends the calls the agent has left open: with success those that ran in
// a turn that went well, as failed in another. One that was never decided on
// is left to the end of the turn, which skips it (agents.md, 4.4).
func (t *turn) settle(ok bool, problem string) {
	for _, c := range t.order {
		if c.question != nil {
			t.s.withdraw(c)
			continue
		}
		if !c.ready || c.done {
			continue
		}
		r := t.result(c)
		if !ok {
			r.Success, r.Error = false, &ahp.ToolError{Message: problem}
		}
		t.finish(c, r)
	}
}
