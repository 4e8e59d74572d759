// Package ahp is the vocabulary of the Agent Host Protocol: the state of each
// channel, the actions that change it, the params and results of commands and
// notifications, error codes, URIs and versions.
//
// It stands at the bottom of the path of a byte: everybody speaks these words
// and no word knows who speaks it. The form kept here is the canonical one
// (protocol 1.1); older peers are converted at the edge of the host.
//
// Invariants:
//
//   - Values are immutable once shared. Reducers copy what they change, so a
//     state may be read by any number of goroutines without a lock.
//   - Members a build does not know survive decoding and encoding: every object
//     type keeps them in its Extra field, every union keeps a variant it does
//     not know whole.
//   - Absent, empty and zero are three things. An optional scalar is a pointer,
//     an optional list is nil when absent and empty when present and empty.
//   - An absent optional member is never written as null.
//
// The package does no I/O, holds no goroutine and knows neither transport nor
// sequence: numbers are given out by package host.
package ahp
