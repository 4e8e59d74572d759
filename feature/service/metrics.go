package service

import "github.com/prometheus/client_golang/prometheus"

// metrics are the counters of the relay. None carries a payload or an id.
type metrics struct {
	services      prometheus.GaugeFunc
	inFlight      prometheus.GaugeFunc
	notifications prometheus.Counter
	calls         prometheus.Counter
	dropped       *prometheus.CounterVec

	// Of dropped, looked up once: a drop must cost less than a delivery.
	dropMalformed, dropUnknown, dropDenied, dropFull, dropRate prometheus.Counter
}

func newMetrics(f *Feature) *metrics {
	const namespace, subsystem = "causeway", "client_services"
	m := &metrics{
		services: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "registered", Help: "Services registered now.",
		}, func() float64 { return float64(len(f.services.roll().order)) }),
		inFlight: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "calls_in_flight", Help: "Calls without an answer now.",
		}, func() float64 { return float64(f.callsInFlight()) }),
		notifications: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "notifications_relayed_total", Help: "Notifications forwarded.",
		}),
		calls: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "calls_total", Help: "Calls accepted.",
		}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "notifications_dropped_total", Help: "Notifications not forwarded.",
		}, []string{"cause"}),
	}
	m.dropMalformed = m.dropped.WithLabelValues("malformed")
	m.dropUnknown = m.dropped.WithLabelValues("unknown")
	m.dropDenied = m.dropped.WithLabelValues("denied")
	m.dropFull = m.dropped.WithLabelValues("queue_full")
	m.dropRate = m.dropped.WithLabelValues("rate")
	return m
}

func (m *metrics) register(r *prometheus.Registry) {
	r.MustRegister(m.services, m.inFlight, m.notifications, m.calls, m.dropped)
}

func (f *Feature) callsInFlight() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inFlight
}
