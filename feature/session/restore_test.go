package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/journal"
)

// mortal is an archive whose host can be killed.
type mortal struct {
	*journal.Memory
	dead atomic.Bool
}

func (m *mortal) Write(group []*journal.Record) error {
	if m.dead.Load() {
		return errors.New("the process was killed")
	}
	return m.Memory.Write(group)
}

func (m *mortal) Save(img *journal.Image) error {
	if m.dead.Load() {
		return errors.New("the process was killed")
	}
	return m.Memory.Save(img)
}

func (m *mortal) Close() error {
	if m.dead.Load() {
		return nil
	}
	return m.Memory.Close()
}

// life is one host on an archive, with agents of its own.
func (m *mortal) life(t *testing.T, p *puppet) *world {
	t.Helper()
	m.dead.Store(false)
	w := &world{t: t, f: New(Options{Providers: []agent.Provider{p}}), puppet: p}
	var err error
	if w.h, err = host.New(t.Context(), host.Options{Features: []host.Feature{w.f}, Store: m}); err != nil {
		t.Fatal(err)
	}
	return w
}

// kill ends a host without anything more of it being written.
func (m *mortal) kill(w *world) {
	w.t.Helper()
	synctest.Wait()
	m.dead.Store(true)
	if err := w.h.Shutdown(context.Background()); err != nil {
		w.t.Error(err)
	}
	w.serving.Wait()
}

const goText = `"startedAt":"2026-01-01T00:00:00.000Z","message":{"text":%q,"origin":{"kind":"user"}}}`

func turnStarted(id, text string) string {
	return fmt.Sprintf(`{"type":"chat/turnStarted","turnId":%q,`+goText, id, text)
}

// TestRestart: what a killed host had under way is closed, once, with an error that
// says so, and started by nobody; what was queued is queued; a client that took part
// has its time to return; and the chat goes on with an agent that is opened where it
// was.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mortal{Memory: journal.NewMemory(100)}
		first := &puppet{turn: func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
			select {
			case <-s.cancelled(p.TurnID):
			case <-ctx.Done():
			}
			return agent.Outcome{Result: agent.Cancelled}
		}}
		w := m.life(t, first)
		a := w.dial("a")
		session, chat := w.session(a)
		a.dispatch(session, `{"type":"session/activeClientSet","activeClient":{"clientId":"a","tools":[]}}`)
		a.dispatch(chat, turnStarted("t1", "long"))
		a.dispatch(chat, `{"type":"chat/pendingMessageSet","kind":"queued","id":"q1","message":{"text":"queued","origin":{"kind":"user"}}}`)
		m.kill(w)

		second := &puppet{}
		for range 2 { // the second time there is nothing to close
			w = m.life(t, second)
			if got, want := w.turns(chat), []string{"t1=error"}; !slices.Equal(got, want) {
				t.Fatalf("turns %v, want %v", got, want)
			}
			part, ok := w.chat(chat).Turns.At(0).ResponseParts.At(0).Part.(*ahp.ErrorPart)
			if !ok || part.Error.ErrorType != "hostRestarted" {
				t.Errorf("the turn ended with %+v", part)
			}
			if q := w.chat(chat).QueuedMessages; len(q) != 1 || q[0].ID != "q1" {
				t.Errorf("queued: %+v", q)
			}
			if ids := w.active(session); !slices.Equal(ids, []string{"a"}) {
				t.Errorf("active clients: %v", ids)
			}
			if prompts := second.prompted(); len(prompts) > 0 {
				t.Errorf("prompted by nobody: %q", prompts)
			}
			m.kill(w)
		}

		w = m.life(t, second)
		a = w.reconnect(a, session, chat)
		a.seq = 10
		a.dispatch(chat, turnStarted("t2", "go on"))
		synctest.Wait()
		if got, want := second.prompted(), []string{"go on", "queued"}; !slices.Equal(got, want) {
			t.Errorf("prompted %q, want %q", got, want)
		}
		spec := second.sessions()[0].spec
		if string(spec.ResumeToken) != "token" || spec.Turns != 1 || spec.Session != session {
			t.Errorf("the agent was opened with %+v", spec)
		}
		a.cut()
		time.Sleep(time.Minute)
		if ids := w.active(session); len(ids) > 0 {
			t.Errorf("active clients after the grace time: %v", ids)
		}
		m.kill(w)
	})
}

// TestIdleAgentsEnd: a chat that nobody needs lets go of its agent and leaves memory;
// a turn later opens another one, where it was, and is not lost whenever it comes.
func TestIdleAgentsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := &mortal{Memory: journal.NewMemory(100)}, &puppet{}
		w := m.life(t, p)
		a := w.dial("a")
		_, chat := w.session(a)
		b := w.dial("b")
		a.cut()
		for i := range 5 {
			time.Sleep(10*time.Minute + time.Duration(i)*300*time.Millisecond)
			if n := p.alive(); n != 0 {
				t.Errorf("%d agents live", n)
			}
			id := fmt.Sprint("t", i)
			b.dispatch(chat, turnStarted(id, id))
			synctest.Wait()
			if got := w.turns(chat); len(got) != i+1 || got[i] != id+"=complete" {
				t.Fatalf("turns: %v", got)
			}
			if sessions := p.sessions(); string(sessions[len(sessions)-1].spec.ResumeToken) != "token" {
				t.Error("the agent began anew")
			}
		}
		m.kill(w)
	})
}

// TestAgentNotOfferedAnyMore: a chat whose agent a later host does not have keeps its
// history, and a new turn ends with an error that says so.
func TestAgentNotOfferedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mortal{Memory: journal.NewMemory(100)}
		w := m.life(t, &puppet{})
		a := w.dial("a")
		_, chat := w.session(a)
		a.dispatch(chat, turnStarted("t1", "one"))
		m.kill(w)
		w = m.life(t, &puppet{describe: agent.Description{Provider: "other"}})
		b := w.dial("b", chat)
		b.dispatch(chat, turnStarted("t2", "two"))
		synctest.Wait()
		if got, want := w.turns(chat), []string{"t1=complete", "t2=error"}; !slices.Equal(got, want) {
			t.Errorf("turns %v, want %v", got, want)
		}
		m.kill(w)
	})
}

// TestSessionThatWasBeingMade: a creation that a killed host did not finish has
// failed.
func TestSessionThatWasBeingMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mortal{Memory: journal.NewMemory(100)}
		w := m.life(t, &puppet{open: func(ctx context.Context, _ agent.Spec, _ agent.Host) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}})
		a := w.dial("a")
		a.result("createSession", `{"channel":"ahp-session:/s"}`)
		m.kill(w)
		w = m.life(t, &puppet{})
		if s := w.state("ahp-session:/s"); s.Lifecycle != ahp.LifecycleFailed || s.CreationError == nil {
			t.Errorf("the session is %s: %+v", s.Lifecycle, s.CreationError)
		}
		m.kill(w)
	})
}
