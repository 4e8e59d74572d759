package notify

import "github.com/prometheus/client_golang/prometheus"

// metrics are the counters of an engine. None carries an id, an endpoint or
// anything of a payload.
type metrics struct {
	configs        *prometheus.CounterVec
	triggers       *prometheus.CounterVec
	deliveries     *prometheus.CounterVec
	attempts       *prometheus.CounterVec
	noRoute        *prometheus.CounterVec
	dead           *prometheus.CounterVec
	failovers      prometheus.Counter
	interrupted    prometheus.Counter
	parked         prometheus.Counter
	evicted        prometheus.Counter
	commitFailures prometheus.Counter
	queued         prometheus.Gauge
	latency        prometheus.Histogram
	toDelivered    prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		configs:        vec("configurations_total", "Configurations, accepted or by the reason of their refusal.", "result"),
		triggers:       vec("triggers_total", "Triggers of calls with a configuration.", "trigger"),
		deliveries:     vec("deliveries_total", "Notifications that came to their end.", "state"),
		attempts:       vec("attempts_total", "Attempts.", "type", "class"),
		noRoute:        vec("no_route_total", "Triggers without a route.", "outcome"),
		dead:           vec("dead_letters_total", "Dead letters.", "reason"),
		failovers:      single("failovers_total", "Notifications that went on with another route."),
		interrupted:    single("interrupted_calls_total", "Calls that ended because their process was gone."),
		parked:         single("parked_total", "Notifications given back to the store because the queue was full."),
		evicted:        single("dead_letters_evicted_total", "Dead letters removed because a principal had too many."),
		commitFailures: single("commit_failures_total", "Commits the store refused."),
		queued:         prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "causeway", Subsystem: "notify", Name: "queued", Help: "Notifications held in memory."}),
		latency:        histogram("attempt_seconds", "How long attempts took."),
		toDelivered:    histogram("delivered_seconds", "From trigger to delivery."),
	}
	if r != nil {
		r.MustRegister(m.configs, m.triggers, m.deliveries, m.attempts, m.noRoute, m.dead, m.failovers, m.interrupted,
			m.parked, m.evicted, m.commitFailures, m.queued, m.latency, m.toDelivered)
	}
	return m
}

func vec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "causeway", Subsystem: "notify", Name: name, Help: help}, labels)
}

func single(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "causeway", Subsystem: "notify", Name: name, Help: help})
}

func histogram(name, help string) prometheus.Histogram {
	buckets := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 15, 60, 600, 3600, 86400}
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "causeway", Subsystem: "notify", Name: name, Help: help, Buckets: buckets})
}

// ended counts a notification that has come to its end.
func (m *metrics) ended(d *delivery) {
	m.deliveries.WithLabelValues(d.State).Inc()
	if d.State == deliveryDead {
		m.dead.WithLabelValues(d.Reason).Inc()
	}
}
