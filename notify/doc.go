// Package notify tells the outside how a tool call ended, whatever happens in
// between. A caller names routes, in order of preference, and for which
// triggers each is meant; the engine promises that every call it has
// acknowledged ends in exactly one terminal trigger, and that a trigger a route
// asked for is delivered at least once, or stands in the store as a dead letter.
//
// It stands beside the path of a byte: an edge that sees tool calls (an MCP
// gateway, an AHP feature) hands their beginning and their end to an Engine and
// knows nothing of delivery; a RouteType carries a frozen body to one kind of
// destination and knows nothing of calls. The engine knows neither MCP nor AHP.
//
// An edge that sees single calls goes through
//
//	Engine.Check       shape and route types; before the tool is looked up
//	Engine.Admit       endpoints, quotas, durable record: commit 1
//	Call.Ack           what is acknowledged, before the tool starts
//	Call.Progress      any number of times
//	Call.Finish        outcome and deliveries in one step: commit 2
//
// and an edge that reads a log of what happened installs routes for a scope and
// hands over its log's events:
//
//	Engine.Install     routes for every call in a scope
//	Engine.Fire        one event; its position is committed with its deliveries
//	Engine.Position    where to go on reading after a restart
//
// Invariants:
//
//   - What was promised is in the store before it is promised. Admit and Finish
//     return after a synced commit.
//   - One terminal trigger a call, decided by compare-and-set in the store.
//   - A body is frozen once, after masking. Every attempt, on every route, and
//     every redelivery sends those bytes under the same id.
//   - At most one attempt of a delivery is in flight, and only its owner records
//     it. A process that dies loses its ownership; nobody runs a tool again.
//   - Secrets are held by reference. A Secret formats and encodes as "***".
//   - Every queue has a bound, a policy and a counter: see Limits.
//
// It does not decide who a principal is, does not start or stop tools, and
// listens on nothing. References of the form "notifications, 6.2" are to the
// design of tool-call notification routing, MCP SEP-992.
package notify
