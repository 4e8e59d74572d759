package host

import (
	"errors"

	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/internal/limit"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/prometheus/client_golang/prometheus"
)

// Names of the limits that the code counts by. The other rows name the metric that
// counts them already.
const (
	limitDepth         = "message-depth"
	limitValues        = "message-values"
	limitHandshake     = "handshake-timeout"
	limitGrace         = "reconnect-grace"
	limitRemembered    = "remembered-clients"
	limitOutboxBytes   = "outbox-bytes"
	limitOutboxCount   = "outbox-messages"
	limitRelayBytes    = "relay-bytes"
	limitRelayCount    = "relay-messages"
	limitRelayPatience = "relay-patience"
	limitSubscriptions = "subscriptions-per-connection"
	limitEffects       = "effects-per-channel"
	limitInFlight      = "requests-in-flight"
	limitEncodings     = "snapshot-encodings"
	limitBacklog       = "journal-backlog-bytes"
	limitObservers     = "observer-backlog"
	limitStall         = "store-stall"
	limitSessions      = "sessions"
	limitChats         = "chats-per-session"
	limitPage          = "sessions-page"
	limitTurns         = "turns-page"
	limitWindow        = "window-bytes"
	limitFrame         = "window-frame-bytes"
	limitWindowText    = "window-text-bytes"
	limitJoin          = "reassembly-bytes"
	limitJoinConn      = "reassembly-connection-bytes"
	limitFlush         = "shutdown-flush"
)

// Rows are the limits as rows of the table of all limits, over the fields of l.
func (l *Limits) Rows() []limit.Row {
	return append(l.connectionRows(), append(l.stateRows(), l.windowRows()...)...)
}

// What the grammar of messages allows is the same for every hop.
var maxDepth, maxValues = jsonrpc.MaxDepth, jsonrpc.MaxValues

func (l *Limits) connectionRows() []limit.Row {
	return []limit.Row{
		{Name: limitDepth, Value: &maxDepth, Fixed: true, Unit: "levels", Bounds: "nesting of a message of a client", Policy: "error InvalidRequest, then close 1009 `too-large`", Field: "jsonrpc.MaxDepth", Source: "AHP core, 17, 20"},
		{Name: limitValues, Value: &maxValues, Fixed: true, Unit: "values", Bounds: "values of a message of a client, containers and all they hold", Policy: "error InvalidRequest, then close 1009 `too-large`", Field: "jsonrpc.MaxValues", Source: "AHP core, 17, 20"},
		{Name: limitHandshake, Value: &l.HandshakeTimeout, Bounds: "from a connection's start to the end of its handshake", Policy: "close 1008 `handshake`", Field: "host.Limits.HandshakeTimeout", Source: "AHP core, 17, 1"},
		{Name: limitGrace, Value: &l.ReconnectGrace, Bounds: "how long a lost client is remembered", Policy: "forgotten; its reconnect is answered NotFound", Field: "host.Limits.ReconnectGrace", Source: "AHP core, 17, 5"},
		{Name: limitRemembered, Value: &l.RememberedClients, Unit: "clients", Bounds: "lost clients that are remembered", Policy: "the longest lost is forgotten; its reconnect is answered NotFound", Field: "host.Limits.RememberedClients", Source: "own"},
		{Name: limitOutboxBytes, Value: &l.OutboxBytes, Unit: limit.Bytes, Bounds: "what waits for one connection", Policy: "close 1013 `overflow`; the client reconnects", Field: "host.Limits.OutboxBytes", Source: "AHP core, 17, 14"},
		{Name: limitOutboxCount, Value: &l.OutboxMessages, Unit: "messages", Bounds: "messages that wait for one connection", Policy: "close 1013 `overflow`; the client reconnects", Field: "host.Limits.OutboxMessages", Source: "AHP core, 17, 14"},
		{Name: limitRelayBytes, Value: &l.RelayBytes, Unit: limit.Bytes, Bounds: "what other clients sent and waits for one connection", Policy: "the newest notification is dropped, a call answered -31012", Field: "host.Limits.RelayBytes", Source: "AHP core, 15.6"},
		{Name: limitRelayCount, Value: &l.RelayMessages, Unit: "messages", Bounds: "messages of other clients that wait for one connection", Policy: "the newest notification is dropped, a call answered -31012", Field: "host.Limits.RelayMessages", Source: "AHP core, 15.6"},
		{Name: limitRelayPatience, Value: &l.RelayPatience, Bounds: "how long that may stay full", Policy: "close 1013 `overflow` of the recipient", Field: "host.Limits.RelayPatience", Source: "AHP core, 15.6"},
		{Name: limitSubscriptions, Value: &l.SubscriptionsPerConn, Unit: "subscriptions", Bounds: "subscriptions of one connection", Policy: "error InvalidParams", Field: "host.Limits.SubscriptionsPerConn", Source: "own"},
		{Name: limitInFlight, Value: &l.RequestsInFlight, Unit: "requests", Bounds: "requests of one connection that are being handled", Policy: "the reader waits", Field: "host.Limits.RequestsInFlight", Source: "AHP core, 17, 25"},
		{Name: limitFlush, Value: &l.ShutdownFlush, Bounds: "how long a connection that ends in order may take to read the rest", Policy: "close, with what it did not read lost", Field: "host.Limits.ShutdownFlush", Source: "own"},
	}
}

func (l *Limits) stateRows() []limit.Row {
	const replays = `causeway_reconnects_total{by="snapshot"}`
	return []limit.Row{
		{Name: limitEffects, Value: &l.EffectsPerChannel, Unit: "actions", Bounds: "accepted actions of one channel whose effects have not begun", Policy: "the action is rejected as busy", Field: "host.Limits.EffectsPerChannel", Source: "own"},
		{Name: limitEncodings, Value: &l.SnapshotEncodings, Unit: "snapshots", Bounds: "snapshots encoded at a time", Policy: "the writers of further ones wait", Field: "host.Limits.SnapshotEncodings", Source: "own"},
		{Name: "replay-bytes", Value: &l.ReplayBytes, Unit: limit.Bytes, Bounds: "a replay that is sent whatever the size of the state", Policy: "a larger one only up to four times the states; beyond, snapshots", Counter: replays, Field: "host.Limits.ReplayBytes", Source: "own"},
		{Name: "ring-records", Value: &l.RingRecords, Unit: "actions", Bounds: "actions kept in memory for reconnects", Policy: "the oldest leave; a reconnect from before gets snapshots", Counter: replays, Field: "host.Limits.RingRecords", Source: "AHP core, 17, 12"},
		{Name: "ring-bytes", Value: &l.RingBytes, Unit: limit.Bytes, Bounds: "the memory of these", Policy: "the oldest leave; a reconnect from before gets snapshots", Counter: replays, Field: "host.Limits.RingBytes", Source: "AHP core, 17, 12"},
		{Name: limitBacklog, Value: &l.JournalBacklogBytes, Unit: limit.Bytes, Bounds: "what the store has not taken yet", Policy: "who causes more waits: agents, and the readers of clients", Field: "host.Limits.JournalBacklogBytes", Source: "own"},
		{Name: limitObservers, Value: &l.ObserverBacklog, Unit: "actions", Bounds: "committed actions that features are still to be told of", Policy: "who causes more waits: agents, and the readers of clients", Field: "host.Limits.ObserverBacklog", Source: "own"},
		{Name: limitStall, Value: &l.StoreStall, Bounds: "how long a store may refuse everything", Policy: "close 1013 `store` of the connections that wait for it", Field: "host.Limits.StoreStall", Source: "own"},
		{Name: "idle-time", Value: &l.IdleTime, Bounds: "how long a channel nobody needs stays in memory", Policy: "it leaves memory, and is read again when it is asked for", Counter: "causeway_channels_released_total", Field: "host.Limits.IdleTime", Source: "own"},
		{Name: limitSessions, Value: &l.Sessions, Unit: "sessions", Bounds: "sessions of the host", Policy: "error InternalError that says so", Field: "host.Limits.Sessions", Source: "own"},
		{Name: limitChats, Value: &l.ChatsPerSession, Unit: "chats", Bounds: "chats of one session", Policy: "error InternalError that says so", Field: "host.Limits.ChatsPerSession", Source: "own"},
		{Name: limitPage, Value: &l.PageSize, Unit: "sessions", Bounds: "a page of listSessions", Policy: "a shorter page and a cursor", Field: "host.Limits.PageSize", Source: "AHP core, 9"},
		{Name: limitTurns, Value: &l.TurnsPage, Unit: "turns", Bounds: "a page of fetchTurns", Policy: "a shorter page and a cursor", Field: "host.Limits.TurnsPage", Source: "AHP core, 9"},
	}
}

func (l *Limits) windowRows() []limit.Row {
	return []limit.Row{
		{Name: limitWindow, Value: &l.WindowBytes, Unit: limit.Bytes, Bounds: "what a client may send on a windowed subscription before it is released", Policy: "close 1008 `flow-control`", Field: "host.Limits.WindowBytes", Source: "AHP core, 12.1"},
		{Name: limitFrame, Value: &l.WindowFrameBytes, Unit: limit.Bytes, Bounds: "one message on a windowed subscription", Policy: "close 1008 `flow-control`", Field: "host.Limits.WindowFrameBytes", Source: "AHP core, 12.1"},
		{Name: "window-lag-bytes", Value: &l.WindowLagBytes, Unit: limit.Bytes, Bounds: "how far a channel's log may run ahead of a windowed subscriber, unless its snapshot is larger", Policy: "a new snapshot", Counter: "causeway_window_snapshots_total", Field: "host.Limits.WindowLagBytes", Source: "AHP core, 12.5"},
		{Name: limitWindowText, Value: &l.WindowTextBytes, Unit: limit.Bytes, Bounds: "messages of all connections that leave in frames and have not left whole", Policy: "close 1013 `overflow` of the connection that stood still longest", Field: "host.Limits.WindowTextBytes", Source: "own"},
		{Name: limitJoin, Value: &l.ReassemblyBytes, Unit: limit.Bytes, Bounds: "a message in frames", Policy: "close 1008 `flow-control`", Field: "host.Limits.ReassemblyBytes", Source: "AHP core, 17, 21"},
		{Name: limitJoinConn, Value: &l.ReassemblyConnBytes, Unit: limit.Bytes, Bounds: "all that one connection has not completed", Policy: "close 1008 `flow-control`", Field: "host.Limits.ReassemblyConnBytes", Source: "AHP core, 17, 21"},
	}
}

// LimitRows are the limits of the host and its features, for reading.
func (h *Host) LimitRows() []limit.Row { return append(h.limits.Rows(), h.registry.limits...) }

// Limits declares the limits of a feature. The host counts what LimitReached is told.
func (r *Registry) Limits(rows []limit.Row) { r.limits = append(r.limits, rows...) }

// LimitReached counts that a limit was reached, by its name in the table.
func (h *Host) LimitReached(name string) { h.limitHits.WithLabelValues(name).Inc() }

// countLimits shows every limit that is counted by its name, from nothing on.
func (h *Host) countLimits() {
	h.limitHits = prometheus.NewCounterVec(prometheus.CounterOpts{Name: limit.Hits, Help: "Times a limit was reached, see docs/LIMITS.md."}, []string{"limit"})
	for _, r := range h.LimitRows() {
		if r.Counter == "" {
			h.limitHits.WithLabelValues(r.Name)
		}
	}
	h.relayHits = relayHits{h.limitHits.WithLabelValues(limitRelayBytes), h.limitHits.WithLabelValues(limitRelayCount)}
	h.metrics.registry.MustRegister(h.limitHits)
}

// overrun ends a connection for which too much waits.
func (c *Conn) overrun() {
	if c.ctx.Err() != nil {
		return // once is enough
	}
	switch {
	case c.out.count.Load() > c.out.maxCount:
		c.h.LimitReached(limitOutboxCount)
	default:
		c.h.LimitReached(limitOutboxBytes)
	}
	c.fail(CloseOverflow, nil)
}

// waits counts that the reader waits for requests to finish.
func (c *Conn) waits() { c.h.LimitReached(limitInFlight) }

// relayOverrun ends a connection that has not read what others sent for too long.
func (c *Conn) relayOverrun() {
	if c.out.bytes.Load() > c.out.maxBytes || c.out.count.Load() > c.out.maxCount {
		c.overrun()
		return
	}
	c.h.LimitReached(limitRelayPatience)
	c.fail(CloseOverflow, nil)
}

// refused is why a connection ends whose message was no good, and counts the limit if
// it was one.
func (h *Host) refused(err error) CloseCause {
	switch {
	case errors.Is(err, jsonrpc.ErrTooDeep):
		h.LimitReached(limitDepth)
	case errors.Is(err, jsonrpc.ErrTooManyValues):
		h.LimitReached(limitValues)
	default:
		return CloseMalformed
	}
	return CloseTooLarge
}

// breached counts a rule of windowed delivery that a client broke, and the limit if it
// was one.
func (h *Host) breached(err error) {
	h.metrics.violations.Inc()
	switch {
	case errors.Is(err, errJoined):
		h.LimitReached(limitJoinConn)
	case errors.Is(err, flow.MessageTooLarge):
		h.LimitReached(limitJoin)
	case errors.Is(err, flow.WindowExceeded):
		h.LimitReached(limitWindow)
	case errors.Is(err, flow.FrameTooLarge):
		h.LimitReached(limitFrame)
	}
}
