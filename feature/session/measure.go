package session

import (
	"context"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/prometheus/client_golang/prometheus"
)

// What becomes of a turn.
const (
	turnCompleted = "completed"
	turnCancelled = "cancelled"
	turnFailed    = "failed"
	turnRemoved   = "removed" // with its chat, or with the end of the chat's history
)

// turnWatch follows the turns of all chats as they stand in the log, whoever begins and
// ends them.
type turnWatch struct {
	f *Feature

	mu    sync.Mutex
	begun map[ahp.URI]time.Time // by chat: a chat has one turn at a time
}

func newTurnWatch(f *Feature) *turnWatch {
	return &turnWatch{f: f, begun: make(map[ahp.URI]time.Time)}
}

// observer is what the host tells of turns.
func (w *turnWatch) observer() host.Observer {
	return host.Observer{Kind: ahp.KindChat, Wants: movesTurn, Observe: w.observe}
}

// movesTurn selects the actions that can begin or end a turn.
func movesTurn(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.ChatTurnStarted, *ahp.ChatTurnResume, *ahp.ChatTurnComplete, *ahp.ChatTurnCancelled, *ahp.ChatError, *ahp.ChatTruncated:
		return true
	}
	return false
}

func (w *turnWatch) observe(_ context.Context, o host.Observed) {
	before, after := o.Before.(*ahp.ChatState).ActiveTurn, o.After.(*ahp.ChatState).ActiveTurn
	switch {
	case before == nil && after != nil:
		w.begin(o.Channel)
	case before != nil && after == nil:
		w.end(o.Channel, outcomeOf(o.Action))
	}
}

func (w *turnWatch) begin(chat ahp.URI) {
	w.mu.Lock()
	w.begun[chat] = time.Now()
	w.mu.Unlock()
	if !w.f.h.Exists(chat) { // it was removed before this was told
		w.end(chat, turnRemoved)
	}
}

// end counts the end of a chat's turn, once. One that an earlier process began has no
// duration.
func (w *turnWatch) end(chat ahp.URI, outcome string) {
	w.mu.Lock()
	began, known := w.begun[chat]
	delete(w.begun, chat)
	w.mu.Unlock()
	if known {
		w.f.count.duration.Observe(int64(time.Since(began)))
	} else if outcome == turnRemoved {
		return
	}
	w.f.count.turns.WithLabelValues(outcome).Inc()
}

// removed is the end of a chat.
func (w *turnWatch) removed(chat ahp.URI) { w.end(chat, turnRemoved) }

func outcomeOf(a ahp.Action) string {
	switch a.(type) {
	case *ahp.ChatTurnComplete:
		return turnCompleted
	case *ahp.ChatTurnCancelled:
		return turnCancelled
	case *ahp.ChatError:
		return turnFailed
	}
	return turnRemoved
}

func (w *turnWatch) running() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return float64(len(w.begun))
}

// What an agent is doing.
const (
	agentOpening  = "opening"
	agentIdle     = "idle"
	agentWorking  = "working"
	agentDraining = "draining" // its turn was cancelled, and it has not stopped
)

// agentGauge shows the agents of all chats when somebody looks.
type agentGauge struct {
	f    *Feature
	desc *prometheus.Desc
}

var _ prometheus.Collector = (*agentGauge)(nil)

func newAgentGauge(f *Feature) *agentGauge {
	return &agentGauge{f, prometheus.NewDesc(namespace+"_agents", "Agents now, by what they do.", []string{"provider", "state"}, nil)}
}

// Describe implements prometheus.Collector.
func (g *agentGauge) Describe(ch chan<- *prometheus.Desc) { ch <- g.desc }

// Collect implements prometheus.Collector.
func (g *agentGauge) Collect(ch chan<- prometheus.Metric) {
	type key struct{ provider, state string }
	agents := make(map[key]int)
	for provider := range g.f.providers {
		for _, state := range []string{agentOpening, agentIdle, agentWorking, agentDraining} {
			agents[key{provider, state}] = 0
		}
	}
	for _, d := range g.f.roster.all() {
		if state := d.doing(); state != "" {
			agents[key{d.about.Provider, state}]++
		}
	}
	for k, n := range agents {
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, float64(n), k.provider, k.state)
	}
}

// doing is what the driver's agent does, "" without one.
func (d *driver) doing() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.agent == nil:
		return ""
	case d.agent.s == nil:
		return agentOpening
	case d.current == nil || d.current.over:
		return agentIdle
	case d.current.cancelled:
		return agentDraining
	}
	return agentWorking
}
