// Package socks is the server's side of SOCKS 5 (RFC 1928), as far as forwarding
// needs it: CONNECT without authentication, to a name or an address of either
// family. Names are handed on as they came: who dials resolves them.
//
// It stands at the near end of the path of a byte, between a program's socket and
// a TCP channel. [Accept] reads the request, the caller dials, [Reply] tells the
// program how that ended, and the connection is the program's.
//
// Invariants:
//
//   - Accept reads no byte beyond the request: what follows is data.
//   - At most 519 bytes are read before a decision, whatever is sent.
//   - A request that cannot be served has been answered when Accept returns.
//
// It keeps no time: the caller sets a deadline. BIND, UDP ASSOCIATE,
// authentication and SOCKS 4 are refused.
package socks
