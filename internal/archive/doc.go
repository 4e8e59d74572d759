// Package archive is what every journal.Archive must do, as a test that each
// store runs. It serves tests only.
package archive
