package host

import (
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// Bounds of a healthy host.
const (
	// HealthyLag is how long an action may wait for the store.
	HealthyLag = 10 * time.Second
	// HealthyHold is how long the sequencer's lock may not be had.
	HealthyHold = 2 * time.Second
)

// Health is what somebody who looks after the host should know. It holds no id, no
// path and no text of an error: anybody may be shown it.
type Health struct {
	Ailments []Ailment // none: all is well

	Uptime      time.Duration
	Connections int
	Sessions    int // -1 if the sequencer does not answer
	ServerSeq   uint64
	Lag         time.Duration // of the journal
}

// Ailment is one thing that is wrong.
type Ailment struct {
	Check  string        // what was looked at, such as CheckJournal
	Reason string        // what is wrong with it
	For    time.Duration // how long it has been so, 0 if that is not known
}

// What Health looks at.
const (
	CheckJournal   = "journal"
	CheckSequencer = "sequencer"
	CheckShutdown  = "shutdown"
)

// Live reports whether the sequencer answers: a host whose sequencer does not can only
// be ended. It takes at most HealthyHold.
func (h *Host) Live() bool {
	_, ok := h.sequencerAnswers()
	return ok
}

// Health looks at the host. It takes at most HealthyHold, however bad things are.
func (h *Host) Health() Health {
	r := Health{Uptime: time.Since(h.began), Sessions: -1}
	h.mu.Lock()
	closing := h.closing
	r.Connections = len(h.conns)
	h.mu.Unlock()
	if closing {
		r.ail(CheckShutdown, "the host is shutting down", 0)
		return r
	}
	if f, ok := h.sequencerAnswers(); ok {
		r.Sessions, r.ServerSeq = f.channels[ahp.KindSession], f.seq
	} else {
		r.ail(CheckSequencer, "the sequencer does not answer; its lock has been held for longer than "+HealthyHold.String(), 0)
	}
	h.lookAtJournal(&r)
	return r
}

func (r *Health) ail(check, reason string, since time.Duration) {
	r.Ailments = append(r.Ailments, Ailment{Check: check, Reason: reason, For: since})
}

func (h *Host) sequencerAnswers() (figures, bool) {
	f, _, ok := h.inspect(h.healthyHold)
	return f, ok
}

func (h *Host) lookAtJournal(r *Health) {
	if lag := h.journal.Lag(); !lag.Since.IsZero() {
		r.Lag = time.Since(lag.Since)
	}
	if t := h.Trouble(); t != nil {
		r.ail(CheckJournal, "the journal cannot be written; the log says why, and the host tries again", time.Since(t.Since))
	} else if r.Lag > HealthyLag {
		r.ail(CheckJournal, "the journal is behind by more than "+HealthyLag.String(), r.Lag)
	}
}
