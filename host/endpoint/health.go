package endpoint

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/host"
	"github.com/go-json-experiment/json"
)

// Check is something beside the host that can be ill.
type Check struct {
	Name   string // as it stands in the answer
	Reason string // what is wrong when Look fails; anybody may read it
	// Look returns nil when all is well. The error goes to the log.
	Look func(ctx context.Context) error
}

// healthEvery is how often it is really looked, whoever asks: /healthz is open to
// everybody.
const healthEvery = time.Second

// health looks after the host, at most once in healthEvery.
type health struct {
	e      *Endpoint
	checks []Check
	every  time.Duration // healthEvery, but for tests

	mu   sync.Mutex // held while it is looked, so that one looks for all
	at   time.Time
	last host.Health
}

// look returns how the host is doing, as of a moment ago.
func (l *health) look(ctx context.Context) host.Health {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.IsZero() && time.Since(l.at) < l.every {
		return l.last
	}
	now := l.e.host.Health()
	for _, c := range l.checks {
		if err := c.Look(ctx); err != nil && ctx.Err() == nil {
			l.e.log.Warn("health check failed", "check", c.Name, "err", err)
			now.Ailments = append(now.Ailments, host.Ailment{Check: c.Name, Reason: c.Reason})
		}
	}
	if ctx.Err() == nil { // else somebody gave up in the middle of it
		l.at, l.last = time.Now(), now
	}
	return now
}

// report is the answer of /healthz and /livez.
type report struct {
	Status  string    `json:"status"` // ok or failing
	Failing []failing `json:"failing,omitempty"`
	Details *details  `json:"details,omitempty"` // for who may come in
}

type failing struct {
	Check   string  `json:"check"`
	Reason  string  `json:"reason"`
	Seconds float64 `json:"seconds,omitzero"`
}

type details struct {
	UptimeSeconds     float64 `json:"uptimeSeconds"`
	Connections       int     `json:"connections"`
	Sessions          int     `json:"sessions"`
	ServerSeq         uint64  `json:"serverSeq"`
	JournalLagSeconds float64 `json:"journalLagSeconds"`
}

const (
	statusOK      = "ok"
	statusFailing = "failing"
)

// healthz answers whether the host does what it promises. Numbers are for those who
// could connect.
func (e *Endpoint) healthz(w http.ResponseWriter, r *http.Request) {
	if e.closing.Load() {
		unwell(w, host.CheckShutdown, "the host is shutting down")
		return
	}
	now := e.health.look(r.Context())
	answer := report{Status: statusOK}
	for _, a := range now.Ailments {
		answer.Status = statusFailing
		answer.Failing = append(answer.Failing, failing{a.Check, a.Reason, a.For.Round(time.Millisecond).Seconds()})
	}
	if _, refused := e.access.admit(r); refused == nil {
		answer.Details = &details{
			UptimeSeconds: now.Uptime.Round(time.Millisecond).Seconds(), Connections: now.Connections, Sessions: now.Sessions,
			ServerSeq: now.ServerSeq, JournalLagSeconds: now.Lag.Round(time.Millisecond).Seconds(),
		}
	}
	tell(w, answer)
}

// livez answers whether the process can go on at all: what only a restart would cure
// fails here, and nothing else does.
func (e *Endpoint) livez(w http.ResponseWriter) {
	if !e.closing.Load() && !e.host.Live() {
		unwell(w, host.CheckSequencer, "the sequencer does not answer")
		return
	}
	tell(w, report{Status: statusOK})
}

func unwell(w http.ResponseWriter, check, reason string) {
	w.Header().Set("Connection", "close")
	tell(w, report{Status: statusFailing, Failing: []failing{{Check: check, Reason: reason}}})
}

func tell(w http.ResponseWriter, answer report) {
	body, err := json.Marshal(answer)
	if err != nil { // it holds strings and numbers
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if answer.Status != statusOK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write(append(body, '\n'))
}
