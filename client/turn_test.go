package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
)

func TestTurnFromSendToEnd(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		turn := must(chat.Send(t.Context(), "hello"))(t)
		done := must(turn.Wait(t.Context()))(t)
		if done.State != ahp.TurnComplete || markdown(done.ResponseParts) != "ok: hello" {
			t.Errorf("turn ended %s with %q", done.State, markdown(done.ResponseParts))
		}
		wantSame(t, "chat", chat.State(), w.chatState(chat.URI()))
	})
}

func TestOwnTurnShowsBeforeTheHostHasSeenIt(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		w.link("laptop").Stall()
		turn := chat.Start(ahp.UserMessage("hello"))
		if a := chat.State().ActiveTurn; a == nil || a.ID != turn.ID() {
			t.Errorf("active turn %+v, want the own one at once", a)
		}
		if a := chat.Confirmed().(*ahp.ChatState).ActiveTurn; a != nil {
			t.Errorf("confirmed active turn %+v, want none", a)
		}
		if n := len(chat.Unconfirmed()); n != 1 {
			t.Errorf("%d unconfirmed, want 1", n)
		}
	})
}

func TestSecondTurnIsRejectedWithTheReason(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.agent.turn = untilCancelled
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		first := must(chat.Send(t.Context(), "first"))(t)
		second, err := chat.Send(t.Context(), "second")
		var rejected *client.RejectedError
		if !errors.As(err, &rejected) || rejected.Reason == "" {
			t.Errorf("second turn: %v, want a rejection with a reason", err)
		}
		if _, err := second.Wait(t.Context()); !errors.As(err, &rejected) {
			t.Errorf("waiting for it: %v, want the rejection", err)
		}
		if a := chat.State().ActiveTurn; a == nil || a.ID != first.ID() {
			t.Errorf("active turn %+v, want the first", a)
		}
	})
}

func TestCancelEndsTheTurn(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.agent.turn = untilCancelled
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		_, err := chat.Cancel()
		wantErr(t, "cancel without a turn", err, client.ErrNoActiveTurn)
		turn := must(chat.Send(t.Context(), "go"))(t)
		time.Sleep(time.Second)
		if err := must(chat.Cancel())(t).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		done := must(turn.Wait(t.Context()))(t)
		if done.State != ahp.TurnCancelled || *done.Duration < 1000 {
			t.Errorf("turn ended %s after %v ms", done.State, *done.Duration)
		}
	})
}

func TestConfirmDecidesAWaitingCall(t *testing.T) {
	for _, approve := range []bool{true, false} {
		bubble(t, func(t *testing.T, w *world) {
			var decided agent.Decision
			w.agent.turn = func(ctx context.Context, h agent.Host, p agent.Prompt) agent.Outcome {
				_ = h.Emit(ctx, agent.ToolStarted{TurnID: p.TurnID, ToolCallID: "call", ToolName: "rm"})
				decided, _ = h.Confirm(ctx, agent.Confirmation{TurnID: p.TurnID, ToolCallID: "call", Message: ahp.Plain("Remove")})
				return agent.Outcome{Result: agent.Completed}
			}
			c := w.dial("laptop", client.Options{})
			_, chat := w.newSession(c)
			_, err := chat.Confirm("call", true, client.ConfirmOptions{})
			wantErr(t, "confirm too early", err, client.ErrNotWaiting)
			turn := must(chat.Send(t.Context(), "go"))(t)
			err = chat.Wait(t.Context(), func(s any) bool {
				call := s.(*ahp.ChatState).ToolCallByID(turn.ID(), "call")
				return call != nil && call.WaitsForUser()
			})
			if err != nil {
				t.Fatal(err)
			}
			if calls := chat.WaitingCalls(); len(calls) != 1 || calls[0].ToolCallID != "call" {
				t.Errorf("waiting calls %v", calls)
			}
			d := must(chat.Confirm("call", approve, client.ConfirmOptions{Message: "no thanks"}))(t)
			if err := d.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			must(turn.Wait(t.Context()))(t)
			if decided.Approved != approve {
				t.Errorf("agent was told %+v, want approved %v", decided, approve)
			}
		})
	}
}

func TestQueuedMessageRunsAfterTheTurn(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		w.agent.turn = func(context.Context, agent.Host, agent.Prompt) agent.Outcome {
			<-release
			return agent.Outcome{Result: agent.Completed}
		}
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		must(chat.Send(t.Context(), "first"))(t)
		_, d := chat.Queue(ahp.UserMessage("second"))
		id, dropped := chat.Queue(ahp.UserMessage("third"))
		for _, d := range []*client.Dispatch{d, dropped, chat.Unqueue(id)} {
			if err := d.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		close(release)
		err := chat.Wait(t.Context(), func(s any) bool { return s.(*ahp.ChatState).Turns.Len() == 2 })
		if got := w.agent.prompted(); err != nil || len(got) != 2 || got[1] != "second" {
			t.Errorf("prompts %q, %v", got, err)
		}
	})
}

// Case 8: a waiter settles when the turn ends while nobody was connected; the
// waiter of a client that is torn down gets an error.
func TestWaiterSettlesWhenTheTurnEndsInTheGap(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		w.agent.turn = func(context.Context, agent.Host, agent.Prompt) agent.Outcome {
			<-release
			return agent.Outcome{Result: agent.Completed}
		}
		c, torn := w.dial("laptop", client.Options{}), w.dial("desk", client.Options{})
		_, chat := w.newSession(c)
		turn := must(chat.Send(t.Context(), "go"))(t)
		other := must(torn.Chat(t.Context(), chat.URI()))(t)
		tornDown := make(chan error)
		go func() {
			_, err := other.Turn(turn.ID()).Wait(t.Context())
			tornDown <- err
		}()
		synctest.Wait()

		w.link("laptop").Refuse(true)
		w.link("laptop").Cut()
		_ = torn.Close()
		wantErr(t, "waiter of the client torn down", <-tornDown, client.ErrClosed)
		close(release)
		synctest.Wait()
		w.link("laptop").Refuse(false)
		if done := must(turn.Wait(t.Context()))(t); done.State != ahp.TurnComplete {
			t.Errorf("turn ended %s", done.State)
		}

		late := w.dial("desk", client.Options{})
		seen := must(late.Chat(t.Context(), chat.URI()))(t)
		if done := must(seen.Turn(turn.ID()).Wait(t.Context()))(t); done.State != ahp.TurnComplete {
			t.Errorf("turn seen by the new client ended %s", done.State)
		}
	})
}

func TestWaiterSettlesWhenTheSessionIsDisposed(t *testing.T) {
	for _, follow := range []string{"chat alone", "chat and session"} {
		bubble(t, func(t *testing.T, w *world) {
			w.agent.turn = untilCancelled
			c, other := w.dial("laptop", client.Options{}), w.dial("desk", client.Options{})
			s, chat := w.newSession(c)
			turn := must(chat.Send(t.Context(), "go"))(t)
			theirs := must(other.Chat(t.Context(), chat.URI()))(t)
			if follow != "chat alone" {
				must(other.Session(t.Context(), s.URI()))(t)
				must(other.Root(t.Context()))(t)
			}
			if err := c.DisposeSession(t.Context(), s.URI()); err != nil {
				t.Fatal(err)
			}
			done, err := theirs.Turn(turn.ID()).Wait(t.Context())
			if err == nil && done.State != ahp.TurnCancelled {
				t.Errorf("%s: turn ended %s", follow, done.State)
			}
			synctest.Wait()
			if follow != "chat alone" {
				wantErr(t, follow, theirs.Err(), client.ErrChannelGone)
			}
		})
	}
}

// A host is silent about actions for a channel that does not exist.
func TestActionForAVanishedChatEnds(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c, other := w.dial("laptop", client.Options{}), w.dial("desk", client.Options{})
		s, chat := w.newSession(c)
		theirs := must(other.Chat(t.Context(), chat.URI()))(t)
		if err := c.DisposeSession(t.Context(), s.URI()); err != nil {
			t.Fatal(err)
		}
		turn, err := theirs.Send(t.Context(), "anybody there?")
		wantErr(t, "send", err, client.ErrUnknownOutcome)
		if _, err := turn.Wait(t.Context()); err == nil {
			t.Error("waiting for the turn succeeded")
		}
		<-theirs.Done()
		wantErr(t, "channel", theirs.Err(), client.ErrChannelGone)
		wantErr(t, "another action", theirs.Dispatch(&ahp.ChatIsReadChanged{}).Err(), client.ErrChannelGone)
	})
}

func TestTruncatedTurnIsGone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		turn := must(chat.Send(t.Context(), "go"))(t)
		must(turn.Wait(t.Context()))(t)
		if err := chat.Dispatch(&ahp.ChatTruncated{}).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := turn.Wait(t.Context())
		wantErr(t, "wait", err, client.ErrTurnGone)
	})
}

func TestOlderTurnsArePaged(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		for range 120 {
			turn := must(chat.Send(t.Context(), "go"))(t)
			must(turn.Wait(t.Context()))(t)
		}
		other := w.dial("desk", client.Options{})
		part := must(other.ChatView(t.Context(), chat.URI(), client.SubscribeOptions{Turns: 3}))(t)
		if n := part.State().Turns.Len(); n != 3 {
			t.Errorf("%d turns in the view, want 3", n)
		}
		for more := true; more; {
			more = must(part.FetchTurns(t.Context()))(t)
		}
		wantSame(t, "turns", part.State().Turns, chat.State().Turns)
	})
}
