package agenttest

import (
	"context"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// Subject is an agent under test. A message of "" says that the agent cannot
// provoke the case, for the reason in Lacks.
type Subject struct {
	Name  string
	Open  func(t *testing.T) agent.Provider
	Lacks string

	Stream  string // answers with some text
	Confirm string // asks about one call, and runs it if it may
	Slow    string // takes long, and can be cancelled
	Deaf    string // takes long, and cannot
	Death   string // the agent dies
	Unknown string // a tool call nobody announced
	Burst   string // answers with 5,000 pieces, which are numbers
	Huge    string // answers with 20 MiB
	Late    string // says something after the end of its turn
	Title   string // tells a title
}

// Run plays every case.
func Run(t *testing.T, s Subject) {
	for _, c := range []struct {
		name, message string
		play          func(t *testing.T, w *world)
	}{
		{"streaming", s.Stream, streaming},
		{"confirm", s.Confirm, confirm},
		{"deny", s.Confirm, deny},
		{"cancel while confirming", s.Confirm, cancelWhileConfirming},
		{"cancel", s.Slow, cancel},
		{"cancel ignored", s.Deaf, cancelIgnored},
		{"death", s.Death, death},
		{"unknown tool", s.Unknown, completes},
		{"burst of 5,000 pieces", s.Burst, burst},
		{"piece of 20 MiB", s.Huge, huge},
		{"late update", s.Late, late},
		{"title", s.Title, title},
		{"close in a turn", s.Slow, closeInATurn},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			if c.message == "" {
				t.Skip(s.Lacks)
			}
			t.Parallel()
			w := newWorld(t, s, c.message)
			c.play(t, w)
			w.end()
		})
	}
}

// world is an open session of a subject.
type world struct {
	t        *testing.T
	host     *Host
	provider agent.Provider
	session  agent.Session
	message  string
}

func newWorld(t *testing.T, s Subject, message string) *world {
	t.Helper()
	w := &world{t: t, host: NewHost(), provider: s.Open(t), message: message}
	spec := agent.Spec{
		Session: "ahp-session:/s", Chat: "ahp-chat:/c", Directories: []ahp.URI{agent.FileURI(t.TempDir())},
	}
	var err error
	if w.session, err = w.provider.Open(t.Context(), spec, w.host); err != nil {
		t.Fatalf("open: %v", err)
	}
	return w
}

// end closes everything and checks what must hold whatever happened.
func (w *world) end() {
	w.t.Helper()
	if err := w.session.Close(); err != nil {
		w.t.Errorf("close session: %v", err)
	}
	<-w.session.Done()
	if err := w.session.Close(); err != nil {
		w.t.Errorf("close session again: %v", err)
	}
	if err := w.provider.Close(); err != nil {
		w.t.Errorf("close provider: %v", err)
	}
	for _, b := range w.host.Breaches() {
		w.t.Error(b)
	}
}

const turnID = "t1"

// prompt plays one turn to its end.
func (w *world) prompt(ctx context.Context, message string) agent.Outcome {
	w.host.Begin(turnID)
	o := w.session.Prompt(ctx, agent.Prompt{TurnID: turnID, Message: ahp.UserMessage(message)})
	w.host.End()
	return o
}

func (w *world) inBackground() <-chan agent.Outcome {
	outcome := make(chan agent.Outcome, 1)
	go func() { outcome <- w.prompt(w.t.Context(), w.message) }()
	return outcome
}

func (w *world) want(o agent.Outcome, want agent.Result) {
	w.t.Helper()
	if o.Result != want {
		w.t.Errorf("outcome %d (%+v), want %d", o.Result, o.Err, want)
	}
}

func completes(t *testing.T, w *world) { w.want(w.prompt(t.Context(), w.message), agent.Completed) }

func streaming(t *testing.T, w *world) {
	completes(t, w)
	if w.host.Text() == "" {
		t.Error("there is no answer")
	}
}

func confirm(t *testing.T, w *world) {
	completes(t, w)
	if ok, failed := w.host.Ended(); ok == 0 || failed != 0 {
		t.Errorf("%d calls went well, %d did not", ok, failed)
	}
}

func deny(t *testing.T, w *world) {
	denied := make(map[string]bool) // Decide is called while the turn runs, and read after it
	w.host.Decide = func(_ context.Context, c agent.Confirmation) agent.Decision {
		denied[c.ToolCallID] = true
		return agent.Decision{Reason: ahp.ReasonDenied}
	}
	completes(t, w)
	if len(denied) == 0 {
		t.Error("nobody was asked")
	}
	for _, e := range w.host.Events() {
		if e, ok := e.(agent.ToolFinished); ok && denied[e.ToolCallID] {
			t.Errorf("call %s ended with %+v although it was denied", e.ToolCallID, e.Result)
		}
	}
}

func cancelWhileConfirming(t *testing.T, w *world) {
	asking := make(chan struct{}, 1)
	w.host.Decide = func(ctx context.Context, _ agent.Confirmation) agent.Decision {
		asking <- struct{}{}
		<-ctx.Done()
		return agent.Decision{Withdrawn: true}
	}
	outcome := w.inBackground()
	<-asking
	w.session.Cancel(turnID)
	w.want(<-outcome, agent.Cancelled)
	w.host.Decide = nil
	again := w.prompt(t.Context(), w.message) // the agent goes on with another turn
	w.want(again, agent.Completed)
}

func cancel(t *testing.T, w *world) {
	outcome := w.inBackground()
	w.untilTold()
	w.session.Cancel("another turn")
	w.session.Cancel(turnID)
	w.want(<-outcome, agent.Cancelled)
	w.session.Cancel(turnID)
}

// untilTold waits until the agent has told something of the turn.
func (w *world) untilTold() {
	select {
	case <-w.host.told:
	case <-w.t.Context().Done():
		w.t.Fatal("the agent told nothing")
	}
}

func cancelIgnored(t *testing.T, w *world) {
	ctx, giveUp := context.WithCancel(t.Context())
	outcome := make(chan agent.Outcome, 1)
	go func() { outcome <- w.prompt(ctx, w.message) }()
	w.untilTold()
	w.session.Cancel(turnID)
	select {
	case o := <-outcome:
		t.Errorf("the agent listened: %+v", o)
	default:
	}
	giveUp()
	if o := <-outcome; o.Result == agent.Completed {
		t.Errorf("outcome %+v", o)
	}
}

func death(t *testing.T, w *world) {
	o := w.prompt(t.Context(), w.message)
	w.want(o, agent.Failed)
	if o.Err == nil || o.Err.ErrorType != "agentExited" {
		t.Errorf("error %+v", o.Err)
	}
	<-w.session.Done()
	if w.session.Err() == nil {
		t.Error("nobody says why it is gone")
	}
}

func burst(t *testing.T, w *world) {
	completes(t, w)
	if got := len(strings.Fields(w.host.Text())); got != 5000 {
		t.Errorf("%d of 5000 pieces arrived", got)
	}
}

func huge(t *testing.T, w *world) {
	completes(t, w)
	if got := len(w.host.Text()); got != 20<<20 {
		t.Errorf("%d bytes arrived", got)
	}
}

// late plays two turns: what came after the end of the first is not in the second.
// A title ends what is late.
func late(t *testing.T, w *world) {
	completes(t, w)
	first := w.host.Text()
	select {
	case <-w.host.titled:
	case <-t.Context().Done():
		t.Fatal("nothing came late")
	}
	completes(t, w)
	if got := w.host.Text(); got != first {
		t.Errorf("the second turn says %q, the first said %q", got, first)
	}
}

func title(t *testing.T, w *world) {
	completes(t, w)
	for _, e := range w.host.Events() {
		if e, ok := e.(agent.Title); ok && e.Title != "" {
			return
		}
	}
	t.Error("there is no title")
}

// closeInATurn: Close ends the turn, and nothing is left.
func closeInATurn(_ *testing.T, w *world) {
	outcome := w.inBackground()
	w.untilTold()
	_ = w.session.Close()
	if o := <-outcome; o.Result == agent.Completed {
		w.t.Errorf("outcome %+v", o)
	}
}
