// Package mcp gives any MCP server notificationConfig: a caller says where the
// outcome of a tool call must go, and it arrives there although the caller has
// left. It is a thin edge on package notify, which decides and delivers.
//
// It stands between an MCP client and an MCP server, as a gateway in front of a
// server of any make or inside a Go server:
//
//	client -> link or Handler -> server      requests; notificationConfig is taken out
//	client <- link or Handler <- server      responses, progress
//	                  |
//	                notify                   admission, triggers, deliveries
//
// [Gateway] relays over stdio, a process for each client. [Handler] stands before
// the handler of a streamable HTTP server, or before a reverse proxy to one.
// [WithNotifications] wraps the transport of a server made with the Go SDK.
//
// Invariants:
//
//   - What does not concern the feature passes as it came, byte for byte: unknown
//     methods, unknown members, errors, requests of the server to the client. A
//     client that knows nothing of the feature sees a capability more and nothing
//     else.
//   - The server never sees notificationConfig, nor anything of ours in _meta.
//   - A call that is refused has not reached the server. A call that is accepted
//     is in the store before it is acknowledged, and is acknowledged before it
//     reaches the server.
//   - Its outcome is in the store before the client gets the response.
//   - An accepted call outlives its client, unless its configuration says cancel.
//
// It does not run a tool twice, keep results (notify does), or speak any version of
// MCP itself: it relays whichever the two sides agree on.
package mcp
