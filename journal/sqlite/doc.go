// Package sqlite keeps the journal in one SQLite file: what happened, the state
// of every channel as of some number, and the clients that may return.
//
// On the path of a byte it stands behind package journal, whose writer gives it
// groups of records; the host gives it images of channels and reads them back.
// The file belongs to one process that writes; others may read it meanwhile.
//
// Invariants:
//
//   - A group is one transaction: all of it is there after a crash, or nothing.
//   - A number is handed out only from a block whose end is on the disk, synced.
//     A process that finds no orderly end goes on behind the block.
//   - What was written has a checksum. What does not match is an error to who
//     asked; it is never passed on, taken for empty, or deleted.
//   - An action goes only when an image holds what it did and the replay ring
//     has moved on.
//   - A failed transaction leaves nothing behind, in the file or in memory.
//
// How durable. The file is in WAL mode with synchronous=NORMAL: a transaction is
// in the file, and so survives the death of the process, when Write returns; it
// survives the loss of power from the next Sync on. OFF would save only the two
// syncs of each checkpoint, which do not hold the writer up here, and could
// leave a broken file behind a loss of power. With Options.Always each
// transaction is synced.
//
// The package decides nothing about states: it does not know what is in them.
package sqlite
