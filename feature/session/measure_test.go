package session

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// shown are the values of a metric that are not 0, by their labels; of a histogram the
// number and the sum.
func (w *world) shown(name string) string {
	w.t.Helper()
	synctest.Wait()
	families, err := w.h.Metrics().Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, f := range families {
		if f.GetName() != "causeway_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			values[strings.Join(labels, " ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			if h := m.GetHistogram(); h != nil {
				values["count"], values["sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
			}
		}
	}
	maps.DeleteFunc(values, func(_ string, v float64) bool { return v == 0 })
	return strings.TrimPrefix(fmt.Sprint(values), "map")
}

func (w *world) shows(name, want string) {
	w.t.Helper()
	if got := w.shown(name); got != want {
		w.t.Errorf("%s shows %s, want %s", name, got, want)
	}
}

// Turns are counted by what became of them, with how long they took, whoever ended them.
func TestTurnsAreMeasured(t *testing.T) {
	play := func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
		time.Sleep(3 * time.Second)
		if p.Message.Text == "fail" {
			return agent.Outcome{Result: agent.Failed}
		}
		return agent.Outcome{}
	}
	start(t, &puppet{turn: play}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		w.shows("turns_running", "[]")
		for i, text := range []string{"x", "fail", "x"} {
			a.dispatch(chat, startTurn(fmt.Sprint("t", i), text))
			w.shows("turns_running", "[:1]")
			if i == 2 {
				time.Sleep(time.Second)
				a.dispatch(chat, cancelTurn("t2"))
			}
			time.Sleep(5 * time.Second)
		}
		w.shows("turns_running", "[]")
		w.shows("turns_total", "[cancelled:1 completed:1 failed:1]")
		w.shows("turn_seconds", "[count:3 sum:7]")

		a.dispatch(chat, startTurn("t4", "x"))
		a.request(ahp.MethodDisposeSession, fmt.Sprintf(`{"channel":%q}`, session))
		time.Sleep(10 * time.Second)
		w.shows("turns_running", "[]")
		w.shows("turn_seconds", "[count:4 sum:7]")
		w.shows("agents", "[]")
	})
}

// Agents are shown by what they do, and their ends by what brought them about.
func TestAgentsAreMeasured(t *testing.T) {
	p := &puppet{turn: deaf, ignoreCancel: true}
	p.open = func(context.Context, agent.Spec, agent.Host) error {
		if len(p.sessions()) > 0 { // an agent takes a second to be opened anew
			time.Sleep(time.Second)
		}
		return nil
	}
	start(t, p, Options{Limits: Limits{DrainTimeout: 10 * time.Second}}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		w.shows("agents", "[puppet working:1]")
		a.dispatch(chat, cancelTurn("t1"))
		w.shows("agents", "[puppet draining:1]")
		a.dispatch(chat, startTurn("t2", "fine"))
		time.Sleep(10*time.Second + time.Millisecond)
		w.shows("agents", "[puppet opening:1]")
		time.Sleep(time.Second)
		w.shows("agents", "[puppet idle:1]")
		w.shows("agents_opened_total", "[puppet:2]")
		w.shows("agents_reopened_total", "[puppet:1]")
		w.shows("agents_ended_total", "[deadline puppet:1]")
	})
}
