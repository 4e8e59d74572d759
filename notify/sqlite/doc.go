// Package sqlite keeps the engine's records in one SQLite file, notify.db, that
// several processes may share: a host and any number of gateways.
//
// It implements notify.Store. Every table has the same columns, so that anybody
// can look into the file with the sqlite3 program; the document is JSON.
//
// Invariants:
//
//   - Update returns after the write-ahead log was synced: what was promised
//     survives the loss of power.
//   - Updates of one process that come together share a transaction and a sync;
//     each stands in a savepoint of its own, so one that fails takes nothing of
//     the others away.
//   - One goroutine of a process writes. Between processes SQLite's lock
//     decides, with a bound on the wait.
//
// It knows nothing of what the records mean.
package sqlite
