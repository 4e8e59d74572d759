// Package metric holds what the path of a byte is measured with: histograms that
// cost two atomic additions, and a table of counters by name that costs one, in
// memory of whoever counts.
//
// Both are collectors of Prometheus, so they are registered beside its own counters
// and gauges, which are good enough wherever it is not every message that counts.
//
// Invariants:
//
//   - Observe and Add take no lock and allocate nothing.
//   - The names of a table are fixed when it is made: nothing a peer sends adds one.
//   - A counter never falls.
//   - What is read is each counter's value at some moment; all of them together are not
//     of one moment.
//
// It names no metric and reads no clock.
package metric
