package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/agent/process"
	"github.com/causeway-ahp/causeway/ahp"
)

// decide answers every question with a decision.
func decide(d agent.Decision) func(context.Context, agent.Confirmation) (agent.Decision, error) {
	return func(context.Context, agent.Confirmation) (agent.Decision, error) { return d, nil }
}

func TestConfirmation(t *testing.T) {
	for _, tt := range []struct {
		name     string
		decision agent.Decision
		result   agent.Result
		made     string // file the command makes, "" for none
		finished int
	}{
		{"approved", agent.Decision{Approved: true}, agent.Completed, "typed", 1},
		{"once", agent.Decision{Approved: true, OptionID: optionOnce}, agent.Completed, "typed", 1},
		{"unknown option", agent.Decision{Approved: true, OptionID: "x"}, agent.Completed, "typed", 1},
		{"edited", agent.Decision{Approved: true, EditedInput: new("touch edited\ntrue")}, agent.Completed, "edited", 1},
		{"edited to nothing", agent.Decision{Approved: true, EditedInput: new("")}, agent.Completed, "", 1},
		{"denied", agent.Decision{OptionID: optionDeny, Reason: ahp.ReasonDenied}, agent.Completed, "", 0},
		{"denied with edit", agent.Decision{EditedInput: new("touch edited")}, agent.Completed, "", 0},
		{"approved to deny", agent.Decision{Approved: true, OptionID: optionDeny}, agent.Completed, "", 1},
		{"withdrawn", agent.Decision{Withdrawn: true}, agent.Cancelled, "", 0},
		{"withdrawn beats approved", agent.Decision{Withdrawn: true, Approved: true}, agent.Cancelled, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.confirm = decide(tt.decision)
			if o := w.prompt(t, "touch typed"); o.Result != tt.result {
				t.Errorf("outcome %+v, want %v", o, tt.result)
			}
			for _, name := range []string{"typed", "edited"} {
				if got := exists(filepath.Join(w.dir, name)); got != (name == tt.made) {
					t.Errorf("%s exists: %v, want %q", name, got, tt.made)
				}
			}
			if n := len(eventsOf[agent.ToolFinished](w.fakeHost)); n != tt.finished {
				t.Errorf("%d calls finished, want %d", n, tt.finished)
			}
			if n := len(eventsOf[agent.ToolRunning](w.fakeHost)); n != 0 {
				t.Errorf("%d calls announced as running, the decision does that", n)
			}
		})
	}
}

func TestConfirmationRequest(t *testing.T) {
	w := newWorld(t)
	w.prompt(t, "  touch a  ")
	started := eventsOf[agent.ToolStarted](w.fakeHost)
	if len(started) != 1 || len(w.asked) != 1 {
		t.Fatalf("%d started, %d asked", len(started), len(w.asked))
	}
	s, c := started[0], w.asked[0]
	if s.ToolName != "shell" || s.TurnID != "t1" || c.TurnID != "t1" || c.ToolCallID != s.ToolCallID {
		t.Errorf("started %+v, asked %+v", s, c)
	}
	if !c.Editable || c.Input.Text != "touch a" || c.Message.Text != "Run touch a" {
		t.Errorf("asked %+v", c)
	}
	var got []string
	for _, o := range c.Options {
		got = append(got, o.ID+" "+o.Kind)
	}
	if want := "allow-once approve,allow-session approve,deny deny"; strings.Join(got, ",") != want {
		t.Errorf("options %q, want %q", got, want)
	}
}

func TestAllowInSession(t *testing.T) {
	w := newWorld(t)
	w.confirm = decide(agent.Decision{Approved: true, OptionID: optionSession, EditedInput: new("echo b")})
	w.prompt(t, "echo a")
	w.confirm = nil // from here on everything asked is denied

	same := *w
	same.session = w.open(t, "ahp-session:/1", w.fakeHost, w.dir) // another chat
	elsewhere := *w
	elsewhere.session = w.open(t, "ahp-session:/1", w.fakeHost, t.TempDir())
	other := *w
	other.session = w.open(t, "ahp-session:/2", w.fakeHost, w.dir)
	for _, tt := range []struct {
		name string
		w    *world
		line string
		runs bool
	}{
		{"what ran", w, "echo b", true},
		{"what was typed", w, "echo a", false},
		{"more", w, "echo b c", false},
		{"other spacing", w, "echo  b", false},
		{"another chat of the session", &same, "echo b", true},
		{"another directory", &elsewhere, "echo b", false},
		{"another session", &other, "echo b", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(eventsOf[agent.ToolFinished](w.fakeHost))
			tt.w.prompt(t, tt.line)
			if ran := len(eventsOf[agent.ToolFinished](w.fakeHost)) > before; ran != tt.runs {
				t.Errorf("ran %v, want %v", ran, tt.runs)
			}
		})
	}
	for _, r := range eventsOf[agent.ToolRunning](w.fakeHost) {
		if r.Confirmed != ahp.ConfirmedSetting {
			t.Errorf("confirmed %q, want %q", r.Confirmed, ahp.ConfirmedSetting)
		}
	}
}

func TestConsentEndsWithTheSession(t *testing.T) {
	w := newWorld(t)
	w.confirm = decide(agent.Decision{Approved: true, OptionID: optionSession})
	w.prompt(t, "echo a")
	if err := w.session.Close(); err != nil {
		t.Fatal(err)
	}
	w.session = w.open(t, "ahp-session:/1", w.fakeHost, w.dir)
	w.prompt(t, "echo a")
	if len(w.asked) != 2 {
		t.Errorf("asked %d times, want 2", len(w.asked))
	}
}

func TestConsentBound(t *testing.T) {
	w := newWorld(t)
	c := w.session.(*session).consents
	for i := range maxConsents + 2 {
		c.remember("/", fmt.Sprint(i))
	}
	if !c.has("/", "0") || c.has("/", fmt.Sprint(maxConsents)) {
		t.Error("the bound does not keep the first and forget the last")
	}
	if got := w.provider.Stats().Forgotten; got != 2 {
		t.Errorf("%d forgotten, want 2", got)
	}
}

func TestLinesStopAtTheFirstFailure(t *testing.T) {
	for _, tt := range []struct {
		name, message string
		started       int
	}{
		{"all succeed", "true\r\n\n  \ntrue\n", 2},
		{"the first fails", "false\ntouch made", 1},
		{"the second fails", "true\nexit 2\ntouch made", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.confirm = approve
			if o := w.prompt(t, tt.message); o.Result != agent.Completed {
				t.Errorf("outcome %+v", o)
			}
			if n := len(eventsOf[agent.ToolStarted](w.fakeHost)); n != tt.started {
				t.Errorf("%d calls started, want %d", n, tt.started)
			}
			if exists(filepath.Join(w.dir, "made")) {
				t.Error("a line after the failure ran")
			}
		})
	}
}

func TestTooManyLines(t *testing.T) {
	w := newWorld(t)
	o := w.prompt(t, strings.Repeat("true\n", maxLines+1))
	if o.Result != agent.Failed || o.Err.ErrorType != "tooManyCommands" || len(w.events) > 0 {
		t.Errorf("outcome %+v, %d events", o, len(w.events))
	}
}

func TestCancelWhileAsked(t *testing.T) {
	w := newWorld(t)
	asked := make(chan struct{})
	w.confirm = func(ctx context.Context, _ agent.Confirmation) (agent.Decision, error) {
		close(asked)
		<-ctx.Done()
		return agent.Decision{}, ctx.Err()
	}
	outcome := make(chan agent.Outcome, 1)
	go func() { outcome <- w.prompt(t, "touch made") }()
	<-asked
	w.session.Cancel("t1")
	if o := <-outcome; o.Result != agent.Cancelled || exists(filepath.Join(w.dir, "made")) {
		t.Errorf("outcome %+v", o)
	}
	if w.run(t, "touch made"); !exists(filepath.Join(w.dir, "made")) {
		t.Error("the next turn did not run")
	}
}

func TestHostFailures(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name string
		err  error
		want agent.Result
	}{{"closing", fmt.Errorf("emit: %w", agent.ErrClosed), agent.Cancelled}, {"other", broken, agent.Failed}} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.confirm = func(context.Context, agent.Confirmation) (agent.Decision, error) { return agent.Decision{}, tt.err }
			if o := w.prompt(t, "touch made"); o.Result != tt.want {
				t.Errorf("confirm: outcome %+v, want %v", o, tt.want)
			}
			w.onEmit = func(agent.Event) error { return tt.err }
			if o := w.prompt(t, "ls"); o.Result != tt.want {
				t.Errorf("emit: outcome %+v, want %v", o, tt.want)
			}
		})
	}
}

func TestCloseEndsTheTurn(t *testing.T) {
	w := newWorld(t)
	w.confirm = approve
	outcome := make(chan agent.Outcome, 1)
	go func() { outcome <- w.prompt(t, "echo $$; sleep 60 & sleep 60") }()
	pgid := leader(t, w)
	if o := w.prompt(t, "ls"); o.Result != agent.Failed || o.Err.ErrorType != "turnInProgress" {
		t.Errorf("second turn: %+v", o)
	}
	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() {
			if err := w.provider.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	closers.Wait()
	if process.Alive(pgid) {
		t.Errorf("group %d still runs after Close", pgid)
	}
	<-w.session.Done()
	if o := <-outcome; o.Result != agent.Cancelled || w.session.Err() != nil {
		t.Errorf("outcome %+v, err %v", o, w.session.Err())
	}
	if o := w.prompt(t, "ls"); o.Result != agent.Cancelled {
		t.Errorf("turn after Close: %+v", o)
	}
	var start *agent.StartError
	if _, err := w.provider.Open(t.Context(), agent.Spec{Directories: []ahp.URI{"file://" + w.dir}}, w); !errors.As(err, &start) {
		t.Errorf("open after Close: %v", err)
	}
}

func TestConcurrentSessions(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			h := newFakeHost()
			h.confirm = approve
			dir := t.TempDir()
			one := &world{fakeHost: h, dir: dir, session: w.open(t, fmt.Sprintf("ahp-session:/%d", i), h, dir)}
			if got := outputText(one.run(t, fmt.Sprintf("echo %d | tee made; cat made", i))); got != fmt.Sprintf("%d\n%d\n", i, i) {
				t.Errorf("session %d printed %q", i, got)
			}
		})
	}
	all.Wait()
}

func TestOpenDirectories(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(dir, "a b%ä")
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	p := New(Options{})
	for _, tt := range []struct {
		name string
		dirs []ahp.URI
		dir  string // "" for an error
	}{
		{"none", nil, ""},
		{"missing", []ahp.URI{"file://" + dir + "/nothing"}, ""},
		{"a file", []ahp.URI{"file://" + file}, ""},
		{"another scheme", []ahp.URI{"https://x/y"}, ""},
		{"another machine", []ahp.URI{"file://elsewhere" + dir}, ""},
		{"a path", []ahp.URI{dir}, ""},
		{"relative", []ahp.URI{"file:a/b"}, ""},
		{"broken", []ahp.URI{"file://%zz"}, ""},
		{"plain", []ahp.URI{"file://" + dir}, dir},
		{"localhost", []ahp.URI{"file://localhost" + dir + "/"}, dir},
		{"encoded", []ahp.URI{"file://" + dir + "/a%20b%25%C3%A4"}, odd},
		{"the second missing", []ahp.URI{"file://" + dir, "file://" + dir + "/nothing"}, dir},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := p.Open(t.Context(), agent.Spec{Directories: tt.dirs}, newFakeHost())
			var start *agent.StartError
			switch {
			case tt.dir == "" && (!errors.As(err, &start) || start.Type != "workingDirectoryNotFound" || start.Message == ""):
				t.Errorf("error %v", err)
			case tt.dir != "" && err != nil:
				t.Errorf("error %v", err)
			case tt.dir != "" && s.(*session).dir != tt.dir:
				t.Errorf("directory %q, want %q", s.(*session).dir, tt.dir)
			}
		})
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestDescription(t *testing.T) {
	w := newWorld(t)
	d := w.provider.Describe()
	if d.Provider != "shell" || !d.MultipleChats || d.Steering || d.ResumesTurns {
		t.Errorf("description %+v", d)
	}
	if w.session.Steer(t.Context(), ahp.UserMessage("x")) {
		t.Error("took a steering message")
	}
	if _, err := w.session.SetConfig(t.Context(), "x", nil); err == nil {
		t.Error("set a property that does not exist")
	}
	c, err := w.provider.ResolveConfig(t.Context(), nil, nil)
	if err != nil || c.Schema.Type != "object" || len(c.Schema.Properties) != 0 {
		t.Errorf("config %+v, %v", c, err)
	}
}
