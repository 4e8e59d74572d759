package main

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/causeway-ahp/causeway/internal/faultfs"
	"github.com/go-json-experiment/json"
)

// healthWait is how long a host may take to notice: it asks a store that refuses again
// after five seconds at the latest.
const healthWait = time.Minute

// ailing asks a host for the checks that fail.
func ailing(t *testing.T, h datadir.Host) (names []string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.Address+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var health struct {
		Failing []struct {
			Check string `json:"check"`
		} `json:"failing"`
	}
	if err := json.Unmarshal(body, &health); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	for _, f := range health.Failing {
		names = append(names, f.Check)
	}
	if want := len(names) == 0; want != (answer.StatusCode == http.StatusOK) {
		t.Errorf("status %d with %s", answer.StatusCode, body)
	}
	return names
}

func awaitAiling(t *testing.T, h datadir.Host, want ...string) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(healthWait); ; <-tick.C {
		got := ailing(t, h)
		if fmt.Sprint(got) == fmt.Sprint(want) {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%v fail, want %v", got, want)
		}
	}
}

// TestHealthzFollowsTheStores fills the disk under each store of a whole host in turn,
// and then makes room: what cannot be kept is said, and the host is well again without a
// restart.
func TestHealthzFollowsTheStores(t *testing.T) {
	if testing.Short() {
		t.Skip("waits ten seconds for leases and retries")
	}
	var full atomic.Value // the beginning of the names of the files that are on a full disk
	full.Store("nothing")
	faultfs.Everywhere(func(op faultfs.Op, path string) faultfs.Fault {
		if op == faultfs.Write && strings.HasPrefix(filepath.Base(path), full.Load().(string)) {
			return faultfs.Full
		}
		return faultfs.None
	})
	t.Cleanup(func() { faultfs.Use(nil) })
	d := stateDir(t)
	h := serveInside(t, d, serveOptions{cwd: d.Path()})
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(t.Context(), "ws://"+h.Address+"/?tkn="+token, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	awaitAiling(t, h)

	full.Store("notify.db")
	awaitAiling(t, h, "notifications")
	full.Store("nothing")
	awaitAiling(t, h)

	full.Store("journal.db")
	made := make(chan error, 1)
	go func() {
		_, err := c.CreateSession(t.Context(), client.CreateSessionOptions{})
		made <- err
	}()
	awaitAiling(t, h, "journal")
	full.Store("nothing")
	awaitAiling(t, h)
	if err := <-made; err != nil {
		t.Logf("the session asked for meanwhile: %v", err)
	}
	if _, err := c.CreateSession(t.Context(), client.CreateSessionOptions{}); err != nil {
		t.Errorf("once there is room: %v", err)
	}
}
