package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/internal/simnet"
)

// streamer is a turn that says words as fast as it can: a thousand, and then on
// until it is told that it was enough. It opens a gate at one of them and does
// not wait there.
type streamer struct {
	openAt int
	gate   chan struct{}
	enough atomic.Bool
	said   strings.Builder // to be read after the turn
}

const words = 1000

func (s *streamer) run(ctx context.Context, h agent.Host, p agent.Prompt) agent.Outcome {
	for n := 0; n < words || !s.enough.Load(); n++ {
		if n == s.openAt {
			close(s.gate)
		}
		word := fmt.Sprint(n, " ")
		s.said.WriteString(word)
		if err := h.Emit(ctx, agent.Text{TurnID: p.TurnID, Text: word}); err != nil {
			return agent.Outcome{Result: agent.Failed}
		}
	}
	return agent.Outcome{Result: agent.Completed}
}

// Case 21, with the real host: a client subscribes while an agent streams at full
// speed. Every word arrives once, over the whole state and over a view of the
// newest turn, on links that deliver messages whole or in pieces.
func TestSubscribingIntoAStreamLosesNoWord(t *testing.T) {
	for n := range scale.Count(200) {
		bubble(t, func(t *testing.T, w *world) {
			rng := rand.New(rand.NewPCG(21, uint64(n)))
			s := &streamer{openAt: rng.IntN(words), gate: make(chan struct{})}
			w.agent.turn = s.run
			c, other := w.dial("laptop", client.Options{}), w.dial("desk", client.Options{})
			_, chat := w.newSession(c)
			if rng.IntN(2) == 0 {
				w.link("desk").Set(simnet.Profile{MaxPieceBytes: 1 + rng.IntN(500)})
			}
			turn := must(chat.Send(t.Context(), "go"))(t)
			<-s.gate
			o := client.SubscribeOptions{Turns: rng.IntN(2)}
			seen := must(other.ChatView(t.Context(), chat.URI(), o))(t)
			s.enough.Store(true)
			for name, view := range map[string]*client.Chat{"streamed to": chat, "subscribed into": seen} {
				done := must(view.Turn(turn.ID()).Wait(t.Context()))(t)
				if got, want := markdown(done.ResponseParts), s.said.String(); got != want {
					t.Errorf("run %d, subscribed after word %d, %s: %d bytes, want %d", n, s.openAt, name, len(got), len(want))
				}
			}
			wantSame(t, "state", seen.State(), w.chatState(chat.URI()))
		})
	}
}

// The updates of a reader carry a stream word for word, each exactly once.
func TestUpdatesCarryEveryWordOfAStream(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		s := &streamer{gate: make(chan struct{})}
		s.enough.Store(true)
		w.agent.turn = s.run
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		var heard strings.Builder
		for u, err := range chat.Updates(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			switch a := u.Action.(type) {
			case nil:
				chat.Start(ahp.UserMessage("go"))
			case *ahp.ChatDelta:
				heard.WriteString(a.Content)
			case *ahp.ChatResponsePart:
				if m, ok := a.Part.Part.(*ahp.MarkdownPart); ok {
					heard.WriteString(m.Content.String())
				}
			}
			if _, over := u.Action.(*ahp.ChatTurnComplete); over {
				break
			}
		}
		if heard.String() != s.said.String() {
			t.Errorf("the updates carried %d bytes of %d", heard.Len(), s.said.Len())
		}
	})
}
