package cases

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// endBound is how long a turn may outlive its agent: what a drain may take, and a
// moment.
const endBound = 11 * time.Second

// phases are the places in a turn where an agent may break. Each ends when its
// agent is where it should be; the agent then waits for its end.
var phases = map[string]func(ctx context.Context, a *actor, p agent.Prompt){
	"before the first word": func(context.Context, *actor, agent.Prompt) {},
	"after some words": func(ctx context.Context, a *actor, p agent.Prompt) {
		_ = a.Emit(ctx, agent.Text{TurnID: p.TurnID, Text: "well, "})
	},
	"with a call announced": announce,
	"with a call running": func(ctx context.Context, a *actor, p agent.Prompt) {
		announce(ctx, a, p)
		_ = a.Emit(ctx, agent.ToolRunning{TurnID: p.TurnID, ToolCallID: "call", Message: ahp.Plain("Running"), Confirmed: ahp.ConfirmedNotNeeded})
	},
	"awaiting consent": func(ctx context.Context, a *actor, p agent.Prompt) {
		announce(ctx, a, p)
		go func() {
			_, _ = a.Confirm(ctx, agent.Confirmation{TurnID: p.TurnID, ToolCallID: "call", Message: ahp.Plain("Run?")})
		}()
	},
	"awaiting an answer": func(ctx context.Context, a *actor, p agent.Prompt) {
		go func() { _, _ = a.Ask(ctx, p.TurnID, &ahp.ChatInputRequest{ID: "question"}) }()
	},
}

func announce(ctx context.Context, a *actor, p agent.Prompt) {
	_ = a.Emit(ctx, agent.ToolStarted{TurnID: p.TurnID, ToolCallID: "call", ToolName: "tool", DisplayName: "Tool"})
}

// ways are those in which an agent ends while its turn is open.
var ways = map[string]func(ctx context.Context, a *actor) agent.Outcome{
	"exits": func(_ context.Context, a *actor) agent.Outcome {
		a.die()
		return agent.Outcome{Result: agent.Failed}
	},
	"panics": func(context.Context, *actor) agent.Outcome { panic("as the case wants it") },
	"exits and never returns": func(ctx context.Context, a *actor) agent.Outcome {
		a.die()
		<-ctx.Done()
		return agent.Outcome{Result: agent.Failed}
	},
}

// Wherever in a turn an agent breaks, and however, the turn ends in an error
// within the bound, nothing of it stays open, and the chat goes on with a new
// agent (9).
func TestATurnEndsWhereverItsAgentBreaks(t *testing.T) {
	for phase, reach := range phases {
		for way, end := range ways {
			t.Run(fmt.Sprint(phase, "/", way), func(t *testing.T) {
				fall := func(ctx context.Context, a *actor, p agent.Prompt) agent.Outcome {
					if p.Message.Text != "break" {
						return talker(kilobytes)(ctx, a, p)
					}
					reach(ctx, a, p)
					time.Sleep(time.Second)
					return end(ctx, a)
				}
				bubble(t, fall, endsInError)
			})
		}
	}
}

func endsInError(t *testing.T, w *world) {
	c := w.client("laptop")
	list := must(c.Sessions(t.Context()))(t)
	session := w.session(c)
	chat := must(session.DefaultChat(t.Context()))(t)
	turn := must(chat.Send(t.Context(), "break"))(t)
	broken := time.Now().Add(time.Second)
	done := must(turn.Wait(t.Context()))(t)
	if took := time.Since(broken); took > endBound || done.State != ahp.TurnError {
		t.Errorf("the turn ended as %s, %v after its agent", done.State, took)
	}
	synctest.Wait()
	for _, part := range done.ResponseParts.All() {
		if p, ok := part.Part.(*ahp.ToolCallPart); ok && p.ToolCall.Status != ahp.ToolCancelled && p.ToolCall.Status != ahp.ToolCompleted {
			t.Errorf("the call is still %s", p.ToolCall.Status)
		}
	}
	if needed := session.State().InputNeeded; len(needed) != 0 {
		t.Errorf("the session still needs %+v", needed)
	}
	wantListed(t, "after the break", list.Items(), ahp.StatusError)
	if again := w.turn(chat, "1"); again.State != ahp.TurnComplete {
		t.Errorf("the next turn ended as %s", again.State)
	}
}
