// Package endpoint is the front door of a host: it listens, decides who may come
// in, upgrades to WebSocket and hands the connection to the host together with
// its principal.
//
// On the path of a byte it stands between the socket and package host, but only
// for the first request of a connection; afterwards messages pass it by.
//
//	GET /         WebSocket upgrade
//	GET /healthz  200 while the host does what it promises, else 503; open to everybody
//	GET /livez    503 when only a restart would help, else 200; open to everybody
//	GET /metrics  Prometheus text; the same access rules as /
//	GET /debug/pprof/  profiles, if they are on; the owner's, on this machine only
//
// The answers of /healthz and /livez are JSON objects with status, ok or failing, and
// the checks that fail. /healthz adds numbers for those who could connect.
//
// # Who may come in
//
// Checked in this order, each refusal being HTTP 403 (AHP core, 1, access
// control belongs to the transport):
//
//  1. Host must be localhost, a loopback address, the address the connection
//     arrived at, or a name from Options.AllowHosts. A name that was made to
//     resolve to loopback (DNS rebinding) is none of these. A Unix socket has no
//     such name, so the check is left out there.
//  2. Origin, which browsers always send and native clients never do, must be
//     the endpoint's own scheme, host and port, or stand in
//     Options.AllowOrigins; also from loopback, also with tokens off. It is
//     compared byte for byte with the canonical form browsers send.
//  3. A token, as ?tkn=, ?token= or Authorization: Bearer, names its principal.
//     Several different ones, or a wrong one, are refused even where none is
//     needed; with tokens off nothing is wrong. Without a token the principal is
//     host.Local on a Unix socket, the common name of a verified client
//     certificate, or host.Local again when tokens are off.
//
// Invariants:
//
//   - Nothing of a query string or an Authorization header is logged or repeated
//     in an answer.
//   - Tokens are compared as SHA-256 digests in constant time, all of them each
//     time.
//   - Every connection's goroutine is waited for in Shutdown.
//
// It does not make tokens, open listeners, terminate TLS (a listener that does
// is handed in) or decide what a principal may do (host.Policy).
package endpoint
