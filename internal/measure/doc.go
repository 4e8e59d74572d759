// Package measure holds what the benchmarks of the command line share: figures
// with their goals, percentiles, the processor time of this process, and a table
// of it all. It knows nothing of what is measured.
package measure
