package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/spf13/cobra"
)

// publicClient is a peer in what a client does with an envelope and an action. It is not
// part of this repository: the table names it as missing.
const (
	publicClient       = "public Go client"
	publicClientAbsent = "not installed"
)

// benchRoute is what a receiver does with an envelope before it reduces it.
func benchRoute(cmd *cobra.Command, r *measure.Report) error {
	const chat = "ahp-chat:/0199c1b2-7d4e-7c9a-9d5b-3f1f8a6f2c11"
	msg := []byte(`{"jsonrpc":"2.0","method":"action","params":{"channel":"` + chat + `","action":{"type":"chat/delta",` +
		`"turnId":"turn-12","partId":"part-3","content":"some words of an answer "},"serverSeq":123456}}`)
	channels := map[ahp.URI]int{chat: 1}
	n := benchAmount(cmd, 1_000_000)
	name := fmt.Sprintf("envelope of %d bytes decoded and routed", len(msg))
	return benchFigure(cmd, r, measure.Figure{Name: name, Unit: "us CPU", Goal: "<= 0.5 us"}.Beside(publicClient, nil, publicClientAbsent), func() (float64, error) {
		began, found := measure.CPU(), 0
		for range n {
			m, err := jsonrpc.Scan(msg)
			if err != nil {
				return 0, err
			}
			e, err := ahp.ScanEnvelope(m.Params)
			if err != nil {
				return 0, err
			}
			found += channels[string(e.Channel)]
		}
		if found != n {
			return 0, fmt.Errorf("%d of %d envelopes found their channel", found, n)
		}
		return perEach(began, n), nil
	})
}

// benchDelta is a few words more of an answer, in a chat that has just begun and in
// a long one: the cost must not depend on what came before.
func benchDelta(cmd *cobra.Command, r *measure.Report) error {
	for _, c := range []struct {
		name string
		chat *ahp.ChatState
	}{
		{"chat delta reduced, new chat", longChat(1, 1, 0)},
		{"chat delta reduced, 1,000 turns, 1,000 parts, 2 MB of text", longChat(1000, 1000, 2<<20)},
	} {
		n := benchAmount(cmd, 1_000_000)
		reduceDeltas(c.chat, n/2) // until the heap has the size it will have
		err := benchFigure(cmd, r, measure.Figure{Name: c.name, Unit: "ns", Goal: "<= 150 ns"}.Beside(publicClient, nil, publicClientAbsent), func() (float64, error) {
			began := time.Now()
			reduceDeltas(c.chat, n)
			return float64(time.Since(began)) / float64(n), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// deltasBeforeANewStart keep a chat near the size that was asked for.
const deltasBeforeANewStart = 80_000

func reduceDeltas(chat *ahp.ChatState, n int) {
	var delta ahp.Action = &ahp.ChatDelta{TurnID: "active", PartID: "streamed", Content: "twelve bytes"}
	for s, i := chat, 0; i < n; i++ {
		if i%deltasBeforeANewStart == 0 {
			s = chat
		}
		s = reducer.Chat(s, delta)
	}
}

// longChat is a chat with finished turns and an active one whose last part streams.
func longChat(turns, parts, textBytes int) *ahp.ChatState {
	s := reducer.New(ahp.KindChat).(*ahp.ChatState)
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
