package session

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// counters count what agents did that nobody sees.
type counters struct {
	// stale counts events and questions that were dropped: their turn was over,
	// or they would have changed nothing.
	stale prometheus.Counter
	// ended counts the ends of agents by their cause: closed, exited, panic,
	// deadline (a cancel was ignored) and start (it could not be opened).
	ended *prometheus.CounterVec
}

func newCounters() *counters {
	return &counters{
		stale: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "causeway", Name: "agent_events_dropped_total",
			Help: "Events of agents that came after the end of their turn or changed nothing.",
		}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "causeway", Name: "agents_ended_total", Help: "Agents ended.",
		}, []string{"cause"}),
	}
}

func (c *counters) register(r prometheus.Registerer) error {
	return errors.Join(r.Register(c.stale), r.Register(c.ended))
}
