// Package telemetry shows what the host does to whoever watches: its logs, the spans
// of turns and tool calls, and its metrics, as OTLP/JSON on channels of the scheme
// ahp-otlp: (AHP core, 3; AHP channels, 3.3). A client passes them on to a collector as
// they are.
//
// It stands beside everything else. The log handler it wraps, the observer of actions
// and the registry of metrics feed it; nothing waits for it, and while nobody
// subscribes nothing is made. Messages take no number, are in no journal and are not
// replayed. They are queued as what clients send each other is: behind a client that
// does not read they are dropped and counted.
//
// Logs and spans carry ids, never payloads, because nothing else reaches them.
package telemetry
