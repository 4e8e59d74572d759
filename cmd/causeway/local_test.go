package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/coder/websocket"
)

// background is a directory whose background host ends with the test.
func background(t *testing.T) datadir.Dir {
	t.Helper()
	d := stateDir(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), scriptWait)
		defer cancel()
		h, err := settledHost(ctx, d)
		if err == nil {
			err = stopHost(ctx, d, h)
		}
		if err != nil && !errors.Is(err, datadir.ErrNoHost) {
			t.Errorf("stop the host: %v", err)
		}
	})
	return d
}

// talk opens a connection to a local host's URL.
func talk(t *testing.T, raw string) *websocket.Conn {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "ws+unix" {
		t.Fatalf("URL %q, %v, want a socket", raw, err)
	}
	c, err := dialUnix(testContext(t), u.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func mustFind(t *testing.T, d datadir.Dir) datadir.Host {
	t.Helper()
	h, err := d.Find()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestStartersRace starts a host from several callers at once: there is one
// host, in a session of its own, and everybody reaches it.
func TestStartersRace(t *testing.T) {
	ctx, d := testContext(t), background(t)
	urls := make([]string, 6)
	var starters sync.WaitGroup
	for i := range urls {
		starters.Go(func() {
			var err error
			if urls[i], err = startLocal(ctx, d); err != nil {
				t.Errorf("starter %d: %v", i, err)
			}
		})
	}
	starters.Wait()
	h := mustFind(t, d)
	for _, u := range urls {
		talk(t, u)
		if u != urls[0] {
			t.Errorf("several hosts: %q", urls)
		}
	}
	if !h.AutoExit || !strings.HasPrefix(h.Address, "127.0.0.1:") {
		t.Errorf("host %+v is not one for the background", h)
	}
	if group, err := syscall.Getpgid(h.PID); group != h.PID || err != nil {
		t.Errorf("process group %d, %v, want its own, %d", group, err, h.PID)
	}
	data, err := os.ReadFile(d.LogPath())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "READY:"); n != 1 {
		t.Errorf("%d hosts were ready:\n%s", n, data)
	}
	token, err := d.Token()
	if err != nil || strings.Contains(string(data), token) {
		t.Errorf("the log holds the token, or there is none: %v", err)
	}
}

// TestStartNamesTheReason lets the host fail in the background.
func TestStartNamesTheReason(t *testing.T) {
	d := background(t)
	if err := os.WriteFile(filepath.Join(d.Path(), "token"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := startLocal(testContext(t), d)
	if err == nil {
		t.Fatal("a host without a token started")
	}
	for _, part := range []string{"exit code 1", d.LogPath(), "holds no token"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %q: %v", part, err)
		}
	}
}

// TestStartIsCutShort gives up before the host is ready: it does not come later.
func TestStartIsCutShort(t *testing.T) {
	d := background(t)
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if _, err := startLocal(ctx, d); err == nil {
		t.Error("started although it was cancelled")
	}
	if _, err := d.Find(); !errors.Is(err, datadir.ErrNoHost) {
		t.Errorf("find: %v, want ErrNoHost", err)
	}
}

func TestOtherVersion(t *testing.T) {
	ctx, d := testContext(t), background(t)
	raw, err := startLocal(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	first := mustFind(t, d)
	newer := starter{dir: d, version: "v9.9.9"}

	c := talk(t, raw)
	if err := c.Write(ctx, websocket.MessageText, []byte(initializeMessage)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(ctx); err != nil {
		t.Fatal(err)
	}
	if h, err := newer.host(ctx); err != nil || h.PID != first.PID {
		t.Errorf("a host in use was replaced: pid %d, %v, want %d", h.PID, err, first.PID)
	}
	if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}

	second := replaced(ctx, t, newer, first.PID)
	if h, err := (starter{dir: d, version: second.Version}).host(ctx); err != nil || h.PID != second.PID {
		t.Errorf("a host of the same version was replaced: pid %d, %v, want %d", h.PID, err, second.PID)
	}
}

// replaced asks until the host has noticed that its client left.
func replaced(ctx context.Context, t *testing.T, s starter, old int) datadir.Host {
	t.Helper()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		h, err := s.host(ctx)
		if err != nil {
			t.Fatalf("replace: %v", err)
		}
		if h.PID != old {
			return h
		}
		<-tick.C
	}
}

// TestOtherVersionStartedByHand is left alone.
func TestOtherVersionStartedByHand(t *testing.T) {
	d := stateDir(t)
	h := serveInside(t, d, serveOptions{})
	got, err := starter{dir: d, version: "v9.9.9"}.host(testContext(t))
	if err != nil || got.PID != h.PID || !got.Started.Equal(h.Started) {
		t.Errorf("host %+v, %v, want %+v", got, err, h)
	}
}

func TestLogTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.log")
	old := "of an earlier host\n"
	tests := []struct{ name, log, want string }{
		{"nothing", old, "; see " + path},
		{"a line", old + "why\n", "; " + path + " ends with:\n  why"},
		{"many", old + strings.Repeat("x\n", 20) + "why\n", "; " + path + " ends with:\n" + strings.Repeat("  x\n", 9) + "  why"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(tt.log), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := logTail(path, int64(len(old))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLargeLogIsPutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.log")
	for _, size := range []int{maxLogBytes, maxLogBytes + 1} {
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := openLog(path)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		_, err = os.Stat(path + ".old")
		if aside := err == nil; aside != (size > maxLogBytes) {
			t.Errorf("%d bytes: put aside %v", size, aside)
		}
	}
}
