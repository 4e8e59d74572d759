package host

import (
	"time"

	"github.com/causeway-ahp/causeway/host/compat"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/prometheus/client_golang/prometheus"
)

// gauges shows what the host holds at the moment somebody looks. Nothing is kept for it
// meanwhile.
type gauges struct {
	h *Host

	connections, outboxMessages, outboxBytes, outboxMessagesMax, outboxBytesMax *prometheus.Desc
	relayMessages, relayBytes, relayMessagesMax, windowText, requests, calls    *prometheus.Desc
	channels, loaded, unsaved, clients, effects, observed, seq, sequencerWait   *prometheus.Desc
	pending, pendingBytes, lag, ring, ringBytes, failing                        *prometheus.Desc
}

// scrapeWait is how long whoever reads the gauges waits for the sequencer. Without it
// what it alone knows is left out.
const scrapeWait = time.Second

func newGauges(h *Host) *gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
	}
	return &gauges{
		h:                 h,
		connections:       desc("connections", "Connections open now, by the protocol versions they speak, none before the handshake, and carrier.", "version", "transport"),
		outboxMessages:    desc("outbox_messages", "Messages that wait in the outboxes of all connections."),
		outboxBytes:       desc("outbox_bytes", "Bytes that wait in the outboxes of all connections."),
		outboxMessagesMax: desc("outbox_largest_messages", "Messages in the outbox that has the most of them."),
		outboxBytesMax:    desc("outbox_largest_bytes", "Bytes in the outbox that has the most of them."),
		relayMessages:     desc("relay_queue_messages", "Messages of other clients that wait, of those in all outboxes."),
		relayBytes:        desc("relay_queue_bytes", "Bytes of messages of other clients that wait, of those in all outboxes."),
		relayMessagesMax:  desc("relay_queue_largest_messages", "Messages of other clients in the outbox that has the most of them."),
		windowText:        desc("window_text_bytes", "Bytes of messages that leave in frames and have not left whole."),
		requests:          desc("requests_in_flight", "Requests of clients without an answer."),
		calls:             desc("client_calls_in_flight", "Requests to clients without an answer."),
		channels:          desc("channels", "Channels that exist, by kind: sessions, chats, and so on.", "kind"),
		loaded:            desc("channels_loaded", "Channels in memory, by kind.", "kind"),
		unsaved:           desc("channels_unsaved", "Channels that changed since the journal had an image of them."),
		clients:           desc("clients_away", "Clients without a connection that may still reconnect."),
		effects:           desc("effects_waiting", "Accepted actions whose effects have not begun."),
		observed:          desc("observers_waiting", "Committed actions that features are still to be told of."),
		seq:               desc("server_seq", "The last number given to an action."),
		sequencerWait:     desc("sequencer_wait_seconds", "How long this reading waited for the sequencer's lock, at most a second."),
		pending:           desc("journal_pending_records", "Records that are ordered and not yet committed."),
		pendingBytes:      desc("journal_pending_bytes", "Bytes of the records that are not yet committed."),
		lag:               desc("journal_lag_seconds", "How long the oldest record has waited that is not yet committed; 0 without one."),
		ring:              desc("journal_ring_records", "Actions kept in memory for reconnects."),
		ringBytes:         desc("journal_ring_bytes", "Bytes of the actions kept in memory for reconnects."),
		failing:           desc("journal_failing", "1 while the store refuses what it is given, else 0."),
	}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		g.connections, g.outboxMessages, g.outboxBytes, g.outboxMessagesMax, g.outboxBytesMax, g.relayMessages, g.relayBytes,
		g.relayMessagesMax, g.windowText, g.requests, g.calls, g.channels, g.loaded, g.unsaved, g.clients, g.effects, g.observed, g.seq,
		g.sequencerWait, g.pending, g.pendingBytes, g.lag, g.ring, g.ringBytes, g.failing,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	show := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	g.showConnections(show)
	g.showSequencer(show)
	g.showJournal(show)
}

// queues is what waits in the outboxes.
type queues struct {
	messages, bytes, messagesMax, bytesMax int64
	relayed, relayedBytes, relayedMax      int64
	requests, calls                        int
}

func (q *queues) add(c *Conn) {
	n, size := c.out.count.Load(), c.out.bytes.Load()
	q.messages, q.bytes = q.messages+n, q.bytes+size
	q.messagesMax, q.bytesMax = max(q.messagesMax, n), max(q.bytesMax, size)
	c.out.mu.Lock()
	n, size = c.out.relayed.count, c.out.relayed.bytes
	c.out.mu.Unlock()
	q.relayed, q.relayedBytes, q.relayedMax = q.relayed+n, q.relayedBytes+size, max(q.relayedMax, n)
	stats := c.rpc.Stats()
	q.requests, q.calls = q.requests+stats.Requests, q.calls+stats.Calls
}

// unknownVersion is the label of a connection before its handshake.
const unknownVersion = "none"

type connKind struct{ version, transport string }

// showConnections shows also what there is none of, so that a series does not end with
// its last connection.
func (g *gauges) showConnections(show func(*prometheus.Desc, float64, ...string)) {
	g.h.mu.Lock()
	conns := g.h.connsLocked()
	g.h.mu.Unlock()
	kinds := make(map[connKind]int)
	for _, t := range []transport.Kind{transport.KindWebSocket, transport.KindStdio} {
		kinds[connKind{unknownVersion, string(t)}] = 0
		for d := range compat.Dialect(compat.Dialects) {
			kinds[connKind{d.String(), string(t)}] = 0
		}
	}
	var q queues
	for _, c := range conns {
		version := unknownVersion
		if c.live.Load() {
			version = c.dialect().String()
		}
		kinds[connKind{version, string(c.t.Kind())}]++
		q.add(c)
	}
	for k, n := range kinds {
		show(g.connections, float64(n), k.version, k.transport)
	}
	show(g.outboxMessages, float64(q.messages))
	show(g.outboxBytes, float64(q.bytes))
	show(g.outboxMessagesMax, float64(q.messagesMax))
	show(g.outboxBytesMax, float64(q.bytesMax))
	show(g.relayMessages, float64(q.relayed))
	show(g.relayBytes, float64(q.relayedBytes))
	show(g.relayMessagesMax, float64(q.relayedMax))
	show(g.windowText, float64(g.h.cuts.size()))
	show(g.requests, float64(q.requests))
	show(g.calls, float64(q.calls))
}

func (g *gauges) showSequencer(show func(*prometheus.Desc, float64, ...string)) {
	f, waited, ok := g.h.inspect(scrapeWait)
	show(g.sequencerWait, waited.Seconds())
	show(g.observed, float64(g.h.observers.behind.Load()))
	if !ok {
		return
	}
	for kind, n := range f.channels {
		show(g.channels, float64(n), string(kind))
		show(g.loaded, float64(f.loaded[kind]), string(kind))
	}
	show(g.unsaved, float64(f.unsaved))
	show(g.clients, float64(f.away))
	show(g.effects, float64(f.effects))
	show(g.seq, float64(f.seq))
}

func (g *gauges) showJournal(show func(*prometheus.Desc, float64, ...string)) {
	lag := g.h.journal.Lag()
	age := time.Duration(0)
	if !lag.Since.IsZero() {
		age = time.Since(lag.Since)
	}
	failing := 0.0
	if g.h.Trouble() != nil {
		failing = 1
	}
	records, bytes := g.h.journal.Len()
	show(g.pending, float64(lag.Records))
	show(g.pendingBytes, float64(lag.Bytes))
	show(g.lag, age.Seconds())
	show(g.ring, float64(records))
	show(g.ringBytes, float64(bytes))
	show(g.failing, failing)
}
