// Package acp makes a provider of any agent that speaks the Agent Client
// Protocol, version 1: a child process that exchanges JSON-RPC lines with us
// over its input and output. It is the client side of that protocol.
//
// On the path of a byte it stands where any agent does, behind agent.Session:
//
//	child -> lines -> conn (one inbox) -> session -> turn (latches) -> agent.Host
//	child <- outbox <- conn            <- Prompt, Cancel, answers
//
// Invariants:
//
//   - What the agent sends is handled in the order in which it came, requests and
//     notifications alike: a permission never overtakes the tool call it is
//     about. Whoever is slow slows the agent down; nothing is dropped for it.
//   - One prompt is outstanding at a time, and it ends once, whatever the agent
//     does: it answers, dies, writes garbage, sends a line beyond
//     [MaxLineBytes], or is ended because it ignored a cancel.
//   - What is told of a tool call follows from three latches (started, ready,
//     done), never from the status the agent sends alone, so that every event
//     changes something whatever the agent leaves out or repeats.
//   - "cancelled" is answered to a permission only when the turn is over or
//     withdrawn, never for "no": agents take it for the end of the turn.
//   - An agent runs in its own process group and Close leaves nothing of it.
//   - No payload is logged: sizes, names and ids are.
//
// It does not interpret what agents say, keep their history, or sign in for the
// user. What it cannot map is counted (see [Stats]).
package acp
