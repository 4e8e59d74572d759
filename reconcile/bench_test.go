package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/reconcile"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/go-json-experiment/json/jsontext"
)

// longChat is a chat of 1,000 turns whose active turn holds 2 MB of text.
func longChat() *ahp.ChatState {
	s := reducer.New(ahp.KindChat).(*ahp.ChatState)
	turns := make([]*ahp.Turn, 1000)
	for i := range turns {
		turns[i] = &ahp.Turn{ID: fmt.Sprint("turn-", i), Message: ahp.UserMessage("hello"), State: ahp.TurnComplete}
	}
	s.Turns = ahp.NewList(turns...)
	part := ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "text", Content: ahp.NewText(strings.Repeat("x", 2<<20))}}
	s.ActiveTurn = &ahp.ActiveTurn{ID: "active", StartedAt: "2026-10-01T00:00:00.000Z", ResponseParts: ahp.NewList(part)}
	return s
}

// ownActions are what a client has in flight in such a chat.
func ownActions(n int) []ahp.Action {
	list := make([]ahp.Action, n)
	for i := range list {
		switch i % 3 {
		case 0:
			list[i] = &ahp.ChatDraftChanged{Draft: ahp.UserMessage("draft")}
		case 1:
			list[i] = &ahp.ChatPendingMessageSet{Kind: ahp.PendingQueued, ID: fmt.Sprint("m", i), Message: ahp.UserMessage("next")}
		default:
			list[i] = &ahp.ChatIsReadChanged{IsRead: i%2 == 0}
		}
	}
	return list
}

// pendingUnder returns the machine of a long chat with own actions in flight.
func pendingUnder(pending int) *reconcile.Channel {
	c := reconcile.New(me, longChat(), 0)
	for i, a := range ownActions(pending) {
		c.Dispatch(uint64(i+1), a, encoded(a))
		c.Written(uint64(i + 1))
	}
	return c
}

// BenchmarkForeign receives what an agent streams, and something that everything
// pending must be rebased on. The cost must follow the number of pending actions
// only.
func BenchmarkForeign(b *testing.B) {
	for name, a := range map[string]ahp.Action{
		"delta":    &ahp.ChatDelta{TurnID: "active", PartID: "text", Content: "twelve bytes"},
		"activity": &ahp.ChatActivityChanged{Activity: new("thinking")},
		"draft":    &ahp.ChatDraftChanged{Draft: ahp.UserMessage("theirs")},
	} {
		for _, pending := range []int{0, 1, 10} {
			b.Run(fmt.Sprintf("%s/pending=%d", name, pending), func(b *testing.B) {
				c := pendingUnder(pending)
				b.ReportAllocs()
				seq := uint64(0)
				for b.Loop() {
					seq++
					c.Receive(reconcile.Envelope{ServerSeq: seq, Action: a})
				}
			})
		}
	}
}

// BenchmarkEcho dispatches an action and receives the echo of the oldest one, so
// that ten are always pending: word for word, as hosts send it, or altered.
func BenchmarkEcho(b *testing.B) {
	const pending = 10
	for _, altered := range []bool{false, true} {
		b.Run(fmt.Sprintf("altered=%v", altered), func(b *testing.B) {
			c := pendingUnder(pending)
			actions := ownActions(pending)
			bodies := make([]jsontext.Value, pending)
			for i, a := range actions {
				bodies[i] = encoded(a)
			}
			b.ReportAllocs()
			seq := uint64(0)
			for b.Loop() {
				seq++
				i := (seq - 1) % pending
				c.Dispatch(seq+pending, actions[i], bodies[i])
				c.Written(seq + pending)
				e := echo(seq, seq, actions[i])
				if !altered {
					e.Body = bodies[i]
				}
				c.Receive(e)
			}
		})
	}
}
