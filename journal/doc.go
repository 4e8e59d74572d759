// Package journal keeps the numbered record of everything the host ordered: a
// ring of the newest records for replay, and a store behind it.
//
// On the path of a byte it stands after the sequencer and before the outboxes:
// a record is appended under the sequencer's lock and may be sent once the
// committed mark has reached it.
//
// Invariants:
//
//   - Numbers never fall; those of actions and marks strictly rise.
//   - The committed mark never falls, and never stands above what the store
//     has taken.
//   - Replay is complete or says that it is not; it never skips an action.
//   - The ring holds actions only and is bounded in records and in bytes.
//   - What the store has not taken is counted, and bounded by who appends.
//   - A group that the store refused is tried again, whole and in order, until
//     the journal closes.
//
// The package decides nothing about who may see a record and holds no channel
// state.
package journal
