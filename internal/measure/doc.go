// Package measure holds what the benchmarks of this module share: figures with
// their goals and their spread over rounds, percentiles, the processor time of this
// process, a description of the machine, and tables of it all, for people, for
// scripts and as a dated page. It knows nothing of what is measured.
//
// A report travels between processes as lines of JSON: a head, then a figure a
// line. [Report.Collect] runs a program that prints one and takes its figures over.
package measure
