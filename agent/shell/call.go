package shell

import (
	"fmt"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/agent/process"
	"github.com/causeway-ahp/causeway/ahp"
)

// When the output of a running command is published.
const (
	firstPublish = 20 * time.Millisecond  // after its first output; quick commands end before
	nextPublish  = 100 * time.Millisecond // at least between two
)

// Ids of the ways to answer a confirmation. The first approves once: a client
// that knows none of them takes it.
const (
	optionOnce    = "allow-once"
	optionSession = "allow-session"
	optionDeny    = "deny"
)

// options are the ways to answer a confirmation.
func options() []ahp.ConfirmationOption {
	return []ahp.ConfirmationOption{
		{ID: optionOnce, Label: "Allow once", Kind: ahp.OptionApprove},
		{ID: optionSession, Label: "Allow in this session", Kind: ahp.OptionApprove},
		{ID: optionDeny, Label: "Deny", Kind: ahp.OptionDeny},
	}
}

// call is one command as a tool call.
type call struct {
	*turn
	id   string
	text string // what was typed, or what an approval made of it
}

// run makes a tool call of a line and waits for it. It reports whether the
// command succeeded; an error says that the turn is over.
func (t *turn) run(line string) (bool, error) {
	if err := t.over(); err != nil {
		return false, err
	}
	t.calls++
	c := &call{turn: t, id: fmt.Sprintf("call-%d", t.calls), text: line}
	started := agent.ToolStarted{TurnID: t.id, ToolCallID: c.id, ToolName: "shell", DisplayName: "Shell"}
	if err := t.emit(started); err != nil {
		return false, err
	}
	cmd, ok, err := c.admit()
	if !ok || err != nil {
		return false, err
	}
	result := c.execute(cmd)
	if err := t.emit(agent.ToolFinished{TurnID: t.id, ToolCallID: c.id, Result: result}); err != nil {
		return false, err
	}
	return result.Success, t.over()
}

// admit finds out whether the command may run, and what is to be executed then.
func (c *call) admit() (cmd process.Command, ok bool, err error) {
	if cmd, ok = c.s.readOnly(c.ctx, c.text); ok {
		return cmd, true, c.announce(ahp.ConfirmedNotNeeded)
	}
	if c.s.consents.has(c.s.dir, c.text) {
		return c.shell(), true, c.announce(ahp.ConfirmedSetting)
	}
	ok, err = c.confirm()
	return c.shell(), ok, err
}

// shell is the command as sh runs it. The dashes keep a text that begins with
// one from being an option.
func (c *call) shell() process.Command {
	return process.Command{Argv: []string{"sh", "-c", "--", c.text}, Dir: c.s.dir, Env: c.s.env}
}

// announce says that the command runs without having been asked about.
func (c *call) announce(confirmed string) error {
	return c.emit(agent.ToolRunning{
		TurnID: c.turn.id, ToolCallID: c.id,
		Message:   ahp.Plain("Running " + brief(c.text)),
		Input:     ahp.InlineInput(c.text),
		Confirmed: confirmed,
	})
}

// confirm asks for consent. An edited command takes the place of the typed one,
// also in what is remembered.
func (c *call) confirm() (bool, error) {
	title := ahp.Plain("Run this command?")
	d, err := c.s.host.Confirm(c.ctx, agent.Confirmation{
		TurnID: c.turn.id, ToolCallID: c.id,
		Message:  ahp.Plain("Run " + brief(c.text)),
		Title:    &title,
		Input:    ahp.InlineInput(c.text),
		Editable: true,
		Options:  options(),
	})
	switch {
	case err != nil:
		return false, fmt.Errorf("confirm: %w", err)
	case d.Withdrawn:
		return false, errCancelled
	case !d.Approved:
		return false, nil // the decision itself ended the call
	case d.OptionID == optionDeny:
		return false, c.refuse()
	}
	if d.EditedInput != nil {
		c.text = *d.EditedInput
	}
	if d.OptionID == optionSession {
		c.s.consents.remember(c.s.dir, c.text)
	}
	return true, c.over()
}

// refuse ends a call that was approved with the option to deny. To the client
// it runs by now; not to run it is the safe reading.
func (c *call) refuse() error {
	return c.emit(agent.ToolFinished{
		TurnID: c.turn.id, ToolCallID: c.id,
		Result: notStarted(c.text, "approved, but with the option to deny", exitCannotStart),
	})
}

// execute runs the command and returns its result.
func (c *call) execute(cmd process.Command) ahp.ToolCallResult {
	out := process.NewCapture(MaxOutputBytes, KeptBytes)
	p, err := process.Start(cmd, out)
	if err != nil {
		return startFailure(c.text, cmd, err)
	}
	c.follow(p)
	e := p.Stop()
	c.count(e, out)
	return resultOf(c.text, e, out, e.Forced && c.over() != nil)
}

// follow publishes output until the command has ended or must be ended.
func (c *call) follow(p *process.Process) {
	due := time.NewTimer(firstPublish)
	due.Stop()
	defer due.Stop()
	changed, wait := p.Out.Changed, firstPublish
	for {
		select {
		case <-p.Exited():
			return
		case <-p.Out.Over:
			return
		case <-c.ctx.Done():
			return
		case <-changed:
			changed = nil // until what is due has been published
			due.Reset(wait)
		case <-due.C:
			changed, wait = p.Out.Changed, nextPublish
			if c.publish(p.Out) != nil {
				return // the session is closing, or the turn was cancelled
			}
		}
	}
}

// publish shows the end of the output so far. It waits when the host is behind;
// the command does not.
func (c *call) publish(out *process.Capture) error {
	return c.s.host.Emit(c.ctx, agent.ToolContent{
		TurnID: c.turn.id, ToolCallID: c.id,
		Content: []ahp.ToolResultContent{ahp.TextContent(out.Live(liveBytes))},
	})
}

func (c *call) count(e process.Ending, out *process.Capture) {
	stats := &c.s.provider.stats
	if out.OverLimit() {
		stats.overLimit.Add(1)
	}
	if e.Background {
		stats.background.Add(1)
	}
	if e.Abandoned {
		stats.abandoned.Add(1)
	}
}
