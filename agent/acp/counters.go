package acp

import "sync/atomic"

// counters count what was skipped, dropped or ended. They only grow.
type counters struct {
	noise, outside, foreign, late, unknown, malformed, stalled, ended atomic.Uint64
}

// Stats are the counters of a provider since its start.
type Stats struct {
	Noise     uint64 // lines that were no messages
	Outside   uint64 // updates of a turn that came outside of one
	Foreign   uint64 // updates and requests for a session that is not the agent's
	Late      uint64 // updates of tool calls that had ended
	Unknown   uint64 // updates and content of a kind not known here
	Malformed uint64 // updates that could not be read
	Stalled   uint64 // times an agent was silent for [StallTime] in a turn
	Ended     uint64 // agents that ended by themselves or had to be ended
}

func (c *counters) stats() Stats {
	return Stats{
		Noise: c.noise.Load(), Outside: c.outside.Load(), Foreign: c.foreign.Load(), Late: c.late.Load(),
		Unknown: c.unknown.Load(), Malformed: c.malformed.Load(), Stalled: c.stalled.Load(), Ended: c.ended.Load(),
	}
}
