// Command bench measures this program beside others, all of it in one run:
//
//	cd bench && go run . [-quick] [-json] [-markdown ../docs/BENCHMARKS.md]
//
// It builds causeway from the directory above and lets each part measure in a
// process of its own: 'causeway bench' for what has no peer, and the programs
// relay, tcp and sockets of this module for what has one. What a peer needs that is
// not here (sshd) is named in the table as missing.
//
// The module is apart, so that neither the binary nor its go.mod carries the peers.
package main
