package session

import (
	"time"

	"github.com/causeway-ahp/causeway/internal/limit"
)

// DefaultLimits are the bounds a feature has unless told otherwise.
var DefaultLimits = Limits{DrainTimeout: 10 * time.Second, ClientGrace: 30 * time.Second, QueuedMessages: 100}

// limitClientGrace is counted by name.
const limitClientGrace = "active-client-grace"

// Rows are the limits as rows of the table of all limits, over the fields of l.
func (l *Limits) Rows() []limit.Row {
	return []limit.Row{
		{Name: limitClientGrace, Value: &l.ClientGrace, Bounds: "how long a lost client stays an active client of its sessions", Policy: "it is removed, and the tool calls it was running fail", Field: "session.Limits.ClientGrace", Source: "AHP core, 17, 23"},
		{Name: "queued-messages", Value: &l.QueuedMessages, Unit: "messages", Bounds: "messages queued in one chat", Policy: "the action is rejected as busy", Counter: "causeway_actions_rejected_total", Field: "session.Limits.QueuedMessages", Source: "own"},
		{Name: "agent-drain-timeout", Value: &l.DrainTimeout, Bounds: "how long an agent may ignore a cancel", Policy: "it is ended, and opened anew for the next turn", Counter: `causeway_agents_ended_total{cause="deadline"}`, Field: "session.Limits.DrainTimeout", Source: "own"},
	}
}
