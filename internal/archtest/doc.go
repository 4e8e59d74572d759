// Package archtest holds the table of who may import whom and a test that
// compares it with the real imports. A new edge is a decision: it goes into the
// table with its reason, or it does not go in at all.
package archtest
