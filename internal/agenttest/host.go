package agenttest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// Host notes what an agent tells and audits it. Its methods may be called
// concurrently.
type Host struct {
	// Decide answers a confirmation. It may wait; the end of ctx withdraws the
	// question. Nil approves.
	Decide func(ctx context.Context, c agent.Confirmation) agent.Decision

	told   chan struct{} // holds a token when something of the turn was told
	titled chan struct{} // holds a token when a title was told

	mu       sync.Mutex
	turn     string // that runs, "" for none
	calls    map[string]*callState
	text     strings.Builder
	events   []agent.Event
	breaches []string
}

// callState is how far a tool call has come.
type callState struct{ running, asked, ended, success bool }

var _ agent.Host = (*Host)(nil)

// NewHost returns a host without a turn.
func NewHost() *Host {
	return &Host{calls: make(map[string]*callState), told: make(chan struct{}, 1), titled: make(chan struct{}, 1)}
}

// Begin notes that a turn begins.
func (h *Host) Begin(turnID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn, h.calls = turnID, make(map[string]*callState)
	h.text.Reset()
	h.events = nil
}

// End notes that it is over: its prompt has returned.
func (h *Host) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn = ""
}

// Text is the answer of the turn.
func (h *Host) Text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// Events are what was told since Begin.
func (h *Host) Events() []agent.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]agent.Event(nil), h.events...)
}

// Breaches are the rules that were broken so far.
func (h *Host) Breaches() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.breaches...)
}

// Ended counts the calls that ended with success, and without.
func (h *Host) Ended() (ok, failed int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.calls {
		switch {
		case c.ended && c.success:
			ok++
		case c.ended:
			failed++
		}
	}
	return ok, failed
}

func (h *Host) breach(format string, args ...any) {
	h.breaches = append(h.breaches, fmt.Sprintf(format, args...))
}

// Emit implements agent.Host.
func (h *Host) Emit(_ context.Context, e agent.Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
	if turn := agent.TurnOf(e); turn != "" {
		notify(h.told)
		if turn != h.turn {
			h.breach("%T of turn %q while turn %q runs", e, turn, h.turn)
		}
	}
	switch e := e.(type) {
	case agent.Text:
		h.text.WriteString(e.Text)
	case agent.Title:
		notify(h.titled)
	case agent.ToolStarted:
		h.started(e)
	case agent.ToolRunning:
		h.step(e.ToolCallID, "runs", func(c *callState) bool { return !c.asked }, func(c *callState) { c.running = true })
	case agent.ToolContent:
		h.step(e.ToolCallID, "shows content", func(c *callState) bool { return c.running && !c.asked }, func(*callState) {})
	case agent.ToolFinished:
		h.step(e.ToolCallID, "ends", func(c *callState) bool { return c.running && !c.asked },
			func(c *callState) { c.ended, c.success = true, e.Result.Success })
	}
	return nil
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (h *Host) started(e agent.ToolStarted) {
	if h.calls[e.ToolCallID] != nil {
		h.breach("call %s is started twice", e.ToolCallID)
	}
	if e.ToolName == "" || e.DisplayName == "" {
		h.breach("call %s has no name", e.ToolCallID)
	}
	h.calls[e.ToolCallID] = &callState{}
}

// step moves a call on, if it may.
func (h *Host) step(id, what string, may func(*callState) bool, move func(*callState)) {
	c := h.calls[id]
	if c == nil || c.ended || !may(c) {
		h.breach("call %s %s in state %+v", id, what, c)
		return
	}
	move(c)
}

// Confirm implements agent.Host.
func (h *Host) Confirm(ctx context.Context, q agent.Confirmation) (agent.Decision, error) {
	h.mu.Lock()
	h.step(q.ToolCallID, "asks", func(c *callState) bool { return !c.asked }, func(c *callState) { c.asked = true })
	if len(q.Options) > 0 && q.Options[0].Kind != ahp.OptionApprove {
		h.breach("the first option of call %s does not approve", q.ToolCallID)
	}
	h.mu.Unlock()
	d := agent.Decision{Approved: true}
	if h.Decide != nil {
		d = h.Decide(ctx, q)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.calls[q.ToolCallID]; c != nil {
		c.asked = false
		switch {
		case d.Withdrawn:
		case d.Approved:
			c.running = true
		default:
			c.ended = true
		}
	}
	return d, context.Cause(ctx)
}

// Ask implements agent.Host: nobody answers.
func (h *Host) Ask(context.Context, string, *ahp.ChatInputRequest) (agent.Answers, error) {
	return agent.Answers{Response: ahp.InputDecline}, nil
}
