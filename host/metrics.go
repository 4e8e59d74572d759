package host

import (
	"time"

	"github.com/causeway-ahp/causeway/internal/metric"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the counters of one host. None carries a payload or an id.
type metrics struct {
	registry      *prometheus.Registry
	echo          *metric.Histogram
	hold          *metric.Histogram
	groups        *metric.Histogram
	writes        *metric.Histogram
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
		echo:          metric.Durations(namespace+"_dispatch_echo_seconds", "From reading a client's dispatchAction to having written its echo or rejection."),
		hold:          metric.Durations(namespace+"_sequencer_hold_seconds", "How long the sequencer's lock was held."),
		groups:        metric.Sizes(namespace+"_journal_group_records", "Records of the groups the store was given.", groupBuckets),
		writes:        metric.Durations(namespace+"_journal_write_seconds", "How long the store took for a group, also one it refused."),
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
	for _, cause := range closeCauses {
		m.closes.WithLabelValues(string(cause))
	}
	m.registry.MustRegister(m.echo, m.hold, m.groups, m.writes, m.accepted, m.rejected, m.panics, m.waits, m.violations, m.rebases, m.dropped, m.closes, m.reconnects, m.storeFailures, m.retired, m.released, m.loads, m.saves)
	return m
}

const namespace = "causeway"

// groupBuckets: groups of the journal are told apart up to 65,536 records.
const groupBuckets = 17

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counters(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label})
}

// wrote is told of a group the store was given.
func (m *metrics) wrote(records int, took time.Duration) {
	m.groups.Observe(int64(records))
	m.writes.Observe(int64(took))
}

// Metrics is where the host's counters can be gathered, and where the parts
// around it add theirs.
func (h *Host) Metrics() *prometheus.Registry { return h.metrics.registry }
