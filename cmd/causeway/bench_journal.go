package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/journal/sqlite"
	"github.com/spf13/cobra"
)

// benchChats is how many chats stream at once into the journal.
const benchChats = 4

// benchJournal is how many actions a second are ordered, written to disk in groups
// and synced once a second.
func benchJournal(cmd *cobra.Command, r *measure.Report) error {
	n := benchAmount(cmd, 200_000)
	return benchFigure(cmd, r, measure.Figure{Name: "actions ordered and in the file", Unit: "/s", Goal: ">= 100,000"}, func() (float64, error) {
		return storedRecords(cmd.Context(), n)
	})
}

// storedRecords streams n deltas into a new journal.
func storedRecords(ctx context.Context, n int) (rate float64, err error) {
	dir, err := os.MkdirTemp("", "causeway-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(filepath.Join(dir, "journal.db"), sqlite.Options{})
	if err != nil {
		return 0, err
	}
	h, err := host.New(ctx, host.Options{Features: benchFeatures(), Store: store, SyncEvery: time.Second})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, h.Shutdown(context.WithoutCancel(ctx))) }()
	chats := make([]ahp.URI, benchChats)
	for i := range chats {
		if chats[i], err = newBenchChat(h, fmt.Sprint("bench-", i)); err != nil {
			return 0, err
		}
	}
	began, each := time.Now(), max(1, n/benchChats)
	var streaming sync.WaitGroup
	for _, chat := range chats {
		streaming.Go(func() {
			for range each {
				sayIn(h, chat)
			}
		})
	}
	streaming.Wait()
	if err := h.Stored(ctx); err != nil {
		return 0, err
	}
	return float64(each*benchChats) / time.Since(began).Seconds(), nil
}
