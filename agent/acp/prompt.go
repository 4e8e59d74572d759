package acp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// StallTime is how long an agent may say nothing in a turn before that is told.
// A silent agent is never ended for it.
const StallTime = 60 * time.Second

var (
	errTurnCancelled = errors.New("the turn was cancelled")
	errTurnOver      = errors.New("the turn is over")
	errTurnRunning   = errors.New("the agent is in another turn")
)

// Prompt implements agent.Session.
func (s *session) Prompt(ctx context.Context, p agent.Prompt) agent.Outcome {
	t, err := s.begin(ctx, p.TurnID)
	if err != nil {
		return failed("turnInProgress", err.Error())
	}
	defer s.leave(t)
	if p.Message != nil {
		s.selectModel(t.life, p.Message.Model)
	}
	pending, err := s.send(t, p.Message)
	switch {
	case errors.Is(err, errTurnCancelled):
		return agent.Outcome{Result: agent.Cancelled}
	case err != nil:
		return s.conclude(t, promptResult{}, err)
	}
	s.attend(ctx, t, pending)
	var r promptResult
	err = pending.Wait(context.WithoutCancel(ctx), &r)
	return s.conclude(t, r, err)
}

// begin makes the turn current. One runs at a time: two prompts of one session
// would get in each other's way (agents.md, 3.1).
func (s *session) begin(ctx context.Context, id string) (*turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		return nil, errTurnRunning
	}
	s.prompts++
	t := &turn{
		s: s, ctx: ctx, id: id, prefix: fmt.Sprintf("%d.", s.turns0+s.prompts),
		calls: make(map[string]*call), over: make(chan struct{}),
	}
	t.life, t.end = context.WithCancelCause(s.life)
	s.turn = t
	if s.preface != "" {
		t.emit(agent.Notice{TurnID: id, Text: ahp.Plain(s.preface)})
		s.preface = ""
	}
	return t, nil
}

func (s *session) leave(t *turn) {
	t.end(errTurnOver)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = nil
	s.doing = "" // the host clears it with the turn
	close(t.over)
}

// send sends the prompt, unless the turn was cancelled before.
func (s *session) send(t *turn, m *ahp.Message) (*jsonrpc.Pending, error) {
	blocks := s.blocks(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.cancelled {
		return nil, errTurnCancelled
	}
	s.lastHeard.Store(time.Now().UnixNano())
	pending, err := s.conn.rpc.Go(methodPrompt, promptParams{SessionID: s.id, Prompt: blocks})
	t.pending = pending
	return pending, err
}

// attend looks after a turn until its prompt is answered or the agent is gone:
// it publishes what waits and tells when nothing comes.
func (s *session) attend(ctx context.Context, t *turn, pending *jsonrpc.Pending) {
	stall := time.NewTimer(StallTime)
	defer stall.Stop()
	due := time.NewTimer(publishInterval)
	due.Stop()
	defer due.Stop()
	givenUp := ctx.Done()
	for {
		select {
		case <-pending.Done():
			return
		case <-s.conn.gone:
			return
		case <-givenUp:
			s.conn.fail(context.Cause(ctx))
			givenUp = nil
		case <-s.changed:
			due.Reset(publishInterval)
		case now := <-due.C:
			s.mu.Lock()
			t.publishDue(now)
			s.mu.Unlock()
		case now := <-stall.C:
			stall.Reset(s.silence(t, now))
		}
	}
}

// silence tells that an agent has said nothing for StallTime, and returns when to
// look again. Nobody waits for an agent that waits for an answer or a command.
func (s *session) silence(t *turn, now time.Time) time.Duration {
	quiet := now.Sub(time.Unix(0, s.lastHeard.Load()))
	if quiet < StallTime {
		return StallTime - quiet
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.waits() && !s.terminals.running() {
		if s.doing != stalled {
			s.stats.stalled.Add(1)
		}
		s.activity(stalled)
	}
	return StallTime
}

// stalled is the activity of an agent that says nothing.
var stalled = fmt.Sprintf("no response for %.0f s", StallTime.Seconds())

// waits reports whether somebody is asked something. The session's lock is held.
func (t *turn) waits() bool {
	for _, c := range t.order {
		if c.question != nil {
			return true
		}
	}
	return t.forms > 0
}

// conclude ends the turn and says how it went.
func (s *session) conclude(t *turn, r promptResult, err error) agent.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.publishDue(time.Now().Add(publishInterval))
	o := s.outcome(t, r, err)
	t.settle(o.Result == agent.Completed || o.Result == agent.Truncated, "the turn ended before the tool did")
	return o
}

func (s *session) outcome(t *turn, r promptResult, err error) agent.Outcome {
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		if t.cancelled { // agents answer so when they are interrupted (agents.md, 3.1)
			return agent.Outcome{Result: agent.Cancelled}
		}
		return s.refusedPrompt(wire)
	case errors.Is(err, jsonrpc.ErrBadResponse):
		return failed("agentFailed", s.name()+" answered with something that is no end of a turn")
	case err != nil:
		return failed("agentExited", s.obituary())
	}
	o := agent.Outcome{Usage: t.usageWith(r.Usage)}
	switch r.StopReason {
	case stopCancelled:
		o.Result = agent.Cancelled
	case stopRefusal:
		o.Result = agent.Refused
		o.Err = &ahp.ErrorInfo{ErrorType: "refusal", Message: s.name() + " refused to answer this"}
	case stopMaxTokens:
		o.Result, o.Notice = agent.Truncated, "The answer was cut short: the model reached its limit of tokens."
	case stopMaxTurnRequests:
		o.Result, o.Notice = agent.Truncated, "The turn was cut short: the agent reached its limit of requests to the model."
	}
	if t.cancelled {
		o = agent.Outcome{Result: agent.Cancelled, Usage: o.Usage}
	}
	return o
}

// refusedPrompt is the outcome of a prompt that was answered with an error.
func (s *session) refusedPrompt(e *jsonrpc.Error) agent.Outcome {
	if e.Code == codeAuthRequired {
		return failed("authRequired", s.signInText(e))
	}
	return failed("agentError", s.name()+" reported an error: "+errorText(e))
}

// errorText is what an agent says in an error. Many put what matters into the
// data.
func errorText(e *jsonrpc.Error) string {
	text := e.Message
	for _, name := range []string{"message", "details", "error"} {
		if more, ok := jsonrpc.Member(e.Data, name); ok {
			if detail, ok := jsonrpc.StringValue(more); ok && detail != "" && detail != text {
				text += ": " + detail
				break
			}
		}
	}
	if e.Data.Kind() == jsontext.KindString {
		detail, _ := jsonrpc.StringValue(e.Data)
		text += ": " + detail
	}
	return redact(oneLine(text))
}

func failed(errorType, message string) agent.Outcome {
	return agent.Outcome{Result: agent.Failed, Err: &ahp.ErrorInfo{ErrorType: errorType, Message: message}}
}

// usageWith joins what was told of the usage during the turn and at its end.
func (t *turn) usageWith(u *tokenUsage) *ahp.UsageInfo {
	if u == nil {
		return t.usage
	}
	all := ahp.UsageInfo{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CachedReadTokens}
	if t.usage != nil {
		all.Meta = t.usage.Meta
	}
	return &all
}
