package session

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// takesASecond is an agent whose turns end by themselves.
func takesASecond(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
	select {
	case <-time.After(time.Second):
		return agent.Outcome{}
	case <-s.cancelled(p.TurnID):
		return agent.Outcome{Result: agent.Cancelled}
	case <-ctx.Done():
		return agent.Outcome{Result: agent.Cancelled}
	}
}

func seconds(n int) {
	time.Sleep(time.Duration(n)*time.Second + time.Millisecond)
	synctest.Wait()
}

// Queued messages become turns one by one, in order, each at the end of the one
// before.
func TestQueueIsConsumedInOrder(t *testing.T) {
	start(t, &puppet{turn: takesASecond}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "one"))
		a.dispatch(chat, queue("q2", "two"))
		a.dispatch(chat, queue("q3", "three"))
		a.dispatch(chat, queue("q4", "four"))
		a.dispatch(chat, `{"type":"chat/queuedMessagesReordered","order":["q4","q2"]}`)
		a.dispatch(chat, `{"type":"chat/pendingMessageRemoved","kind":"queued","id":"q3"}`)
		equal(t, "prompts", w.puppet.prompted(), "one")
		seconds(1)
		equal(t, "prompts", w.puppet.prompted(), "one", "four")
		seconds(5)
		equal(t, "prompts", w.puppet.prompted(), "one", "four", "two")
		if s := w.chat(chat); s.QueuedMessages != nil || s.ActiveTurn != nil || s.Turns.Len() != 3 {
			t.Errorf("queue %v, active %v, %d turns", s.QueuedMessages, s.ActiveTurn, s.Turns.Len())
		}
	})
}

// A message that is queued while the chat is idle starts at once: first it
// leaves the queue, then its turn begins (AHP channels, 2.3).
func TestQueueWhileIdle(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, queue("q1", "one"))
		equal(t, "prompts", w.puppet.prompted(), "one")
		var order []string
		for _, m := range a.taken("action", `"channel":"`+chat+`"`) {
			for _, kind := range []string{"chat/pendingMessageSet", "chat/pendingMessageRemoved", "chat/turnStarted"} {
				if len(order) < 3 && strings.Contains(m, kind) {
					order = append(order, kind)
				}
			}
		}
		equal(t, "order", order, "chat/pendingMessageSet", "chat/pendingMessageRemoved", "chat/turnStarted")
	})
}

func TestQueueRestsAfterACancelOrAnError(t *testing.T) {
	for _, tc := range []struct {
		name string
		turn func(context.Context, *puppetSession, agent.Prompt) agent.Outcome
		end  func(a *peer, chat ahp.URI)
	}{
		{"cancel", takesASecond, func(a *peer, chat ahp.URI) { a.dispatch(chat, cancelTurn("t1")) }},
		{"error", func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
			if takesASecond(ctx, s, p); p.TurnID == "t1" {
				return agent.Outcome{Result: agent.Failed}
			}
			return agent.Outcome{}
		}, func(*peer, ahp.URI) {}},
		{"cancel by the agent", func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
			if takesASecond(ctx, s, p); p.TurnID == "t1" {
				return agent.Outcome{Result: agent.Cancelled}
			}
			return agent.Outcome{}
		}, func(*peer, ahp.URI) {}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start(t, &puppet{turn: tc.turn}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
				a.dispatch(chat, startTurn("t1", "one"))
				a.dispatch(chat, queue("q2", "two"))
				tc.end(a, chat)
				seconds(60)
				equal(t, "prompts", w.puppet.prompted(), "one")
				if n := len(w.chat(chat).QueuedMessages); n != 1 {
					t.Fatalf("%d queued messages", n)
				}
				a.dispatch(chat, queue("q3", "three")) // the user acts
				seconds(5)
				equal(t, "prompts", w.puppet.prompted(), "one", "two", "three")
			})
		})
	}
}

// A turn a client starts itself also lets the queue go on when it completes.
func TestQueueGoesOnAfterTheUsersTurn(t *testing.T) {
	start(t, &puppet{turn: takesASecond}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "one"))
		a.dispatch(chat, queue("q2", "two"))
		a.dispatch(chat, cancelTurn("t1"))
		a.dispatch(chat, startTurn("t3", "three"))
		seconds(5)
		equal(t, "prompts", w.puppet.prompted(), "one", "three", "two")
	})
}

func TestQueueBound(t *testing.T) {
	start(t, &puppet{turn: holdTurns}, Options{Limits: Limits{QueuedMessages: 3}}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "one"))
		for i := range 3 {
			a.dispatch(chat, queue(fmt.Sprint("q", i), "x"))
		}
		if got := a.try(chat, queue("q3", "x")); got != "busy: the queue is full" {
			t.Errorf("refused with %q", got)
		}
	})
}

// An agent that cannot be steered leaves the message where it is; at the end of
// the turn it becomes the next one, before the queue.
func TestSteeringIsPromoted(t *testing.T) {
	start(t, &puppet{turn: takesASecond}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "one"))
		a.dispatch(chat, queue("q", "queued"))
		a.dispatch(chat, pend("steering", "s", "steered"))
		if s := w.chat(chat); s.SteeringMessage == nil {
			t.Fatal("the steering message is gone")
		}
		seconds(5)
		equal(t, "prompts", w.puppet.prompted(), "one", "steered", "queued")
		if w.chat(chat).SteeringMessage != nil {
			t.Error("the steering message is still there")
		}
	})
}

func TestSteeringWhileIdleIsKept(t *testing.T) {
	start(t, &puppet{describe: agent.Description{Steering: true}}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, pend("steering", "s", "steered"))
		equal(t, "prompts", w.puppet.prompted())
		if w.chat(chat).SteeringMessage == nil {
			t.Error("the steering message is gone")
		}
	})
}

// A steering message that was left behind starts nothing, nor does it go before
// what the user queues; it follows when a turn completes.
func TestSteeringLeftBehind(t *testing.T) {
	start(t, &puppet{}, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, pend("steering", "s", "steered"))
		a.dispatch(chat, queue("q", "queued"))
		equal(t, "prompts", w.puppet.prompted(), "queued", "steered")
	})
}

// What an agent emits after its prompt has returned is dropped, also while the
// turn waits for a steering message to be settled.
func TestEventsBetweenPromptAndEnd(t *testing.T) {
	p := &puppet{turn: takesASecond, describe: agent.Description{Steering: true}}
	p.steer = func(ctx context.Context, m *ahp.Message) bool {
		<-ctx.Done()
		p.sessions()[0].say(context.Background(), "t1", "late")
		return true
	}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "one"))
		a.dispatch(chat, pend("steering", "s", "left"))
		seconds(5)
		if got := w.transcript(chat, "t1"); got != "" {
			t.Errorf("transcript %q", got)
		}
	})
}

// A message the agent takes leaves the chat and becomes no turn, even if the
// turn ends while it is being taken.
func TestSteeringIsTaken(t *testing.T) {
	var steered []string
	p := &puppet{turn: takesASecond, describe: agent.Description{Steering: true}}
	p.steer = func(ctx context.Context, m *ahp.Message) bool {
		select {
		case <-time.After(10 * time.Second):
		case <-ctx.Done(): // the turn is over, and it had taken the message just before
		}
		steered = append(steered, m.Text)
		return true
	}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "one"))
		a.dispatch(chat, pend("steering", "s", "left"))
		seconds(60)
		equal(t, "steered", steered, "left")
		equal(t, "prompts", w.puppet.prompted(), "one")
		if w.chat(chat).SteeringMessage != nil {
			t.Error("the steering message is still there")
		}
	})
}

func TestSteeringIsRefused(t *testing.T) {
	p := &puppet{turn: takesASecond, describe: agent.Description{Steering: true}}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "one"))
		a.dispatch(chat, pend("steering", "s", "steered"))
		seconds(5)
		equal(t, "prompts", w.puppet.prompted(), "one", "steered")
	})
}

// A message that takes the place of one that is just being taken stays.
func TestSteeringIsReplacedMeanwhile(t *testing.T) {
	var steered []string
	p := &puppet{turn: holdTurns, describe: agent.Description{Steering: true}}
	p.steer = func(ctx context.Context, m *ahp.Message) bool {
		time.Sleep(time.Second)
		steered = append(steered, m.Text)
		return m.Text == "left"
	}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "one"))
		a.dispatch(chat, pend("steering", "s", "left"))
		a.dispatch(chat, pend("steering", "s", "right"))
		seconds(5)
		equal(t, "steered", steered, "left", "right")
		if m := w.chat(chat).SteeringMessage; m == nil || m.Message.Text != "right" {
			t.Errorf("steering message %+v", m)
		}
	})
}

// An agent that drains is offered nothing: the message would go with its turn.
func TestSteeringWhileDraining(t *testing.T) {
	var steered []string
	p := &puppet{turn: slowToStop(2 * time.Second), describe: agent.Description{Steering: true}}
	p.steer = func(_ context.Context, m *ahp.Message) bool {
		steered = append(steered, m.Text)
		return true
	}
	start(t, p, Options{}, func(w *world, a *peer, _, chat ahp.URI) {
		a.dispatch(chat, startTurn("t1", "one"))
		a.dispatch(chat, cancelTurn("t1"))
		a.dispatch(chat, pend("steering", "s", "left"))
		seconds(5)
		equal(t, "steered", steered)
		if w.chat(chat).SteeringMessage == nil {
			t.Error("the steering message is gone")
		}
	})
}
