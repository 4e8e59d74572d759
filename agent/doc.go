// Package agent is the interface between the host and the agents that do the
// work: an embedded shell, a replayed script, any child process that speaks
// ACP.
//
// On the path of a byte it stands beside the sequencer: feature/session calls a
// Session after the action that asks for work is committed, and turns the
// events the agent emits into actions. An agent sees no wire, no number and no
// other client.
//
// Invariants:
//
//   - One Session serves one chat. At most one Prompt is outstanding; the caller
//     guarantees it.
//   - Events of one Session keep the order of the Emit calls. Emit may wait
//     (back-pressure) but never drops.
//   - An event carries the turn it belongs to; events of another turn than the
//     one being prompted are dropped and counted by the receiver.
//   - Confirm and Ask end as Withdrawn when their turn is cancelled or ends.
//   - Close returns after everything the agent started is gone.
package agent
