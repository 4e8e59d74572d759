// Package transfer writes a session of a journal to a file and reads it into
// another journal. The file is JSON Lines; docs/EXPORT.md describes it.
//
// On the path of a byte it stands beside the host: it reads what a host has
// committed, also while that runs, and writes only where no host does.
//
// Invariants:
//
//   - What is exported is the state of every channel as of one moment each, with
//     all turns; a channel that cannot be read fails the export.
//   - An import is whole or not there: the file is read and checked before the
//     first write, and the session appears with the last one.
//   - Nothing that exists is replaced.
package transfer
