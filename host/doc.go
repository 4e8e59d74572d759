// Package host is the engine: it takes connections, knows who they are, orders
// every action, keeps the state of every channel and tells each subscriber.
//
// On the path of a byte it is the middle: a message comes from a transport
// through jsonrpc, is authorised and routed here, goes through the sequencer
// into its channel's log and the journal, and leaves through the outbox of
// every connection that subscribed. Nothing calls back up; what must return is
// a new message.
//
// Invariants:
//
//   - The sequencer's lock is the only door to channel state. Under it run pure
//     validators, reducers and mirrors, and appending; no I/O, no feature's
//     lock, no encoding of a whole state.
//   - A snapshot and its subscription are one step: no gap, no duplicate.
//   - Every connection sees ascending serverSeq across its subscriptions, and
//     everything else in the order in which it came about.
//   - Nothing is sent before the journal's committed mark has reached it.
//   - (lineage, clientSeq) is applied at most once.
//   - A slow reader costs itself its connection and nobody else anything.
//
// What a channel means is the business of features (package feature/...), which
// declare requests, schemes and hooks. The host itself serves the root channel
// and keeps all mirrors: the session list, summaries and chat summaries.
package host
