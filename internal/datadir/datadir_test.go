package datadir

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be the process of another host, see stranger.
func TestMain(m *testing.M) {
	if dir := os.Getenv("DATADIR_TEST_CLAIM"); dir != "" {
		claimForever(dir)
	}
	os.Exit(m.Run())
}

// claimForever claims dir, says so on stdout and lives until it is killed.
func claimForever(dir string) {
	d, err := Open(dir)
	if err == nil {
		var c *Claim
		if c, err = d.Claim(context.Background()); err == nil {
			err = c.Publish(Host{PID: os.Getpid(), Started: time.Now(), Address: "127.0.0.1:1"})
		}
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("claimed\n")
	select {}
}

// stranger starts a process that is the host of dir, and returns its end.
func stranger(t *testing.T, dir string) (pid int, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "DATADIR_TEST_CLAIM="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	if n, err := out.Read(make([]byte, 16)); n == 0 {
		t.Fatalf("the other process did not claim the directory: %v", err)
	}
	return cmd.Process.Pid, kill
}

func mustOpen(t *testing.T) Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustClaim(t *testing.T, d Dir) *Claim {
	t.Helper()
	c, err := d.Claim(t.Context())
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return c
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestDefault(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	linux := runtime.GOOS != "darwin"
	tests := []struct{ name, state, linux, darwin string }{
		{"unset", "", "/home/u/.local/state/causeway", "/home/u/Library/Application Support/causeway"},
		{"set", "/var/state", "/var/state/causeway", "/home/u/Library/Application Support/causeway"},
		{"relative", "state", "/home/u/.local/state/causeway", "/home/u/Library/Application Support/causeway"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", tt.state)
			want := tt.darwin
			if linux {
				want = tt.linux
			}
			if got, err := Default(); got != want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	d := mustOpen(t)
	if got := mode(t, d.Path()); got != 0o700 {
		t.Errorf("made with mode %o, want 700", got)
	}
	if err := os.Chmod(d.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(d.Path()); err != nil {
		t.Errorf("readable directory: %v", err)
	}
	if err := os.Chmod(d.Path(), 0o770); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(d.Path()); !errors.Is(err, ErrExposed) {
		t.Errorf("writable directory: %v, want ErrExposed", err)
	}
}

func TestLookingLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	d, err := At(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Find(); !errors.Is(err, ErrNoHost) {
		t.Errorf("find: %v, want ErrNoHost", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
}

func TestLifeOfAHost(t *testing.T) {
	d := mustOpen(t)
	find := func(want error) Host {
		t.Helper()
		h, err := d.Find()
		if !errors.Is(err, want) {
			t.Errorf("find: %v, want %v", err, want)
		}
		return h
	}
	find(ErrNoHost)
	c := mustClaim(t, d)
	find(ErrNotReady)
	published := Host{PID: os.Getpid(), Started: time.Now().UTC().Truncate(time.Millisecond), Address: "127.0.0.1:7433", Socket: "/s", Version: "v1"}
	if err := c.Publish(published); err != nil {
		t.Fatal(err)
	}
	if got := find(nil); got.PID != published.PID || !got.Started.Equal(published.Started) || got.Address != published.Address || got.Socket != "/s" || got.Version != "v1" {
		t.Errorf("found %+v, want %+v", got, published)
	}
	if got := mode(t, d.file(hostName)); got != 0o600 {
		t.Errorf("host.json has mode %o, want 600", got)
	}
	if err := c.Retract(); err != nil {
		t.Error(err)
	}
	find(ErrNotReady)
	if err := c.Release(); err != nil {
		t.Error(err)
	}
	find(ErrNoHost)
	if err := mustClaim(t, d).Release(); err != nil {
		t.Errorf("the directory cannot be claimed again: %v", err)
	}
}

func TestSecondHost(t *testing.T) {
	d := mustOpen(t)
	pid, kill := stranger(t, d.Path())
	_, err := d.Claim(t.Context())
	var running *RunningError
	if !errors.As(err, &running) || running.Host.PID != pid {
		t.Fatalf("claim: %v, want a RunningError of pid %d", err, pid)
	}
	for _, part := range []string{d.Path(), "127.0.0.1:1", "pid "} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message %q does not name %q", err, part)
		}
	}
	kill()
	if _, err := d.Find(); !errors.Is(err, ErrNoHost) {
		t.Errorf("after its death: %v, want ErrNoHost", err)
	}
	if _, err := os.Stat(d.file(hostName)); err != nil {
		t.Errorf("the dead host left no host.json, the test proves nothing: %v", err)
	}
	c := mustClaim(t, d)
	if _, err := d.Find(); !errors.Is(err, ErrNotReady) {
		t.Errorf("what the dead host left is still found: %v", err)
	}
	if err := c.Release(); err != nil {
		t.Error(err)
	}
}

// TestSecondHostBeforeFirstIsReady has no host.json to name.
func TestSecondHostBeforeFirstIsReady(t *testing.T) {
	d := mustOpen(t)
	c := mustClaim(t, d)
	defer c.Release()
	var running *RunningError
	if _, err := d.Claim(t.Context()); !errors.As(err, &running) || running.Host.PID != 0 || !strings.Contains(err.Error(), d.Path()) {
		t.Errorf("claim: %v, want a RunningError without a host", err)
	}
}

// TestLookingDoesNotDisturb claims again and again while others look.
func TestLookingDoesNotDisturb(t *testing.T) {
	d := mustOpen(t)
	ctx, cancel := context.WithCancel(t.Context())
	var lookers sync.WaitGroup
	for range 4 {
		lookers.Go(func() {
			for ctx.Err() == nil {
				if _, err := d.Find(); err != nil && !errors.Is(err, ErrNoHost) && !errors.Is(err, ErrNotReady) {
					t.Errorf("find: %v", err)
					return
				}
			}
		})
	}
	for range 50 {
		c, err := d.Claim(t.Context())
		if err != nil {
			t.Errorf("claim: %v", err)
			break
		}
		if err := c.Release(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	lookers.Wait()
}

func TestOneHostAtATime(t *testing.T) {
	d := mustOpen(t)
	var mu sync.Mutex
	var claims []*Claim
	var racers sync.WaitGroup
	for range 8 {
		racers.Go(func() {
			c, err := d.Claim(t.Context())
			var running *RunningError
			if err != nil && !errors.As(err, &running) {
				t.Errorf("claim: %v", err)
			}
			if c != nil {
				mu.Lock()
				defer mu.Unlock()
				claims = append(claims, c)
			}
		})
	}
	racers.Wait()
	if len(claims) != 1 {
		t.Errorf("%d hosts, want 1", len(claims))
	}
	for _, c := range claims {
		_ = c.Release()
	}
}

func TestDamagedRecord(t *testing.T) {
	d := mustOpen(t)
	c := mustClaim(t, d)
	defer c.Release()
	for _, text := range []string{"", "{", "[]", `{"pid":0}`, `{"pid":-1}`, `{"pid":1,"address":"x"}`} {
		if err := os.WriteFile(d.file(hostName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if h, err := d.Find(); err == nil || errors.Is(err, ErrNoHost) {
			t.Errorf("%q: found %+v, %v, want an error", text, h, err)
		}
	}
}

func TestSignal(t *testing.T) {
	d := mustOpen(t)
	pid, kill := stranger(t, d.Path())
	h, err := d.Find()
	if err != nil {
		t.Fatal(err)
	}
	other := h
	other.Started = h.Started.Add(time.Second)
	if err := d.Signal(other, syscall.SIGKILL); !errors.Is(err, ErrNoHost) {
		t.Errorf("another host of the same pid: %v, want ErrNoHost", err)
	}
	if err := d.Signal(h, syscall.SIGKILL); err != nil {
		t.Errorf("signal %d: %v", pid, err)
	}
	if err := d.WaitGone(t.Context()); err != nil {
		t.Error(err)
	}
	kill()
	if err := d.Signal(h, syscall.SIGKILL); !errors.Is(err, ErrNoHost) {
		t.Errorf("a dead host: %v, want ErrNoHost", err)
	}
}

func TestWaitingEnds(t *testing.T) {
	d := mustOpen(t)
	c := mustClaim(t, d)
	defer c.Release()
	release, err := d.StartLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.WaitGone(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("wait for a living host: %v", err)
	}
	if _, err := d.StartLock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("wait for a held lock: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	release, err = d.StartLock(t.Context())
	if err != nil {
		t.Fatalf("start lock: %v", err)
	}
	_ = release()
}

func TestSocket(t *testing.T) {
	d := mustOpen(t)
	c := mustClaim(t, d)
	defer c.Release()
	ln, err := c.ListenUnix()
	if err != nil {
		t.Fatal(err)
	}
	path := ln.Addr().String()
	if len(d.file("host.sock")) <= maxSocketPath && path != d.file("host.sock") {
		t.Errorf("the socket is %s, want it in the directory", path)
	}
	if got := mode(t, path); got != 0o600 {
		t.Errorf("the socket has mode %o, want 600", got)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

func TestSocketOfADeadHostIsReplaced(t *testing.T) {
	d := mustOpen(t)
	c := mustClaim(t, d)
	defer c.Release()
	dead, err := c.ListenUnix()
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = dead.Close()
	ln, err := c.ListenUnix()
	if err != nil {
		t.Fatalf("beside a dead socket: %v", err)
	}
	_ = ln.Close()
}

// TestSocketElsewhere makes the path too long, and then the places to fall back
// to unusable one after the other.
func TestSocketElsewhere(t *testing.T) {
	long, err := Open(filepath.Join(t.TempDir(), strings.Repeat("long", 30)))
	if err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "dd") // t.TempDir holds the test's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	run, tmp := filepath.Join(short, "run"), filepath.Join(short, "tmp")
	for _, dir := range []string{run, tmp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", run)
	t.Setenv("TMPDIR", tmp)
	c := mustClaim(t, long)
	defer c.Release()
	listen := func() string {
		t.Helper()
		ln, err := c.ListenUnix()
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		if got := mode(t, filepath.Dir(ln.Addr().String())); got != 0o700 {
			t.Errorf("the directory of the socket has mode %o, want 700", got)
		}
		return ln.Addr().String()
	}
	if got := listen(); !strings.HasPrefix(got, run) {
		t.Errorf("the socket is %s, want it below %s", got, run)
	}
	if err := os.Chmod(filepath.Join(run, "causeway"), 0o777); err != nil {
		t.Fatal(err)
	}
	if got := listen(); !strings.HasPrefix(got, tmp) {
		t.Errorf("beside an exposed directory the socket is %s, want it below %s", got, tmp)
	}
	made, err := filepath.Glob(filepath.Join(tmp, "causeway-*"))
	if err != nil || len(made) != 1 {
		t.Fatalf("directories for the socket: %q, %v", made, err)
	}
	if err := os.Rename(made[0], made[0]+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(made[0]+".moved", made[0]); err != nil {
		t.Fatal(err)
	}
	if ln, err := c.ListenUnix(); !errors.Is(err, ErrExposed) || !errors.Is(err, errTooLong) {
		t.Errorf("through a planted link: %v, %v, want ErrExposed and a path that is too long", ln, err)
	}
}

func TestSocketLeavesFilesAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeSocket(path); err == nil {
		t.Error("a file was taken for a socket")
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
