package toolnotify_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/feature/toolnotify"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/journal/sqlite"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/go-json-experiment/json"
)

// durable are sessions and chats that outlive their host.
type durable struct{ sessions }

func (d *durable) Register(r *host.Registry) error {
	never := func(ahp.Action) bool { return false }
	yes := func(any, ahp.Action, host.Actor) string { return "" }
	return errors.Join(
		r.Scheme(host.Scheme{Kind: ahp.KindSession, Durable: true, Reduce: reducer.Apply, Validate: yes, HasEffect: never}),
		r.Scheme(host.Scheme{Kind: ahp.KindChat, Durable: true, Reduce: reducer.Apply, Validate: yes, HasEffect: never}),
	)
}

func (d *durable) Stop(context.Context) error { return nil }

// told reads which call a notification is about and how it ended.
func told(body []byte) string {
	var v struct {
		Data struct {
			Trigger string `json:"trigger"`
			AHP     struct {
				ToolCallID string `json:"toolCallId"`
			} `json:"ahp"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return err.Error()
	}
	return v.Data.AHP.ToolCallID + " " + v.Data.Trigger
}

// TestCatchUp: what ended without the engine having heard of it, as in a crash between
// the two stores, is told when the host starts again, once, and nothing else is told
// again (tool-call notifications, 12.4: the log of actions is the outbox).
func TestCatchUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	bodies := make(chan []byte, 100)
	engine := newEngine(t, notify.NewMemoryStore(), func(b []byte) error { bodies <- b; return nil })
	run := func(features ...host.Feature) *host.Host {
		t.Helper()
		store, err := sqlite.Open(path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h, err := host.New(context.WithoutCancel(t.Context()), host.Options{
			Store: store, Features: append(features, &durable{}), Info: ahp.Implementation{Name: "lab"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	stop := func(h *host.Host) {
		t.Helper()
		if err := h.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := func(list ...string) {
		t.Helper()
		var got []string
		for range list {
			select {
			case b := <-bodies:
				got = append(got, told(b))
			case <-time.After(20 * time.Second):
				t.Fatalf("told %q, want %q", got, list)
			}
		}
		slices.Sort(got) // calls do not wait for each other
		if !slices.Equal(got, list) {
			t.Errorf("told %q, want %q", got, list)
		}
		if len(bodies) > 0 {
			t.Errorf("told %q as well", told(<-bodies))
		}
	}

	h := run(toolnotify.New(toolnotify.Options{Engine: engine}))
	if err := errors.Join(h.Create("ahp-session:/s", session(), ""), h.Create("ahp-chat:/c", chat("ahp-chat:/c"), "ahp-session:/s")); err != nil {
		t.Fatal(err)
	}
	install(t, engine, int64(h.Seq()))
	h.Apply("ahp-chat:/c", &ahp.ChatTurnStarted{TurnID: "t", StartedAt: host.Now(), Message: ahp.UserMessage("go")})
	complete(t, h, "heard")
	want("heard completed")
	stop(h)

	h = run() // nobody hears
	complete(t, h, "missed")
	begin(t, h, "open")
	h.Apply("ahp-chat:/c", &ahp.ChatTurnCancelled{TurnID: "t"})
	stop(h)
	want()

	h = run(toolnotify.New(toolnotify.Options{Engine: engine}))
	want("missed completed", "open cancelled")
	stop(h)

	h = run(toolnotify.New(toolnotify.Options{Engine: engine}))
	h.Apply("ahp-chat:/c", &ahp.ChatTurnStarted{TurnID: "u", StartedAt: host.Now(), Message: ahp.UserMessage("go")})
	ref := ahp.ToolCallRef{TurnID: "u", ToolCallID: "new"}
	h.Apply("ahp-chat:/c", &ahp.ChatToolCallStart{ToolCallRef: ref, ToolName: "build", DisplayName: "Build"})
	h.Apply("ahp-chat:/c", &ahp.ChatTurnComplete{TurnID: "u"})
	want("new cancelled")
	stop(h)
}

func install(t *testing.T, e *notify.Engine, at int64) {
	t.Helper()
	caller := notify.Caller{Principal: "local"}
	config, err := e.Check([]byte(`{"routes":[{"id":"a","type":"webhook","endpoint":"https://hook/a","triggers":["completed","cancelled"],"options":{"ordering":"call"}}]}`), caller)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Install(t.Context(), config, notify.InstallRequest{Caller: caller, Scope: "ahp-chat:/c", Source: "ahp", Position: at}); err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, h *host.Host, id string) ahp.ToolCallRef {
	t.Helper()
	ref := ahp.ToolCallRef{TurnID: "t", ToolCallID: id}
	if !h.Apply("ahp-chat:/c", &ahp.ChatToolCallStart{ToolCallRef: ref, ToolName: "build", DisplayName: "Build"}) {
		t.Fatal(fmt.Errorf("call %s did not begin", id))
	}
	confirmed := "not-needed"
	h.Apply("ahp-chat:/c", &ahp.ChatToolCallReady{ToolCallRef: ref, Confirmed: &confirmed})
	return ref
}

func complete(t *testing.T, h *host.Host, id string) {
	t.Helper()
	h.Apply("ahp-chat:/c", &ahp.ChatToolCallComplete{ToolCallRef: begin(t, h, id), Result: ahp.ToolCallResult{Success: true}})
}
