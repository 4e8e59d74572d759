// Package cases holds tests of the whole stack, each named after what must hold
// where software like ours has failed in public: real frames over a simulated
// network, the real host, real features, the real client. docs/CASES.md lists
// every such failure, under the number that the tests give in brackets, with the
// test that rules it out.
//
// The package stands beside the path of a byte, not on it: it has no code but
// tests, and nothing imports it.
//
// Invariants:
//
//   - A test runs in a testing/synctest bubble with a network of internal/simnet,
//     so a goroutine left behind fails it and no test waits for real time. Only
//     what must be a real socket is one.
//   - What a client of another make would send is literal text.
//   - Sizes and counts follow internal/scale.
//
// What a single package can prove alone is proven there and not again here.
package cases
