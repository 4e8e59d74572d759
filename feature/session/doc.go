// Package session makes sessions and chats work: it serves the commands that
// create and end them, decides which client actions are valid, and drives one
// agent per chat.
//
// On the path of a byte it stands above the host: its validators run under the
// sequencer's lock and are pure; its effects begin after the commit; what an
// agent does comes back as new actions.
//
// Invariants:
//
//   - A chat has at most one turn at a time, and its agent at most one prompt. A
//     second turn is rejected, never lets the first vanish.
//   - Every turn that starts ends: complete, cancelled or with an error,
//     whatever becomes of the agent.
//   - After its end nothing of a turn appears. The agent may still be draining;
//     the next prompt waits for it, and for a deadline at most.
//   - The first answer to a question wins.
//
// It knows agents only through package agent, and no transport.
package session
