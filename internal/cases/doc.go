// Package cases holds tests of the whole stack, each named after what must hold
// where software like ours has failed in public: real frames over a simulated
// network, the real host, real features, the real client. docs/CASES.md lists
// every such failure with the test that rules it out.
package cases
