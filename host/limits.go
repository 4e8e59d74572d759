package host

import "time"

// Limits are the bounds of a host. The zero value of a field means its default.
type Limits struct {
	// HandshakeTimeout is how long a connection may take to initialize. Then
	// it is closed (AHP core, 17, 1).
	HandshakeTimeout time.Duration
	// ReconnectGrace is how long a lost client is remembered (17, 5).
	ReconnectGrace time.Duration
	// RememberedClients bounds the lost clients remembered; the longest lost is
	// forgotten first.
	RememberedClients int
	// OutboxBytes and OutboxMessages bound what waits for one connection; over
	// them it is closed and reconnects (17, 14).
	OutboxBytes    int64
	OutboxMessages int64
	// RelayBytes and RelayMessages bound, within that, what other clients sent;
	// over them it is refused. A connection for which they stay reached for
	// RelayPatience is closed (AHP core, 15.6).
	RelayBytes    int64
	RelayMessages int64
	RelayPatience time.Duration
	// BatchBytes is about how much one write takes.
	BatchBytes int
	// SubscriptionsPerConn bounds a connection's subscriptions.
	SubscriptionsPerConn int
	// EffectsPerChannel bounds the effects that wait on a channel; a client
	// action over it is rejected as busy.
	EffectsPerChannel int
	// RequestsInFlight bounds the requests of one connection being handled;
	// at the bound the reader waits (17, 25).
	RequestsInFlight int
	// SnapshotEncodings bounds the snapshots being encoded at a time.
	SnapshotEncodings int
	// ReplayBytes is up to where a reconnect is answered by replay whatever the
	// size of the state; beyond, replay is chosen only when it is not several
	// times larger than the snapshots.
	ReplayBytes int
	// RingRecords and RingBytes bound the replay ring (17, 12).
	RingRecords int
	RingBytes   int
	// JournalBacklogBytes bounds what the store has not taken yet. Beyond it
	// those who cause more wait: agents, and the readers of clients.
	JournalBacklogBytes int64
	// ObserverBacklog bounds the actions that wait for observers. Beyond it those who
	// cause more wait as they do for the store.
	ObserverBacklog int
	// StoreStall is how long a store may refuse everything before the
	// connections that wait for it are closed.
	StoreStall time.Duration
	// IdleTime is how long a channel of a host with an archive stays in memory
	// when nobody needs it.
	IdleTime time.Duration
	// Sessions and ChatsPerSession bound what clients can create.
	Sessions        int
	ChatsPerSession int
	// PageSize is the default and the largest page of listSessions; TurnsPage
	// that of fetchTurns.
	PageSize  int
	TurnsPage int
	// WindowBytes and WindowFrameBytes are what the host is ready to receive on
	// a windowed subscription, and the most it uses of what a client is; in the
	// measure of flow.Size (AHP core, 12.1).
	WindowBytes      int64
	WindowFrameBytes int64
	// WindowLagBytes is how far the log of a channel may run ahead of a windowed
	// subscriber, unless its snapshot is larger. Then it gets a new snapshot.
	WindowLagBytes int64
	// WindowTextBytes bounds the messages of all connections that leave in frames
	// and have not left whole, such as snapshots whose viewers stall. Over it the
	// connection that has stood still for the longest time is closed.
	WindowTextBytes int64
	// ReassemblyBytes bounds a message in frames, and ReassemblyConnBytes all
	// that one connection has not completed (17, 21).
	ReassemblyBytes     int64
	ReassemblyConnBytes int64
	// ShutdownFlush is how long outboxes may take to drain at shutdown.
	ShutdownFlush time.Duration
}

// DefaultLimits are the bounds a host has unless told otherwise.
var DefaultLimits = Limits{
	HandshakeTimeout:     30 * time.Second,
	ReconnectGrace:       15 * time.Minute,
	RememberedClients:    10_000,
	OutboxBytes:          32 << 20,
	OutboxMessages:       65_536,
	RelayBytes:           8 << 20,
	RelayMessages:        1024,
	RelayPatience:        30 * time.Second,
	BatchBytes:           256 << 10,
	SubscriptionsPerConn: 4_096,
	EffectsPerChannel:    256,
	RequestsInFlight:     256,
	SnapshotEncodings:    4,
	ReplayBytes:          256 << 10,
	RingRecords:          16_384,
	RingBytes:            64 << 20,
	JournalBacklogBytes:  64 << 20,
	ObserverBacklog:      10_000,
	StoreStall:           10 * time.Second,
	IdleTime:             2 * time.Minute,
	Sessions:             100_000,
	ChatsPerSession:      1_000,
	PageSize:             200,
	TurnsPage:            50,
	WindowBytes:          4 << 20,
	WindowFrameBytes:     256 << 10,
	WindowLagBytes:       4 << 20,
	WindowTextBytes:      256 << 20,
	ReassemblyBytes:      64 << 20,
	ReassemblyConnBytes:  256 << 20,
	ShutdownFlush:        5 * time.Second,
}

// withDefaults fills in the fields that are zero.
func (l Limits) withDefaults() Limits {
	d := DefaultLimits
	fill(&l.HandshakeTimeout, d.HandshakeTimeout)
	fill(&l.ReconnectGrace, d.ReconnectGrace)
	fill(&l.RememberedClients, d.RememberedClients)
	fill(&l.OutboxBytes, d.OutboxBytes)
	fill(&l.OutboxMessages, d.OutboxMessages)
	fill(&l.RelayBytes, d.RelayBytes)
	fill(&l.RelayMessages, d.RelayMessages)
	fill(&l.RelayPatience, d.RelayPatience)
	fill(&l.BatchBytes, d.BatchBytes)
	fill(&l.SubscriptionsPerConn, d.SubscriptionsPerConn)
	fill(&l.EffectsPerChannel, d.EffectsPerChannel)
	fill(&l.RequestsInFlight, d.RequestsInFlight)
	fill(&l.SnapshotEncodings, d.SnapshotEncodings)
	fill(&l.ReplayBytes, d.ReplayBytes)
	fill(&l.RingRecords, d.RingRecords)
	fill(&l.RingBytes, d.RingBytes)
	fill(&l.JournalBacklogBytes, d.JournalBacklogBytes)
	fill(&l.ObserverBacklog, d.ObserverBacklog)
	fill(&l.StoreStall, d.StoreStall)
	fill(&l.IdleTime, d.IdleTime)
	fill(&l.Sessions, d.Sessions)
	fill(&l.ChatsPerSession, d.ChatsPerSession)
	fill(&l.PageSize, d.PageSize)
	fill(&l.TurnsPage, d.TurnsPage)
	fill(&l.WindowBytes, d.WindowBytes)
	fill(&l.WindowFrameBytes, d.WindowFrameBytes)
	fill(&l.WindowLagBytes, d.WindowLagBytes)
	fill(&l.WindowTextBytes, d.WindowTextBytes)
	fill(&l.ReassemblyBytes, d.ReassemblyBytes)
	fill(&l.ReassemblyConnBytes, d.ReassemblyConnBytes)
	fill(&l.ShutdownFlush, d.ShutdownFlush)
	return l
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
