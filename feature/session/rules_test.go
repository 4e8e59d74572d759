package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// The rules of AHP channels, part 4, that are a host's duty.

// Rule 3: session/ready and session/creationFailed never touch the status, and
// no session action sets InProgress or Error.
func TestRule3_CreationLeavesTheStatus(t *testing.T) {
	p := &puppet{}
	p.open = slowly(time.Second)
	bubble(t, p, Options{}, func(w *world) {
		a := w.dial("a")
		a.result("createSession", `{"channel":"ahp-session:/s"}`)
		a.dispatch("ahp-session:/s", `{"type":"session/isReadChanged","isRead":true}`)
		before := w.state("ahp-session:/s").Status
		wait(2 * time.Second)
		s := w.state("ahp-session:/s")
		if s.Lifecycle != ahp.LifecycleReady || s.Status != before {
			t.Errorf("%s with status %d, before %d", s.Lifecycle, s.Status, before)
		}
		p.turn = outcome(agent.Outcome{Result: agent.Failed})
		a.dispatch(*s.DefaultChat, startTurn("t1", "x"))
		if got := w.state("ahp-session:/s").Status; got != before {
			t.Errorf("status %d after an error", got)
		}
	})
}

// Rule 7: IsRead is cleared by the start of a turn, a question and a resume, and
// not by the end of a turn, an error or the confirmation of a tool.
func TestRule7_WhatMakesAChatUnread(t *testing.T) {
	read := `{"type":"chat/isReadChanged","isRead":true}`
	for _, tc := range []struct {
		name  string
		p     *puppet
		steps []string
		read  bool
	}{
		{"start", &puppet{turn: holdTurns}, on(read, startAt("t1")), false},
		{"end", &puppet{turn: holdTurns}, on(startAt("t1"), read, cancelTurn("t1")), true},
		{"confirmation", &puppet{turn: asks}, on(startAt("t1"), read, approve("t1", "c", "")), true},
		{"a queued message", &puppet{turn: holdTurns}, on(read, queue("q1", "x")), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start(t, tc.p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
				for _, step := range tc.steps {
					a.dispatch(chat, step)
				}
				if got := w.chat(chat).Status.Has(ahp.StatusIsRead); got != tc.read {
					t.Errorf("read: %t, want %t", got, tc.read)
				}
			})
		})
	}
}

func startAt(id string) string {
	return `{"type":"chat/turnStarted","turnId":"` + id + `","startedAt":"2026-01-01T00:00:00.000Z","message":` + message("x") + `}`
}

// Rule 8: a reducer has no clock. A chat's modifiedAt is when a turn started, and
// that plus its duration when it ended, which the summaries follow.
func TestRule8_TimeComesFromTheActions(t *testing.T) {
	start(t, &puppet{turn: takesASecond}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.dispatch(chat, startAt("t1"))
		if got := w.chat(chat).ModifiedAt; got != "2026-01-01T00:00:00.000Z" {
			t.Errorf("modified at %s", got)
		}
		seconds(1)
		for what, got := range map[string]string{"chat": w.chat(chat).ModifiedAt, "session": w.state(session).Chats[0].ModifiedAt} {
			if got != "2026-01-01T00:00:01.000Z" {
				t.Errorf("%s modified at %s", what, got)
			}
		}
	})
}

// Rule 9: a duration is counted by the host from when it learned of the turn,
// and not computed from the time a client claims.
func TestRule9_DurationsAreCounted(t *testing.T) {
	for name, end := range map[string]func(w *world, a *peer){
		"complete":  func(*world, *peer) { seconds(1) },
		"by a stop": func(w *world, a *peer) { time.Sleep(time.Second - time.Millisecond); w.end() },
	} {
		t.Run(name, func(t *testing.T) {
			start(t, &puppet{turn: takesASecond}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
				a.dispatch(chat, startAt("t1"))
				end(w, a)
				turn := w.chat(chat).Turns.At(0)
				if d := *turn.Duration; d < 999 || d > 1000 {
					t.Errorf("duration %v", d)
				}
			})
		})
	}
}

// Rule 20: a turn started while another runs would throw that away. The host
// rejects it and the first goes on with all it has.
func TestRule20_SecondTurnIsRejected(t *testing.T) {
	start(t, &puppet{turn: asks}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		b := w.dial("b", chat)
		a.dispatch(chat, startTurn("t1", "one"))
		before := canonical(w.chat(chat))
		for _, id := range []string{"t1", "t2"} {
			if got := b.try(chat, startTurn(id, "two")); got != turnInProgress {
				t.Errorf("%s refused with %q", id, got)
			}
		}
		if got := canonical(w.chat(chat)); string(got) != string(before) {
			t.Errorf("the state became %s", got)
		}
		a.dispatch(chat, approve("t1", "c", ""))
		equal(t, "turns", w.turns(chat), "t1=complete")
		equal(t, "prompts", w.puppet.prompted(), "one")
	})
}

// Of many that start a turn at once one wins, the rest are told so, and one
// prompt goes out.
func TestRule20_ManyStartATurnAtOnce(t *testing.T) {
	start(t, &puppet{turn: holdTurns}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		var peers []*peer
		for i := range 10 {
			peers = append(peers, w.dial(fmt.Sprint("p", i)))
		}
		for i, p := range peers {
			p.post(chat, startTurn(fmt.Sprint("t", i), fmt.Sprint(i)))
		}
		accepted := 0
		for _, p := range peers {
			for _, m := range p.taken("action", "chat/turnStarted") {
				if rejection(m) == "" {
					accepted++
				}
			}
		}
		if accepted != 1 || len(w.puppet.prompted()) != 1 {
			t.Errorf("%d accepted, prompts %q", accepted, w.puppet.prompted())
		}
	})
}

// Rule 28: a partial update cannot clear a member; the mirrors write the empty
// text, and no null.
func TestRule28_MirrorsClearWithoutNull(t *testing.T) {
	p := &puppet{turn: holdTurns}
	start(t, p, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.subscribe(ahp.RootURI)
		a.dispatch(chat, startTurn("t1", "x"))
		_ = p.sessions()[0].host.Emit(t.Context(), agent.Activity{Text: "thinking"})
		a.take()
		a.dispatch(chat, cancelTurn("t1"))
		msgs := strings.Join(a.take(), "\n")
		for _, method := range []string{"session/chatUpdated", "root/sessionSummaryChanged"} {
			if !strings.Contains(msgs, method) {
				t.Errorf("no %s", method)
			}
		}
		if !strings.Contains(msgs, `"activity":""`) || strings.Contains(msgs, "null") {
			t.Errorf("cleared with %s", msgs)
		}
		if got := w.state(session).Chats[0].Activity; got != nil && *got != "" {
			t.Errorf("activity %q in the session", *got)
		}
	})
}

// Rule 34: reducers check no permission; the host does, before it applies.
func TestRule34_ThePermissionsAreTheHosts(t *testing.T) {
	start(t, &puppet{turn: holdTurns}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		w.brings(chat, "c", `,"confirmed":"not-needed"`)
		before := string(canonical(w.chat(chat))) + string(canonical(w.state(session)))
		for _, tc := range []struct{ channel, action string }{
			{chat, `{"type":"chat/toolCallComplete","turnId":"t1","toolCallId":"c","result":{"success":true,"pastTenseMessage":"p"}}`}, // ownership
			{chat, `{"type":"chat/turnComplete","turnId":"t1","duration":1}`},                                                          // not a client's
			{session, `{"type":"session/ready"}`},
			{session, join("b")},                                                                   // claim
			{session, `{"type":"session/configChanged","config":{"fixed":"y"}}`},                   // sessionMutable
			{session, `{"type":"session/workingDirectoryRemoved","directory":"file:///x"}`},        // immutable directories
			{chat, `{"type":"chat/workingDirectorySet","directory":"file:///x"}`},                  // the same
			{session, `{"type":"session/chatAdded","summary":{"resource":"ahp-chat:/forged"}}`},    // mirrors
			{session, `{"type":"session/defaultChatChanged","defaultChat":"ahp-chat:/elsewhere"}`}, // the same
		} {
			if got := a.try(tc.channel, tc.action); got == "" {
				t.Errorf("%s was accepted", tc.action)
			}
		}
		if got := string(canonical(w.chat(chat))) + string(canonical(w.state(session))); got != before {
			t.Errorf("the state became %s", got)
		}
	})
}

// Rule 35: a client's action that changes nothing still gets a number and an
// echo.
func TestRule35_ActionsWithoutChangeAreEchoed(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		b := w.dial("b", session, chat)
		before := w.h.Seq()
		for i, action := range []string{
			`{"type":"chat/isReadChanged","isRead":false}`, `{"type":"chat/queuedMessagesReordered","order":["x"]}`, `{"type":"chat/truncated"}`,
		} {
			a.dispatch(chat, action)
			if got := w.h.Seq(); got != before+uint64(i)+1 {
				t.Errorf("%s has number %d", action, got)
			}
		}
		a.dispatch(session, `{"type":"session/activeClientRemoved","clientId":"a"}`)
		if got := b.taken("action"); len(got) != 4 {
			t.Errorf("another client saw %q", got)
		}
	})
}

// Rule 36: the summaries are kept by the host: the chat's in its session, the
// session's in the list.
func TestRule36_MirrorsFollow(t *testing.T) {
	start(t, &puppet{turn: asks}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.subscribe(ahp.RootURI)
		check := func(phase string, want ahp.Status) {
			t.Helper()
			w.summary(a, session, phase, want)
			if got := w.state(session).Chats[0].Status.Activity(); got != want {
				t.Errorf("%s: the session's copy has status %d, want %d", phase, got, want)
			}
		}
		check("idle", ahp.StatusIdle)
		a.dispatch(chat, startTurn("t1", "x"))
		check("asking", ahp.StatusInputNeeded)
		a.dispatch(chat, approve("t1", "c", ""))
		check("done", ahp.StatusIdle)
		w.puppet.turn = holdTurns
		a.dispatch(chat, startTurn("t2", "x"))
		check("running", ahp.StatusInProgress)
		w.puppet.turn = outcome(agent.Outcome{Result: agent.Failed})
		a.dispatch(chat, cancelTurn("t2"))
		a.dispatch(chat, startTurn("t3", "x"))
		check("failed", ahp.StatusError)
		a.dispatch(session, `{"type":"session/titleChanged","title":"Mine"}`)
		a.dispatch(session, `{"type":"session/isReadChanged","isRead":true}`)
		got := strings.Join(a.taken("root/sessionSummaryChanged"), "\n")
		if !strings.Contains(got, `"title":"Mine"`) || !strings.Contains(got, `"status":34`) {
			t.Errorf("told %s", got)
		}
		w.summary(a, session, "read", ahp.StatusError)
	})
}

// summary checks the activity of a session in the list.
func (w *world) summary(a *peer, session ahp.URI, phase string, want ahp.Status) {
	w.t.Helper()
	items, _ := jsonrpc.Member(a.result("listSessions", `{"channel":"ahp-root://"}`), "items")
	var list []ahp.SessionSummary
	if err := ahp.Unmarshal(items, &list); err != nil {
		w.t.Fatal(err)
	}
	for _, s := range list {
		if s.Resource == session {
			if got := s.Status.Activity(); got != want {
				w.t.Errorf("%s: status %d in the list, want %d", phase, got, want)
			}
			return
		}
	}
	w.t.Errorf("%s: the session is not in the list", phase)
}

// The list is right whoever looks: also for a client that was away while turns
// ran and ended (cases 8, 11, 18).
func TestListAfterAnAbsence(t *testing.T) {
	start(t, &puppet{turn: takesASecond}, Options{}, func(w *world, a *peer, session, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "x"))
		w.summary(a, session, "running", ahp.StatusInProgress)
		a.cut() // nobody watches
		seconds(600)
		b := w.reconnect(a, session, chat)
		w.summary(b, session, "after the turn", ahp.StatusIdle)
		equal(t, "turns", w.turns(chat), "t1=complete")
	})
}

// What a cancelled turn still brings is nowhere, and its end is told once (cases
// 98, 99).
func TestCancelledTurnEndsOnce(t *testing.T) {
	start(t, &puppet{turn: slowToStop(2 * time.Second)}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		b := w.dial("b", chat)
		a.dispatch(chat, startTurn("t1", "one"))
		a.dispatch(chat, cancelTurn("t1"))
		a.dispatch(chat, startTurn("t2", "two"))
		wait(5 * time.Second)
		ends, after := 0, 0
		for _, m := range b.taken("action", `"turnId":"t1"`) {
			if strings.Contains(m, "chat/turnCancelled") {
				ends++
			} else if ends > 0 {
				after++
			}
		}
		if ends != 1 || after != 0 {
			t.Errorf("%d ends, %d messages after the first", ends, after)
		}
	})
}
