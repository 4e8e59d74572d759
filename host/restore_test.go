package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestUnfinished: after a restart the host names the channels whose work ended
// with the process, and no others, until that is closed.
func TestUnfinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Store: newMortal()})
		if err := w.h.Create("ahp-session:/s", labSession("x"), ""); err != nil {
			t.Fatal(err)
		}
		for _, uri := range []ahp.URI{"ahp-chat:/open", "ahp-chat:/done", "ahp-chat:/new"} {
			if err := w.h.Create(uri, labChat(uri), "ahp-session:/s"); err != nil {
				t.Fatal(err)
			}
		}
		start := &ahp.ChatTurnStarted{TurnID: "t", StartedAt: Now(), Message: &ahp.Message{Text: "hello"}}
		w.h.Apply("ahp-chat:/open", start)
		w.turn("ahp-chat:/done", "t")
		synctest.Wait()
		for range 2 { // the second time they are images
			if err := w.restart(true); err != nil {
				t.Fatal(err)
			}
			if got := w.unfinished(); !slices.Equal(got, []ahp.URI{"ahp-chat:/open"}) {
				t.Fatalf("unfinished: %v", got)
			}
			sleepUntilKept(w)
		}
		w.h.Apply("ahp-chat:/open", &ahp.ChatError{TurnID: "t"})
		synctest.Wait()
		if err := w.restart(true); err != nil {
			t.Fatal(err)
		}
		if got := w.unfinished(); len(got) != 0 {
			t.Errorf("unfinished after it was closed: %v", got)
		}
	})
}

func sleepUntilKept(w *world) { _ = sleep(w.t.Context(), 2*quietTime) }

// TestRestartModel: whatever happened, and however often and at which moment the
// host was killed, every channel has the state it had, images or not, idle or
// not, and numbers only rise.
func TestRestartModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Options{Store: newMortal()})
			m := &restartModel{w: w, states: make(map[ahp.URI]string)}
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				m.step(rt)
				if rt.Failed() {
					return
				}
			}
		})
	})
}

type restartModel struct {
	w      *world
	states map[ahp.URI]string // as encoded, for each channel there is
	turn   int
}

func (m *restartModel) step(t *rapid.T) {
	chats := []ahp.URI{"ahp-chat:/1", "ahp-chat:/2", "ahp-chat:/3"}
	chat := rapid.SampledFrom(chats).Draw(t, "chat")
	session := "ahp-session:/" + chat[len(chat)-1:]
	h := m.w.h
	switch rapid.SampledFrom([]string{"make", "turn", "delta", "end", "truncate", "title", "quiet", "idle", "remove", "kill", "kill", "restart"}).Draw(t, "what") {
	case "make":
		_ = h.Create(session, labSession("x"), "")
		_ = h.Create(chat, labChat(chat), session)
	case "turn":
		m.turn++
		h.Apply(chat, &ahp.ChatTurnStarted{TurnID: fmt.Sprint("t", m.turn), StartedAt: Now(), Message: &ahp.Message{Text: "hello"}})
		h.Apply(chat, &ahp.ChatResponsePart{TurnID: fmt.Sprint("t", m.turn), Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p", Content: ahp.NewText("a")}}})
	case "delta":
		h.Apply(chat, &ahp.ChatDelta{TurnID: m.active(chat), PartID: "p", Content: "é\n"})
	case "end":
		h.Apply(chat, &ahp.ChatTurnComplete{TurnID: m.active(chat), Duration: 5})
	case "truncate":
		if s, ok := h.State(chat).(*ahp.ChatState); ok && s.Turns.Len() > 1 && s.ActiveTurn == nil {
			id := s.Turns.At(s.Turns.Len() / 2).ID
			h.Apply(chat, &ahp.ChatTruncated{TurnID: &id})
		}
	case "title":
		h.Apply(session, &ahp.SessionTitleChanged{Title: Now()})
	case "quiet":
		_ = sleep(m.w.t.Context(), 2*quietTime)
	case "idle":
		_ = sleep(m.w.t.Context(), 2*DefaultLimits.IdleTime)
	case "remove":
		h.Remove(session)
	case "kill":
		m.restart(t, true)
	case "restart":
		m.restart(t, false)
	}
}

func (m *restartModel) active(chat ahp.URI) string {
	if s, ok := m.w.h.State(chat).(*ahp.ChatState); ok && s.ActiveTurn != nil {
		return s.ActiveTurn.ID
	}
	return ""
}

func (m *restartModel) restart(t *rapid.T, kill bool) {
	synctest.Wait()
	before, list := m.all(t), m.list()
	seq := m.w.h.Seq()
	if err := m.w.restart(kill); err != nil {
		t.Fatal(err)
	}
	if now := m.w.h.Seq(); now < seq || kill && now == seq {
		t.Fatalf("goes on from %d after %d", now, seq)
	}
	if diff := cmp.Diff(list, m.list()); diff != "" {
		t.Fatalf("the list of sessions: %s", diff)
	}
	if diff := cmp.Diff(before, m.all(t)); diff != "" {
		t.Fatalf("states: %s", diff)
	}
}

// all encodes every state.
func (m *restartModel) all(t *rapid.T) map[ahp.URI]string {
	all := make(map[ahp.URI]string)
	for _, uri := range m.uris() {
		state, err := m.w.h.Load(uri)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := ahp.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		all[uri] = string(raw)
	}
	return all
}

func (m *restartModel) uris() (list []ahp.URI) {
	m.w.h.seq.mu.Lock()
	defer m.w.h.seq.mu.Unlock()
	for uri := range m.w.h.seq.channels {
		list = append(list, uri)
	}
	return list
}

func (m *restartModel) list() (list []ahp.SessionSummary) {
	for _, s := range m.w.h.visibleSessions(Local) {
		list = append(list, *s)
	}
	return list
}

// TestRetention: sessions that nobody uses go when they are too old, or the oldest
// of them when all together are too large; one with a viewer or a turn stays, and
// what went does not come back.
func TestRetention(t *testing.T) {
	for name, r := range map[string]Retention{"age": {Age: time.Hour}, "size": {Bytes: 16_000}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{Store: newMortal(), Retention: r})
				for _, id := range []string{"old", "viewed", "busy", "new"} {
					session, chat := "ahp-session:/"+id, "ahp-chat:/"+id
					if err := errors.Join(w.h.Create(session, labSession(id), ""), w.h.Create(chat, labChat(chat), session)); err != nil {
						t.Fatal(err)
					}
					for i := range 5 {
						w.turn(chat, fmt.Sprint("t", i))
					}
					if id == "viewed" {
						p := w.peer("a")
						p.initialize("a", chat)
					}
					if id == "busy" {
						w.h.Apply(chat, &ahp.ChatTurnStarted{TurnID: "t", StartedAt: Now(), Message: &ahp.Message{Text: "hello"}})
					}
					_ = sleep(t.Context(), 20*time.Minute)
				}
				sessions := func() (ids []string) {
					for _, s := range w.h.visibleSessions(Local) {
						ids = append(ids, s.Title)
					}
					slices.Sort(ids)
					return ids
				}
				for range 2 {
					if got, want := fmt.Sprint(sessions()), "[busy new viewed]"; got != want {
						t.Errorf("left: %s, want %s", got, want)
					}
					if err := w.restart(true); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// late is an archive whose writes fail after a moment.
type late struct{ *mortal }

func (l late) Write(group []*journal.Record) error {
	if len(group) > 0 && strings.Contains(string(group[0].Body), "unwritten") {
		time.Sleep(time.Second)
		return errDead
	}
	return l.mortal.Write(group)
}

// TestShutdownWithoutAStore: a store that stops taking records in the moment of the
// end holds it up for Limits.ShutdownFlush at most.
func TestShutdownWithoutAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Store: late{newMortal()}})
		if err := w.h.Create("ahp-session:/s", labSession("s"), ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.h.Apply("ahp-session:/s", &ahp.SessionTitleChanged{Title: "unwritten"})
		began := time.Now()
		if err := w.h.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > w.h.limits.ShutdownFlush+2*time.Second {
			t.Errorf("the end took %v", took)
		}
	})
}
