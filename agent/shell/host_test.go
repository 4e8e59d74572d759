package shell

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json"
)

// fakeHost records what a session emits and answers what it asks.
type fakeHost struct {
	confirm func(context.Context, agent.Confirmation) (agent.Decision, error) // nil: nothing may be asked
	ask     func(context.Context, *ahp.ChatInputRequest) (agent.Answers, error)
	onEmit  func(agent.Event) error

	mu     sync.Mutex
	events []agent.Event
	asked  []agent.Confirmation
	grown  chan struct{} // closed and replaced with every event
}

func newFakeHost() *fakeHost { return &fakeHost{grown: make(chan struct{})} }

func (h *fakeHost) Emit(ctx context.Context, e agent.Event) error {
	h.mu.Lock()
	h.events = append(h.events, e)
	close(h.grown)
	h.grown = make(chan struct{})
	h.mu.Unlock()
	if h.onEmit != nil {
		return h.onEmit(e)
	}
	return ctx.Err()
}

func (h *fakeHost) Confirm(ctx context.Context, c agent.Confirmation) (agent.Decision, error) {
	h.mu.Lock()
	h.asked = append(h.asked, c)
	h.mu.Unlock()
	if h.confirm == nil {
		return agent.Decision{Reason: ahp.ReasonDenied}, nil
	}
	return h.confirm(ctx, c)
}

func (h *fakeHost) Ask(ctx context.Context, _ string, r *ahp.ChatInputRequest) (agent.Answers, error) {
	return h.ask(ctx, r)
}

// waitFor returns the first event that match accepts, now or later.
func (h *fakeHost) waitFor(t *testing.T, match func(agent.Event) bool) agent.Event {
	t.Helper()
	for {
		h.mu.Lock()
		i, grown := slices.IndexFunc(h.events, match), h.grown
		if i >= 0 {
			defer h.mu.Unlock()
			return h.events[i]
		}
		h.mu.Unlock()
		select {
		case <-grown:
		case <-t.Context().Done():
			t.Fatal("event never came")
		}
	}
}

// approve allows everything once.
func approve(context.Context, agent.Confirmation) (agent.Decision, error) {
	return agent.Decision{Approved: true}, nil
}

// eventsOf returns the events of a type, in order.
func eventsOf[E agent.Event](h *fakeHost) []E {
	h.mu.Lock()
	defer h.mu.Unlock()
	var of []E
	for _, e := range h.events {
		if e, ok := e.(E); ok {
			of = append(of, e)
		}
	}
	return of
}

// world is a session on a temporary directory.
type world struct {
	*fakeHost
	provider *Provider
	session  agent.Session
	dir      string
}

// testEnv is an environment that does not depend on the user's configuration.
func testEnv(t testing.TB) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.c", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.c",
		"CAUSEWAY_TOKEN=secret",
	}
}

func newWorld(t testing.TB) *world { return openIn(t, t.TempDir()) }

// openIn opens a session on the directories.
func openIn(t testing.TB, dirs ...string) *world {
	t.Helper()
	w := &world{fakeHost: newFakeHost(), provider: New(Options{Environ: testEnv(t)}), dir: dirs[0]}
	w.session = w.open(t, "ahp-session:/1", w.fakeHost, dirs...)
	t.Cleanup(func() {
		if err := w.provider.Close(); err != nil {
			t.Errorf("close provider: %v", err)
		}
	})
	return w
}

// open opens another session of the world's provider.
func (w *world) open(t testing.TB, uri ahp.URI, h agent.Host, dirs ...string) agent.Session {
	t.Helper()
	spec := agent.Spec{Session: uri, Chat: "ahp-chat:/1"}
	for _, dir := range dirs {
		spec.Directories = append(spec.Directories, "file://"+dir)
	}
	s, err := w.provider.Open(t.Context(), spec, h)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

// prompt runs one turn.
func (w *world) prompt(t testing.TB, text string) agent.Outcome {
	t.Helper()
	return w.session.Prompt(t.Context(), agent.Prompt{TurnID: "t1", Message: ahp.UserMessage(text)})
}

// run runs one command, approved, and returns its result.
func (w *world) run(t testing.TB, text string) ahp.ToolCallResult {
	t.Helper()
	w.confirm = approve
	before := len(eventsOf[agent.ToolFinished](w.fakeHost))
	if o := w.prompt(t, text); o.Result != agent.Completed {
		t.Fatalf("prompt %q: outcome %+v", text, o)
	}
	finished := eventsOf[agent.ToolFinished](w.fakeHost)
	if len(finished) != before+1 {
		t.Fatalf("prompt %q: %d calls finished, want 1", text, len(finished)-before)
	}
	return finished[before].Result
}

// write puts a file into the working directory.
func (w *world) write(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// outputText joins the text of a result.
func outputText(r ahp.ToolCallResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(*c.Text)
	}
	return b.String()
}

func details(t testing.TB, r ahp.ToolCallResult) Details {
	t.Helper()
	var d Details
	if err := json.Unmarshal(r.StructuredContent, &d); err != nil {
		t.Fatalf("structured content %s: %v", r.StructuredContent, err)
	}
	return d
}

func isContent(e agent.Event) bool { _, ok := e.(agent.ToolContent); return ok }
