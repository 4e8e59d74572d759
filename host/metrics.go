package host

import "github.com/prometheus/client_golang/prometheus"

// metrics are the counters of one host. None carries a payload or an id.
type metrics struct {
	registry      *prometheus.Registry
	connections   prometheus.Gauge
	messagesIn    prometheus.Counter
	messagesOut   prometheus.Counter
	bytesIn       prometheus.Counter
	bytesOut      prometheus.Counter
	accepted      prometheus.Counter
	rejected      prometheus.Counter
	panics        prometheus.Counter
	waits         prometheus.Counter
	violations    prometheus.Counter
	rebases       prometheus.Counter
	dropped       *prometheus.CounterVec
	closes        *prometheus.CounterVec
	reconnects    *prometheus.CounterVec
	released      prometheus.Counter
	storeFailures prometheus.Counter
	retired       prometheus.Counter
	loads         *prometheus.CounterVec
	saves         *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry:      prometheus.NewRegistry(),
		connections:   gauge("connections", "Connections open now."),
		messagesIn:    counter("messages_received_total", "Messages received."),
		messagesOut:   counter("messages_sent_total", "Messages sent."),
		bytesIn:       counter("received_bytes_total", "Bytes of messages received."),
		bytesOut:      counter("sent_bytes_total", "Bytes of messages sent."),
		accepted:      counter("actions_accepted_total", "Client actions accepted."),
		rejected:      counter("actions_rejected_total", "Client actions rejected."),
		panics:        counter("panics_total", "Panics contained."),
		waits:         counter("journal_waits_total", "Times an action waited because the store is behind."),
		violations:    counter("window_violations_total", "Times a client broke a rule of windowed delivery."),
		rebases:       counter("window_snapshots_total", "Times a windowed subscriber got a snapshot because the log had passed it."),
		dropped:       counters("dropped_total", "Messages of clients that were dropped without an answer.", "reason"),
		closes:        counters("closes_total", "Connections ended.", "cause"),
		reconnects:    counters("reconnects_total", "Reconnects answered.", "by"),
		storeFailures: counter("store_failures_total", "Times the store refused what it was given, or a sync failed."),
		retired:       counter("sessions_retired_total", "Sessions removed because of their age or size."),
		released:      counter("channels_released_total", "Idle channels that left memory."),
		loads:         counters("channel_loads_total", "Channels read from the journal.", "result"),
		saves:         counters("channel_saves_total", "States of channels saved in the journal.", "result"),
	}
	m.registry.MustRegister(m.connections, m.messagesIn, m.messagesOut, m.bytesIn, m.bytesOut,
		m.accepted, m.rejected, m.panics, m.waits, m.violations, m.rebases, m.dropped, m.closes, m.reconnects, m.storeFailures, m.retired, m.released, m.loads, m.saves)
	return m
}

const namespace = "causeway"

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counters(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label})
}

func (m *metrics) received(bytes int) {
	m.messagesIn.Inc()
	m.bytesIn.Add(float64(bytes))
}

func (m *metrics) sent(batch [][]byte) {
	total := 0
	for _, msg := range batch {
		total += len(msg)
	}
	m.messagesOut.Add(float64(len(batch)))
	m.bytesOut.Add(float64(total))
}

// Metrics is where the host's counters can be gathered, and where the parts
// around it add theirs.
func (h *Host) Metrics() *prometheus.Registry { return h.metrics.registry }
