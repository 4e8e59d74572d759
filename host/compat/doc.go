// Package compat speaks the older versions of the protocol. The host keeps and
// reduces the canonical form alone; for a client that negotiated an older version
// what it is sent is written in that version's words, and what it sends is read
// in them.
//
// On the path of a byte it stands at both ends of the host: before the sequencer
// for params and dispatched actions, and in the writer for envelopes, snapshots,
// notifications and results.
//
// Everything here is a pure function of encoded JSON. Invariants:
//
//   - A value that an older version writes the same way is returned itself, not a
//     copy.
//   - Unknown members stay. An older client ignores them, and so does the host.
//   - What a version cannot express is left out or, as an action, not sent at all.
//     An own echo and a rejection always can be expressed: their sender wrote them.
//
// The package does not decide which versions are served to whom, and it converts
// no state back: clients send actions, never states.
package compat
