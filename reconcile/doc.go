// Package reconcile is the client's half of write-ahead reconciliation as a pure
// machine: what the host has confirmed of one channel, what this client has
// dispatched and not yet seen echoed, and the optimistic state that follows from
// both (AHP core, 7).
//
// On the path of a byte it stands where the sequencer stands in the host: package
// client hands it every envelope, snapshot and own dispatch of a channel, and
// shows its users what it says.
//
//	envelope, snapshot -> confirmed --+
//	                                  +-- reduce pending --> optimistic -> State()
//	own dispatch ------> pending -----+
//
// Invariants, true after every call:
//
//   - Confirmed is the reducer over the host's actions, in the host's order, and
//     over the host's copies of them.
//   - Optimistic is the reducer over the pending actions, in their order, on top
//     of confirmed. A pending action that no longer applies is a no-op there.
//   - Every dispatch ends exactly once: confirmed, rejected, unknown or unsent.
//   - An entry is matched by (clientId, clientSeq) and nothing else, and only
//     once it was written: what never left cannot come back.
//   - Pending is in ascending order of clientSeq, and everything written stands
//     before everything unwritten.
//
// The cost of a call depends on the number of pending actions, not on the size
// of the state: states are persistent and shared.
//
// There is no goroutine, clock, I/O or lock here, and no knowledge of
// connections: the caller says when one was lost and what the reconnect brought.
package reconcile
