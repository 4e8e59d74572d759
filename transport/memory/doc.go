// Package memory carries messages between two ends in one process: for tests,
// which may run in a testing/synctest bubble, and for a host embedded in its
// client (AHP core, 1 "Transport" names in-process channels as a binding).
//
// It takes the place of transport/websocket and behaves like it where a user
// could tell: messages are copied, limits and UTF-8 are those of the reading
// end, a close carries its code and arrives behind what was written before.
//
// Invariants:
//
//   - Each direction is bounded in messages and in bytes. Writing waits at the
//     bound; nothing is dropped.
//   - No lock is held while waiting, and nothing here starts a goroutine or
//     looks at a clock.
//
// There is no write timeout: a peer in the same process that does not read is
// a fault of the program and not of a network.
package memory
