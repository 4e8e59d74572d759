package acp

import (
	"strings"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// planTool is the tool a plan is shown as: markdown parts only grow, and the
// content of a call can be replaced (agents.md, 4.1).
const planTool = "plan"

// replan shows the plan, which comes complete each time.
func (t *turn) replan(entries []planEntry, raw jsontext.Value) {
	if t.plan == nil {
		t.plan = &call{id: t.prefix + planTool, name: planTool, title: "Plan", started: true, ready: true}
		t.order = append(t.order, t.plan)
		t.said = false
		t.emit(agent.ToolStarted{TurnID: t.id, ToolCallID: t.plan.id, ToolName: planTool, DisplayName: "Plan"})
		t.announce(t.plan, ahp.ConfirmedNotNeeded)
	}
	list, now := checklist(entries)
	t.plan.content = []toolContent{{Type: contentBlockType, Content: &contentBlock{Type: blockText, Text: list}}}
	var meta jsontext.Value
	if len(raw) > 0 && len(raw) <= maxStructBytes {
		meta = object("acp", object("plan", raw))
	}
	t.emit(agent.ToolContent{TurnID: t.id, ToolCallID: t.plan.id, Content: t.s.contents(t.plan.content), Meta: meta})
	t.s.activity(now)
}

// checklist renders a plan, and returns what is being done now.
func checklist(entries []planEntry) (list, now string) {
	var b strings.Builder
	for _, e := range entries {
		box, note := "- [ ] ", ""
		switch e.Status {
		case "completed":
			box = "- [x] "
		case "in_progress":
			note = " (in progress)"
			if now == "" {
				now = oneLine(e.Content)
			}
		}
		b.WriteString(box + oneLine(e.Content) + note + "\n")
	}
	return b.String(), now
}
