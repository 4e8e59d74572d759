package tcp

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// counters say how much is forwarded and what came of it. None names a
// destination.
type counters struct {
	connections prometheus.Gauge
	opened      prometheus.Counter
	refused     *prometheus.CounterVec
	ended       *prometheus.CounterVec
	bytes       *prometheus.CounterVec
	toClient    prometheus.Counter
	toDest      prometheus.Counter
}

func newCounters() *counters {
	c := &counters{
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "causeway", Name: "tcp_connections", Help: "TCP connections open, or not given up by their client.",
		}),
		opened: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "causeway", Name: "tcp_opened_total", Help: "TCP connections opened.",
		}),
		refused: vector("tcp_refused_total", "TCP connections refused or not opened.", "reason"),
		ended:   vector("tcp_ended_total", "TCP connections ended.", "how"),
		bytes:   vector("tcp_bytes_total", "Bytes carried.", "direction"),
	}
	c.toClient, c.toDest = c.bytes.WithLabelValues("to_client"), c.bytes.WithLabelValues("to_destination")
	return c
}

func vector(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "causeway", Name: name, Help: help}, []string{label})
}

func (c *counters) register(r prometheus.Registerer) error {
	return errors.Join(r.Register(c.connections), r.Register(c.opened), r.Register(c.refused), r.Register(c.ended), r.Register(c.bytes))
}
