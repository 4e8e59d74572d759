package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/reconcile"
	"github.com/causeway-ahp/causeway/reducer"
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

// BenchmarkForeign receives a delta under pending actions. The cost must follow
// the number of pending actions only.
func BenchmarkForeign(b *testing.B) {
	for _, pending := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("pending=%d", pending), func(b *testing.B) {
			c := reconcile.New(me, reducer.Apply, longChat(), 0)
			for i, a := range ownActions(pending) {
				c.Dispatch(uint64(i+1), a)
				c.Written(uint64(i + 1))
			}
			var delta ahp.Action = &ahp.ChatDelta{TurnID: "active", PartID: "text", Content: "twelve bytes"}
			b.ReportAllocs()
			seq := uint64(0)
			for b.Loop() {
				seq++
				c.Receive(reconcile.Envelope{ServerSeq: seq, Action: delta})
			}
		})
	}
}

// BenchmarkEcho dispatches an action and receives the echo of the oldest one, so
// that ten are always pending.
func BenchmarkEcho(b *testing.B) {
	const pending = 10
	c := reconcile.New(me, reducer.Apply, longChat(), 0)
	actions := ownActions(pending)
	dispatch := func(seq uint64) {
		c.Dispatch(seq, actions[seq%pending])
		c.Written(seq)
	}
	for seq := uint64(1); seq <= pending; seq++ {
		dispatch(seq)
	}
	b.ReportAllocs()
	seq := uint64(0)
	for b.Loop() {
		seq++
		dispatch(seq + pending)
		c.Receive(echo(seq, seq, actions[seq%pending]))
	}
}
