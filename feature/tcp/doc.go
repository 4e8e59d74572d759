// Package tcp lets clients reach TCP destinations on the host's network through
// their AHP connection: createTcpConnection and the channels it makes (AHP core,
// 13).
//
// It stands at the end of the path of a byte, where a private channel of package
// host meets a socket:
//
//	client -> host.Stream -> Receive -> queue -> writeLoop -> socket
//	client <- host.Stream <- Fill    <- queue <- readLoop  <- socket
//
// Invariants:
//
//   - Only an address that the policy allows is dialled, and the connection is
//     refused when it turns out to lead elsewhere. A name is looked up once; it
//     is the addresses that are judged.
//   - Bytes arrive once and in order, or the connection is visibly reset: an end
//     that is not clean is a reset at the socket (linger 0) and at the client.
//   - What the host accepted before the client's unsubscribe is written, or the
//     destination is reset, within Limits.FinalDrain of its taking the last of it.
//   - Every queue is bounded by the window of its direction: towards the
//     destination by the host's, towards the client by two chunks.
//   - A connection that moves nothing holds no buffer but a small one, and one
//     goroutine.
//   - No address, name or system error goes to the client.
//
// It does not carry UDP, does not accept connections, and knows nothing of
// sessions.
package tcp
