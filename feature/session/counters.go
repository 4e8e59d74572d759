package session

import (
	"errors"

	"github.com/causeway-ahp/causeway/internal/metric"
	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "causeway"

// counters count what agents do and how turns go. None carries a payload or an id but
// that of a provider, of which the operator names a few.
type counters struct {
	// stale counts events and questions that were dropped: their turn was over,
	// or they would have changed nothing.
	stale prometheus.Counter
	// opened counts the agents that were opened, reopened those of them that took
	// the place of one that had ended in the same chat.
	opened, reopened *prometheus.CounterVec
	// ended counts the ends of agents by their cause.
	ended *prometheus.CounterVec
	// turns counts the turns that ended, by what became of them.
	turns    *prometheus.CounterVec
	duration *metric.Histogram
	// tokens counts what became of the tokens that clients push.
	tokens *prometheus.CounterVec
}

// Why an agent ended.
const (
	endClosed   = "closed"   // nobody needs it
	endExited   = "exited"   // it went away by itself
	endPanic    = "panic"    // its adapter failed
	endDeadline = "deadline" // it ignored a cancel
	endStart    = "start"    // it could not be opened
	endToken    = "token"    // its token was revoked, replaced or has expired
)

// What became of tokens.
const (
	tokenAccepted = "accepted"
	tokenRefused  = "refused"
	tokenRevoked  = "revoked"
	tokenExpired  = "expired"
)

func newCounters() *counters {
	return &counters{
		stale: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "agent_events_dropped_total",
			Help: "Events of agents that came after the end of their turn or changed nothing.",
		}),
		opened:   vector("agents_opened_total", "Agents opened.", "provider"),
		reopened: vector("agents_reopened_total", "Agents opened in the place of one that had ended.", "provider"),
		ended:    vector("agents_ended_total", "Agents ended.", "cause", "provider"),
		turns:    vector("turns_total", "Turns that ended, by what became of them.", "outcome"),
		duration: metric.LongDurations(namespace+"_turn_seconds", "How long turns took that ended in this process."),
		tokens:   vector("authentications_total", "Tokens of clients, by what became of them.", "outcome"),
	}
}

func vector(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

// register shows the counters, each of them from nothing.
func (c *counters) register(r prometheus.Registerer, providers []string) error {
	for _, p := range providers {
		c.opened.WithLabelValues(p)
		c.reopened.WithLabelValues(p)
		for _, cause := range []string{endClosed, endExited, endPanic, endDeadline, endStart, endToken} {
			c.ended.WithLabelValues(cause, p)
		}
	}
	for _, outcome := range []string{turnCompleted, turnCancelled, turnFailed, turnRemoved} {
		c.turns.WithLabelValues(outcome)
	}
	for _, outcome := range []string{tokenAccepted, tokenRefused, tokenRevoked, tokenExpired} {
		c.tokens.WithLabelValues(outcome)
	}
	return errors.Join(r.Register(c.stale), r.Register(c.opened), r.Register(c.reopened), r.Register(c.ended),
		r.Register(c.turns), r.Register(c.duration), r.Register(c.tokens))
}
