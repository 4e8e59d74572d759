// Package limit holds what a limit is: its name, where its value stands, what happens
// at it, and how it is read from and shown as text.
//
// Packages that have limits list them as rows over their own struct of bounds, so the
// table cannot name another default than the one in force. The host gathers the rows of
// itself and of its features, counts how often each is reached, and docs/LIMITS.md is
// written from them.
//
// Invariants:
//
//   - A row points to the field that the code reads; there is no second number.
//   - Names are unique within a host, lower case with dashes.
//
// It bounds nothing itself and stands on no path of a byte.
package limit
