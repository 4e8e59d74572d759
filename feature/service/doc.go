// Package service lets clients offer services to each other through the host
// (AHP core, 15): a registry, an observable catalogue, notifications without any
// acknowledgement, and calls.
//
// It stands beside the sequencer, not on it. A relayed message goes
//
//	reader of the sender -> scan, look up, ask the policy, stamp -> outbox of the owner
//
// and touches no channel, number or journal. Only the catalogue is a channel,
// volatile and one for each principal.
//
// Invariants:
//
//   - A notification is one message in and at most one out. Nothing is answered,
//     and nothing is kept of it once it has left.
//   - A call settles once. Whoever takes it from the table of pending calls of
//     the owner's connection decides how: an answer, the timeout, a cancel, the end
//     of either connection or of the registration.
//   - What one connection sends to a service leaves in that order, calls and
//     notifications alike: both are queued on its reader.
//   - An id is never used again, so nothing sent to a service that is gone can
//     reach another.
//   - Who may see, notify and call is asked of a Policy for each message, with the
//     principals of both sides. Who may not see a service cannot tell it from one
//     that does not exist.
//   - The catalogue follows the registry by level, not by edge: whoever changes
//     either compares them again (see publish).
//
// It does not decode what it relays, log it, store anything, retry, or know what a
// service is for.
package service
