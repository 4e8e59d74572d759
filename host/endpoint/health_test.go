package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/faultfs"
	"github.com/causeway-ahp/causeway/journal/sqlite"
	"github.com/go-json-experiment/json"
)

// stored is a world whose journal lies on a file system that can fail.
func stored(t *testing.T, o Options) *world {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "journal.db"), sqlite.Options{VFS: faultfs.Name})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{log: new(lockedBuffer)}
	o.Log = slog.New(slog.NewTextHandler(w.log, nil))
	return newWorldOf(t, o, host.Options{Log: o.Log, Store: store}, w)
}

// failing asks for the health and returns the checks that fail.
func (w *world) failing(t *testing.T, header http.Header) (checks []string, r report) {
	t.Helper()
	status, body := w.get(t, "/healthz", header)
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	for _, f := range r.Failing {
		checks = append(checks, f.Check)
	}
	if well := len(checks) == 0; well != (status == http.StatusOK) || well != (r.Status == statusOK) || !well && status != http.StatusServiceUnavailable {
		t.Errorf("status %d with %s", status, body)
	}
	return checks, r
}

// awaitHealth asks until the checks that fail are these.
func (w *world) awaitHealth(t *testing.T, want ...string) report {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.Now().Add(time.Minute)
	for {
		got, r := w.failing(t, nil)
		if fmt.Sprint(got) == fmt.Sprint(want) {
			return r
		}
		if time.Now().After(limit) {
			t.Fatalf("%v fail, want %v", got, want)
		}
		<-tick.C
	}
}

// A disk that is full, broken or cannot be written makes the host ill, and it is well
// again when the disk is, with nothing started anew.
func TestHealthzFollowsTheDisk(t *testing.T) {
	for name, fault := range map[string]faultfs.Fault{"full": faultfs.Full, "broken": faultfs.IOError, "read-only": faultfs.ReadOnly} {
		t.Run(name, func(t *testing.T) {
			var ill atomic.Bool
			faultfs.Use(func(op faultfs.Op, _ string) faultfs.Fault {
				if ill.Load() && op == faultfs.Write {
					return fault
				}
				return faultfs.None
			})
			t.Cleanup(func() { faultfs.Use(nil) })
			w := stored(t, Options{Tokens: testTokens})
			w.awaitHealth(t)
			ill.Store(true)
			w.host.SetAgents(nil) // the root channel is written
			w.host.SetNote("ahp-root://", "x", []byte(name))
			r := w.awaitHealth(t, host.CheckJournal)
			if strings.Contains(r.Failing[0].Reason, "/") || r.Details != nil {
				t.Errorf("a stranger is told %+v", r)
			}
			if status, _ := w.get(t, "/livez", nil); status != http.StatusOK {
				t.Errorf("livez says %d: a restart would not help", status)
			}
			if !strings.Contains(w.log.String(), "journal cannot be written") {
				t.Errorf("the log does not say why:\n%s", w.log)
			}
			ill.Store(false)
			w.awaitHealth(t)
		})
	}
}

// Numbers are for those who could connect; a token that is wrong makes a stranger.
func TestHealthzTellsNumbersToWhoMayComeIn(t *testing.T) {
	w := newWorld(t, Options{Tokens: testTokens})
	for token, shown := range map[string]bool{"": false, "wrong": false, ownToken: true, guestToken: true} {
		header := http.Header{}
		if token != "" {
			header.Set("Authorization", "Bearer "+token)
		}
		_, r := w.failing(t, header)
		if (r.Details != nil) != shown {
			t.Errorf("token %q: details %+v, want some: %v", token, r.Details, shown)
		}
	}
}

// What is beside the host counts, its error stays in the log, and many who ask make one
// look.
func TestHealthzAsksTheChecks(t *testing.T) {
	var looks atomic.Int64
	var ill atomic.Pointer[error]
	w := newWorld(t, Options{Checks: []Check{{
		Name: "notifications", Reason: "notifications cannot be stored",
		Look: func(context.Context) error {
			looks.Add(1)
			if err := ill.Load(); err != nil {
				return *err
			}
			return nil
		},
	}}})
	w.awaitHealth(t)
	failure := errors.New("open /secret/path: disk full")
	ill.Store(&failure)
	r := w.awaitHealth(t, "notifications")
	if got := r.Failing[0].Reason; got != "notifications cannot be stored" {
		t.Errorf("reason %q", got)
	}
	if !strings.Contains(w.log.String(), "/secret/path") {
		t.Error("the log does not have the error")
	}
	ill.Store(nil)
	w.awaitHealth(t)

	w.health.mu.Lock()
	w.health.every = healthEvery
	w.health.mu.Unlock()
	began, before := time.Now(), looks.Load()
	for range 50 {
		w.failing(t, nil)
	}
	if n, most := looks.Load()-before, int64(time.Since(began)/healthEvery)+1; n > most {
		t.Errorf("looked %d times in %v, want at most %d", n, time.Since(began), most)
	}
}

func TestLivez(t *testing.T) {
	w := newWorld(t, Options{Tokens: testTokens})
	if status, body := w.get(t, "/livez", nil); status != http.StatusOK || body != `{"status":"ok"}`+"\n" {
		t.Errorf("got %d %q", status, body)
	}
	w.closing.Store(true) // a process that ends in order is alive until it has ended
	if status, _ := w.get(t, "/livez", nil); status != http.StatusOK {
		t.Errorf("status %d while shutting down", status)
	}
}
