package reducer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
)

const benchToken = "twelve bytes" // as long as a typical token

// benchChat is a chat with finished turns and an active one whose last part is
// a markdown text.
func benchChat(turns, parts, textBytes int) *ahp.ChatState {
	s := New(ahp.KindChat).(*ahp.ChatState)
	finished := make([]*ahp.Turn, turns)
	for i := range finished {
		finished[i] = &ahp.Turn{ID: fmt.Sprint("turn-", i), Message: ahp.UserMessage("hello"), State: ahp.TurnComplete}
	}
	s.Turns = ahp.NewList(finished...)
	answer := make([]ahp.ResponsePart, parts)
	for i := range answer {
		answer[i].Part = &ahp.MarkdownPart{ID: fmt.Sprint("part-", i), Content: ahp.NewText("text")}
	}
	answer[parts-1].Part = &ahp.MarkdownPart{ID: "streamed", Content: ahp.NewText(strings.Repeat("x", textBytes))}
	s.ActiveTurn = &ahp.ActiveTurn{ID: "active", StartedAt: "2026-10-01T00:00:00.000Z", ResponseParts: ahp.NewList(answer...)}
	return s
}

// BenchmarkChatDelta must be flat: the cost of a token depends on nothing that
// came before it. All chats are alive all the time, so that the collector, whose
// cost does depend on them, burdens each alike. A chat begins anew once 1 MB was
// added, so the sizes stay what they say.
func BenchmarkChatDelta(b *testing.B) {
	chats := map[string]*ahp.ChatState{}
	for _, turns := range []int{1, 1000} {
		for _, parts := range []int{1, 1000} {
			for _, text := range []int{0, 10 << 10, 2 << 20} {
				name := fmt.Sprintf("turns=%d/parts=%d/text=%d", turns, parts, text)
				chats[name] = benchChat(turns, parts, text)
			}
		}
	}
	var a ahp.Action = &ahp.ChatDelta{TurnID: "active", PartID: "streamed", Content: benchToken}
	for _, name := range slices.Sorted(maps.Keys(chats)) {
		b.Run(name, func(b *testing.B) {
			s := chats[name]
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%80_000 == 0 {
					s = chats[name]
				}
				s = Chat(s, a)
			}
		})
	}
}

// BenchmarkChatDeltaForked reduces each delta twice from states that share their
// text, as confirmed and optimistic state do.
func BenchmarkChatDeltaForked(b *testing.B) {
	base := benchChat(1000, 1000, 2<<20)
	var a ahp.Action = &ahp.ChatDelta{TurnID: "active", PartID: "streamed", Content: benchToken}
	s := base
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%80_000 == 0 {
			s = base
		}
		Chat(s, a)
		s = Chat(s, a)
	}
}

// BenchmarkChatToolDelta streams the input of a call behind many parts.
func BenchmarkChatToolDelta(b *testing.B) {
	for _, parts := range []int{1, 1000} {
		b.Run(fmt.Sprintf("parts=%d", parts), func(b *testing.B) {
			ref := ahp.ToolCallRef{TurnID: "active", ToolCallID: "call"}
			base := Chat(benchChat(1, parts, 0), &ahp.ChatToolCallStart{ToolCallRef: ref})
			var a ahp.Action = &ahp.ChatToolCallDelta{ToolCallRef: ref, Content: new(benchToken)}
			s := base
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%80_000 == 0 {
					s = base
				}
				s = Chat(s, a)
			}
		})
	}
}

// BenchmarkChatTurn starts and ends a turn in a chat with many.
func BenchmarkChatTurn(b *testing.B) {
	for _, turns := range []int{1, 1000} {
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) {
			base := benchChat(turns, 1, 0)
			base.ActiveTurn = nil
			var start ahp.Action = &ahp.ChatTurnStarted{TurnID: "next", StartedAt: "2026-10-01T00:00:00.000Z", Message: ahp.UserMessage("hello")}
			var end ahp.Action = &ahp.ChatTurnComplete{TurnID: "next", Duration: 1500}
			b.ReportAllocs()
			for b.Loop() {
				Chat(Chat(base, start), end)
			}
		})
	}
}

// BenchmarkChatToolConfirmed derives the status, which looks at each part of the
// active turn.
func BenchmarkChatToolConfirmed(b *testing.B) {
	for _, parts := range []int{1, 1000} {
		b.Run(fmt.Sprintf("parts=%d", parts), func(b *testing.B) {
			ref := ahp.ToolCallRef{TurnID: "active", ToolCallID: "call"}
			s := Chat(benchChat(1, parts, 0), &ahp.ChatToolCallStart{ToolCallRef: ref})
			s = Chat(s, &ahp.ChatToolCallReady{ToolCallRef: ref})
			var a ahp.Action = &ahp.ChatToolCallConfirmed{ToolCallRef: ref, Approved: true}
			b.ReportAllocs()
			for b.Loop() {
				Chat(s, a)
			}
		})
	}
}

// BenchmarkTerminalData appends output behind many commands.
func BenchmarkTerminalData(b *testing.B) {
	for _, commands := range []int{1, 1000} {
		b.Run(fmt.Sprintf("commands=%d", commands), func(b *testing.B) {
			base := New(ahp.KindTerminal).(*ahp.TerminalState)
			for i := range commands {
				base = Terminal(base, &ahp.TerminalCommandExecuted{CommandID: fmt.Sprint(i)})
			}
			var a ahp.Action = &ahp.TerminalData{Data: benchToken}
			s := base
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%80_000 == 0 {
					s = base
				}
				s = Terminal(s, a)
			}
		})
	}
}
