package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/journal/sqlite"
)

// newStoredArena is an arena whose host has a journal file.
func newStoredArena(tb testing.TB, store journal.Store) *arena {
	tb.Helper()
	a := &arena{tb: tb, lab: &lab{}}
	var err error
	if a.h, err = New(tb.Context(), Options{Features: []Feature{a.lab}, Store: store, SyncEvery: time.Second}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := a.h.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
		a.serving.Wait()
	})
	a.chat(arenaSession, arenaChat)
	return a
}

func openFile(tb testing.TB, path string) *sqlite.Store {
	tb.Helper()
	s, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// BenchmarkRecords is how many actions a second are ordered, written in groups and
// delivered to ten clients, with the journal on disk and without. The goal with it
// is 100,000 records a second.
func BenchmarkRecords(b *testing.B) {
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprintf("disk=%v", on), func(b *testing.B) {
			var store journal.Store
			if on {
				store = openFile(b, filepath.Join(b.TempDir(), "journal.db"))
			}
			a := newStoredArena(b, store)
			var chats []ahp.URI
			for i := range 4 {
				chats = append(chats, fmt.Sprint("ahp-chat:/", i))
				a.chat(fmt.Sprint("ahp-session:/", i), chats[i])
			}
			for i := range 10 {
				defer a.join(fmt.Sprint("c", i), chats...).end()
			}
			const agents = 4
			began := time.Now()
			b.ResetTimer()
			var working sync.WaitGroup
			for i := range agents {
				working.Go(func() {
					for range b.N / agents {
						a.delta(chats[i])
					}
				})
			}
			working.Wait()
			if err := a.h.Stored(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "records/s")
		})
	}
}

// BenchmarkEcho is the time from a dispatch to its own echo, one at a time, with
// the journal on disk and without. The goal for the 99th percentile with it is 1.3
// times the one without, plus a millisecond.
func BenchmarkEcho(b *testing.B) {
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprintf("disk=%v", on), func(b *testing.B) {
			var store journal.Store
			if on {
				store = openFile(b, filepath.Join(b.TempDir(), "journal.db"))
			}
			a := newStoredArena(b, store)
			s := a.join("c", arenaSession)
			defer s.end()
			got := s.listen()
			var times []time.Duration
			b.ResetTimer()
			for i := range b.N {
				msg := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"session/titleChanged","title":"t%d"}}}`, arenaSession, i+1, i)
				began := time.Now()
				s.in <- msg
				<-got
				times = append(times, time.Since(began))
			}
			b.StopTimer()
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "µs-p50")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "µs-p99")
		})
	}
}

// BenchmarkStart is how long a host takes to start on 1,000 sessions with 1 GB of
// history (at CAUSEWAY_SCALE=1), after it was killed. The goal is 300 ms until
// READY, of which this is the part that grows with history.
func BenchmarkStart(b *testing.B) {
	path := filepath.Join(b.TempDir(), "journal.db")
	const sessions = 1000
	size := fill1GB(b, path, sessions, scale.Count(1000))
	b.ResetTimer()
	for b.Loop() {
		store := openFile(b, path)
		h, err := New(b.Context(), Options{Features: []Feature{&lab{}}, Store: store})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if n := len(h.visibleSessions(Local)); n != sessions {
			b.Fatalf("%d sessions", n)
		}
		if err := h.Shutdown(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(size>>20), "MB")
}

// fill1GB writes sessions with a chat of about kb kilobytes each, as a host leaves
// them behind.
func fill1GB(tb testing.TB, path string, sessions, kb int) int64 {
	tb.Helper()
	store := openFile(tb, path)
	past, err := store.Recover(0, 0)
	if err != nil {
		tb.Fatal(err)
	}
	text := ahp.NewText(strings.Repeat("x", 900))
	for i := range sessions {
		session, chat := fmt.Sprint("ahp-session:/", i), fmt.Sprint("ahp-chat:/", i)
		s := labChat(chat)
		for j := range kb {
			parts := ahp.NewList(ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p", Content: text}})
			s.Turns = s.Turns.Append(&ahp.Turn{ID: fmt.Sprint(j), ResponseParts: parts, State: ahp.TurnComplete})
		}
		img, err := EncodeImage(s, nil)
		if err != nil {
			tb.Fatal(err)
		}
		state, err := ahp.Marshal(labSession("x"))
		if err != nil {
			tb.Fatal(err)
		}
		born := func(uri, parent ahp.URI, body []byte) *journal.Record {
			return &journal.Record{Seq: past.Seq, Kind: journal.Created, Channel: uri, Body: body, Birth: &journal.Birth{Parent: parent, CreatedAt: Now()}}
		}
		img.Channel, img.Seq, img.Born = chat, past.Seq, past.Seq
		summary, err := ahp.Marshal(&ahp.SessionSummary{Resource: session, Title: "x"})
		if err := errors.Join(err,
			store.Write([]*journal.Record{born(session, "", state), born(chat, session, img.Head)}),
			store.Save(img),
			store.Save(&journal.Image{Channel: session, Seq: past.Seq, Born: past.Seq, Head: state, Summary: summary}),
		); err != nil {
			tb.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		tb.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	return info.Size()
}
