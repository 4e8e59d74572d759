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
//   - Every turn that starts ends once: complete, cancelled or with an error,
//     whatever becomes of the agent. What is to be prompted is read from the
//     chat's state, so no turn is missed and none prompted twice.
//   - After its end nothing of a turn appears. The agent may still be draining,
//     and what it then does is dropped and counted; the next prompt waits for
//     it, and for a deadline at most.
//   - The first answer to a question wins, and every question ends: answered, or
//     withdrawn when its turn is over.
//   - Every action the host applies changes something.
//   - An agent that panics or dies takes its turn with it and nothing else.
//
// Locks: the one of the roster's births, that of presence and that of a driver's
// emitting are held while actions are applied, so the sequencer's lock is taken
// inside them, never the other way round: no validator, reducer or mirror calls
// this package back. Births comes before presence. Every other lock here is a
// leaf.
//
// It knows agents only through package agent, and no transport. Tools that
// clients bring are not offered to agents yet, and no history is taken back from
// one: after chat/truncated it may remember more than the chat shows.
package session
