package shell

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// said joins the text of a turn.
func said(h *fakeHost) string {
	var b strings.Builder
	for _, e := range eventsOf[agent.Text](h) {
		b.WriteString(e.Text)
	}
	return b.String()
}

func TestWordsThatOnlyAnswer(t *testing.T) {
	for _, tt := range []struct{ message, want string }{
		{"/help", "Each line of a message is a command"},
		{"  /help me\n", "- `/slow N`"},
		{"", "Type a command"},
		{" \n\t", "Type a command"},
		{"/nothing", "There is no ` /nothing `"},
		{"/no`thing x", "There is no `` /no`thing ``"},
		{"/tmp", "There is no ` /tmp `"},
		{"/write x", "There is no ` /write `"},
		{"/slow x", "takes a number"},
		{"/slow 0", "takes a number"},
		{"/slow 601", "takes a number"},
	} {
		w := newWorld(t)
		o := w.prompt(t, tt.message)
		if got := said(w.fakeHost); o.Result != agent.Completed || !strings.Contains(got, tt.want) {
			t.Errorf("%q: outcome %+v, said %q, want %q", tt.message, o, got, tt.want)
		}
		if n := len(eventsOf[agent.ToolStarted](w.fakeHost)); n > 0 {
			t.Errorf("%q: started %d calls", tt.message, n)
		}
	}
}

func TestAbsolutePathIsACommand(t *testing.T) {
	w := newWorld(t)
	if got := outputText(w.run(t, "/bin/echo hi")); got != "hi\n" {
		t.Errorf("printed %q", got)
	}
}

func TestFail(t *testing.T) {
	o := newWorld(t).prompt(t, "/fail")
	if o.Result != agent.Failed || o.Err.ErrorType != "requestedFailure" || o.Resumable {
		t.Errorf("outcome %+v", o)
	}
}

func TestPlan(t *testing.T) {
	w := newWorld(t)
	if o := w.prompt(t, "/plan"); o.Result != agent.Completed || len(w.asked) > 0 {
		t.Fatalf("outcome %+v, asked %d times", o, len(w.asked))
	}
	var activities []string
	for _, a := range eventsOf[agent.Activity](w.fakeHost) {
		activities = append(activities, a.Text)
	}
	want := []string{"Step 1 of 3: find out where we are", "Step 2 of 3: see what is here", "Step 3 of 3: look closer", ""}
	if strings.Join(activities, "|") != strings.Join(want, "|") {
		t.Errorf("activities %q, want %q", activities, want)
	}
	if got, want := said(w.fakeHost), "- [x] find out where we are\n- [x] see what is here\n- [x] look closer\n"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	if n := len(eventsOf[agent.ToolFinished](w.fakeHost)); n != 3 {
		t.Errorf("%d calls finished, want 3", n)
	}
}

func TestPlanClearsItsActivity(t *testing.T) {
	w := newWorld(t)
	w.onEmit = func(e agent.Event) error {
		if _, ok := e.(agent.ToolFinished); ok {
			w.session.Cancel("t1")
		}
		return nil
	}
	if o := w.prompt(t, "/plan"); o.Result != agent.Cancelled {
		t.Errorf("outcome %+v", o)
	}
	a := eventsOf[agent.Activity](w.fakeHost)
	if len(a) != 2 || a[1].Text != "" {
		t.Errorf("activities %+v", a)
	}
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		begun := time.Now()
		if o := w.prompt(t, "/slow 5"); o.Result != agent.Completed {
			t.Errorf("outcome %+v", o)
		}
		if got := said(w.fakeHost); got != "1\n2\n3\n4\n5\n" || time.Since(begun) != 5*slowInterval {
			t.Errorf("said %q in %v", got, time.Since(begun))
		}
	})
}

func TestSlowIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		outcome := make(chan agent.Outcome, 1)
		go func() { outcome <- w.prompt(t, "/slow 600") }()
		time.Sleep(250 * time.Millisecond) // of the bubble's time
		synctest.Wait()
		w.session.Cancel("t1")
		if o := <-outcome; o.Result != agent.Cancelled || said(w.fakeHost) != "1\n2\n3\n" {
			t.Errorf("outcome %+v, said %q", o, said(w.fakeHost))
		}
	})
}

func TestAsk(t *testing.T) {
	answer := func(kind, value string, free ...string) ahp.ChatInputAnswer {
		list := "[]"
		if len(free) > 0 {
			list = fmt.Sprintf("[%q]", free[0])
		}
		return ahp.ChatInputAnswer{State: ahp.AnswerSubmitted, Value: jsontext.Value(fmt.Sprintf(`{"kind":%q,"value":%s,"freeformValues":%s}`, kind, value, list))}
	}
	for _, tt := range []struct {
		name    string
		answers agent.Answers
		err     error
		result  agent.Result
		said    string
	}{
		{"accepted", agent.Answers{Response: ahp.InputAccept, Values: map[string]ahp.ChatInputAnswer{
			"name": answer("text", `"a `+"`b`"+`"`), "ratio": answer("number", "0.25"), "count": answer("number", "7"), "sure": answer("boolean", "false"),
			"colour": answer("selected", `"red"`, "pink"), "colours": answer("selected-many", `["green","blue"]`),
		}}, nil, agent.Completed, "- **Name**: `` a `b` ``\n- **Ratio**: ` 0.25 `\n- **Count**: ` 7 `\n- **Sure**: ` false `\n" +
			"- **Colour**: ` red `, ` pink `\n- **Colours**: ` green `, ` blue `\n"},
		{"nothing answered", agent.Answers{Response: ahp.InputAccept, Values: map[string]ahp.ChatInputAnswer{
			"name": {State: ahp.AnswerSkipped}, "ratio": {State: ahp.AnswerSubmitted, Value: jsontext.Value(`"odd"`)}, "colours": answer("selected-many", "[]"),
		}}, nil, agent.Completed, "- **Name**: no answer\n- **Ratio**: no answer\n- **Count**: no answer\n- **Sure**: no answer\n- **Colour**: no answer\n- **Colours**: nothing\n"},
		{"declined", agent.Answers{Response: ahp.InputDecline}, nil, agent.Completed, "No answers: ` decline `.\n"},
		{"withdrawn", agent.Answers{Withdrawn: true}, nil, agent.Cancelled, ""},
		{"closing", agent.Answers{}, agent.ErrClosed, agent.Cancelled, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			kinds := map[string]bool{}
			w.ask = func(_ context.Context, r *ahp.ChatInputRequest) (agent.Answers, error) {
				for _, q := range r.Questions {
					kinds[q.Kind] = true
				}
				return tt.answers, tt.err
			}
			if o := w.prompt(t, "/ask"); o.Result != tt.result || said(w.fakeHost) != tt.said {
				t.Errorf("outcome %+v, said %q, want %q", o, said(w.fakeHost), tt.said)
			}
			if len(kinds) != 6 {
				t.Errorf("asked %d kinds of question, want 6", len(kinds))
			}
		})
	}
}
