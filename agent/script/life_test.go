package script

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/go-json-experiment/json/jsontext"
)

// inHost runs a test with a host in a bubble.
func inHost(t *testing.T, test func(t *testing.T, r *realHost)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRealHost(t, Options{})
		defer r.end()
		test(t, r)
	})
}

func send(t *testing.T, c *client.Chat, text string) *client.Turn {
	t.Helper()
	turn, err := c.Send(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func wait(t *testing.T, turn *client.Turn) *ahp.Turn {
	t.Helper()
	done, err := turn.Wait(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// An agent that ignores a cancel: the chat is idle at once, the next turn waits
// for the deadline, and another agent answers it (agents.md, 4.6, 1).
func TestDeafAgentIsReplaced(t *testing.T) {
	inHost(t, func(t *testing.T, r *realHost) {
		chat := r.chat()
		turn := send(t, chat, "stall")
		synctest.Wait()
		begun := time.Now()
		if _, err := chat.Cancel(); err != nil {
			t.Fatal(err)
		}
		if done := wait(t, turn); done.State != ahp.TurnCancelled || time.Since(begun) != 0 {
			t.Errorf("turn %s after %v", done.State, time.Since(begun))
		}
		done := wait(t, send(t, chat, "hello"))
		if took := time.Since(begun); took < 9*time.Second || took > 15*time.Second {
			t.Errorf("the next turn took %v", took)
		}
		if text := markdown(done.ResponseParts); done.State != ahp.TurnComplete || text != "Hello from a script.\n" {
			t.Errorf("turn %s: %q", done.State, text)
		}
	})
}

// An agent that dies: the turn says why, and the next one has another agent
// (agents.md, 4.7).
func TestDeadAgentIsReplaced(t *testing.T) {
	inHost(t, func(t *testing.T, r *realHost) {
		chat := r.chat()
		done := wait(t, send(t, chat, "crash"))
		last, _ := done.ResponseParts.At(done.ResponseParts.Len() - 1).Part.(*ahp.ErrorPart)
		if done.State != ahp.TurnError || last == nil || last.Error.ErrorType != "agentExited" || !strings.Contains(last.Error.Message, "division by zero") {
			t.Errorf("turn %s, %+v", done.State, last)
		}
		call := done.ResponseParts.At(0).Part.(*ahp.ToolCallPart).ToolCall
		if call.Status != ahp.ToolCompleted || *call.Success {
			t.Errorf("the call is %s", call.Status)
		}
		if done := wait(t, send(t, chat, "hello")); done.State != ahp.TurnComplete {
			t.Errorf("the next turn is %s", done.State)
		}
	})
}

// A question waits while nobody is connected, and whoever comes later answers it;
// that the one who confirmed leaves at once changes nothing (agents.md, 4.7).
func TestQuestionOutlivesItsClients(t *testing.T) {
	inHost(t, func(t *testing.T, r *realHost) {
		chat := r.chat()
		uri := chat.URI()
		send(t, chat, "permission")
		synctest.Wait()
		_ = r.clients[0].Close()
		time.Sleep(time.Hour)

		second := r.dial()
		again, err := second.Chat(context.Background(), uri)
		if err != nil {
			t.Fatal(err)
		}
		waiting := again.WaitingCalls()
		if len(waiting) != 1 || len(waiting[0].Options) != 3 || waiting[0].Edits == nil {
			t.Fatalf("waiting %+v", waiting)
		}
		confirmed, err := again.Confirm(waiting[0].ToolCallID, true, client.ConfirmOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := confirmed.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		_ = second.Close()
		time.Sleep(time.Minute)

		third, err := r.dial().Chat(context.Background(), uri)
		if err != nil {
			t.Fatal(err)
		}
		s := third.State()
		if s.ActiveTurn != nil || s.Turns.Len() != 1 {
			t.Fatalf("turn %+v, %d ended", s.ActiveTurn, s.Turns.Len())
		}
		if text := markdown(s.Turns.At(0).ResponseParts); text != "The port is 8080 now.\n" {
			t.Errorf("the turn says %q", text)
		}
	})
}

// What an agent offers is the session's configuration from its first state on, its
// models are the provider's, and both follow (agents.md, 4.6, 5).
func TestOfferOfAnAgentIsConfiguration(t *testing.T) {
	inHost(t, func(t *testing.T, r *realHost) {
		c := r.dial()
		s, err := c.CreateSession(context.Background(), client.CreateSessionOptions{Config: map[string]jsontext.Value{"model": jsontext.Value(`"large"`)}})
		if err != nil {
			t.Fatal(err)
		}
		chat, err := s.DefaultChat(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		config := s.State().Config
		if config == nil || !strings.Contains(string(config.Schema), `"Changes files"`) {
			t.Fatalf("configuration %+v", config)
		}
		for id, want := range map[string]string{"mode": `"ask"`, "model": `"large"`, "verbose": "false"} {
			if got := string(config.Values[id]); got != want {
				t.Errorf("%s is %s, want %s", id, got, want)
			}
		}
		wait(t, send(t, chat, "modes"))
		synctest.Wait()
		if got := string(s.State().Config.Values["mode"]); got != `"code"` {
			t.Errorf("the agent changed its mode, the session has %s", got)
		}
		root, _ := r.h.State(ahp.RootURI).(*ahp.RootState)
		if models := root.Agents[0].Models; len(models) != 2 || models[1].ID != "large" || models[1].Provider != ProviderID {
			t.Errorf("models %+v", models)
		}
		var found struct {
			Items []struct {
				InsertText string `json:"insertText"`
			} `json:"items"`
		}
		ask := ahp.CompletionsParams{Channel: chat.URI(), Kind: "userMessage", Text: "/pl", Offset: 3}
		if err := c.Call(context.Background(), ahp.MethodCompletions, ask, &found); err != nil || len(found.Items) != 1 || found.Items[0].InsertText != "/plan " {
			t.Errorf("completions %+v, %v", found, err)
		}
	})
}

// A title of the agent's becomes the session's.
func TestTitleOfAnAgent(t *testing.T) {
	inHost(t, func(t *testing.T, r *realHost) {
		c := r.dial()
		s, err := c.CreateSession(context.Background(), client.CreateSessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		chat, err := s.DefaultChat(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		wait(t, send(t, chat, "title"))
		synctest.Wait()
		if got := s.State().Title; got != "A title of the agent's" {
			t.Errorf("title %q", got)
		}
	})
}
