// Package websocket carries messages as WebSocket text frames (RFC 6455), host
// and client side (AHP core, 1 "Transport").
//
// It stands between a socket and package jsonrpc. Upgrading, header checks and
// masking are those of github.com/gobwas/ws; reading and writing are our own,
// because that loop decides the cost of relaying: a batch of small messages
// leaves in one system write, and an idle connection keeps half a kilobyte of
// buffer.
//
// Invariants:
//
//   - The write token (Conn.wtok) covers whole messages, so that nothing ever
//     stands inside a message of ours, and no bytes follow our close frame.
//   - Reading never waits for writing: a pong is left in a mailbox of one for
//     whoever holds the token, or for a goroutine of its own.
//   - Whoever records the first cause (Conn.end) owns the ending: it exchanges
//     close frames where that makes sense and drops the socket.
//   - Tokens are channels: every wait for one has a way out, and tests may run
//     in a testing/synctest bubble.
//
// Goroutines of a connection: none while idle. Pongs and keep-alive run on
// goroutines that exist for one step; Close waits for them.
//
// Left out on purpose: compression (it would cost memory for each connection
// and mix secrets with a peer's text), subprotocols, binary messages, and any
// opinion about Origin, Host or tokens: the caller of Upgrade decides first.
package websocket
