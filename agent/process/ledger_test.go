package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func newLedger(t *testing.T) *Ledger {
	t.Helper()
	l, err := OpenLedger(filepath.Join(t.TempDir(), "groups"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// use makes l the ledger for one test.
func use(t *testing.T, l *Ledger) {
	t.Helper()
	Use(l)
	t.Cleanup(func() { Use(nil) })
}

func (l *Ledger) noted(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func env(more ...string) []string { return append([]string{"PATH=" + os.Getenv("PATH")}, more...) }

// TestNotedBeforeItRuns: the program finds its own group noted, is started under
// the name it was given, and is forgotten when it has ended.
func TestNotedBeforeItRuns(t *testing.T) {
	l := newLedger(t)
	use(t, l)
	script := `test -s "$LEDGER/$$" && echo noted as "$0"; if (: <&3) 2>/dev/null; then echo "the descriptor of the gate is open"; fi`
	for _, name := range []string{"sh", "/bin/sh"} {
		out, err := OutputOf(t.Context(), Command{Argv: []string{name, "-c", script}, Dir: "/", Env: env("LEDGER=" + l.dir)}, 1000)
		if want := "noted as " + name + "\n"; out != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, out, err, want)
		}
	}
	if names := l.noted(t); len(names) > 0 {
		t.Errorf("still noted: %v", names)
	}
}

// TestNotFoundWithLedger: what cannot be found fails to start, as without one.
func TestNotFoundWithLedger(t *testing.T) {
	l := newLedger(t)
	use(t, l)
	for _, c := range []Command{{Argv: []string{"no-such-program"}, Dir: "/"}, {Argv: []string{"sh"}, Dir: "/no/such/directory"}} {
		if _, err := Start(c, NewCapture(10, 10)); err == nil {
			t.Errorf("%v in %s started", c.Argv, c.Dir)
		}
	}
	if names := l.noted(t); len(names) > 0 {
		t.Errorf("still noted: %v", names)
	}
}

// TestAGateThatIsNeverOpened: a host that dies before the note is complete leaves
// no program behind.
func TestAGateThatIsNeverOpened(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ran")
	cmd := Command{Argv: []string{"touch", file}, Dir: "/", Env: env()}.build()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := behindGate(cmd, r); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	closeAll([]*os.File{r, w})
	if err := cmd.Wait(); err == nil {
		t.Error("the gate ended as if it had been opened")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the program ran")
	}
}

// leave starts a group as a killed process would leave it.
func leave(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	cmd := Command{Argv: []string{"sh", "-c", script}, Dir: "/", Env: env()}.build()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 1)); err != nil { // it says when it is ready
		t.Fatal(err)
	}
	return cmd
}

// TestEndLeftovers: what was noted ends, also when it does not want to, and when
// its leader has gone before; what only has the same number is left alone.
func TestEndLeftovers(t *testing.T) {
	l := newLedger(t)
	willing := leave(t, "echo; exec sleep 1000")
	stubborn := leave(t, "trap '' TERM; echo; while :; do sleep 1; done")
	orphans := leave(t, "sleep 1000 & echo; exit")
	_ = orphans.Wait()
	for _, cmd := range []*exec.Cmd{willing, stubborn} {
		if err := l.note(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	write := func(pgid int, text string) {
		if err := os.WriteFile(l.path(pgid), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(orphans.Process.Pid, "started long ago")
	other := leave(t, "echo; exec sleep 1000")
	write(other.Process.Pid, "1 another boot")
	torn := leave(t, "echo; exec sleep 1000")
	write(torn.Process.Pid, "")
	write(1<<30, "gone")
	if err := os.WriteFile(filepath.Join(l.dir, "README"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	n, err := l.EndLeftovers()
	if err != nil || n != 3 {
		t.Errorf("%d ended in %v: %v, want 3", n, time.Since(began), err)
	}
	for _, cmd := range []*exec.Cmd{willing, stubborn, orphans} {
		if Alive(cmd.Process.Pid) {
			t.Errorf("group %d lives", cmd.Process.Pid)
		}
	}
	for _, cmd := range []*exec.Cmd{other, torn} {
		if !Alive(cmd.Process.Pid) {
			t.Errorf("group %d of somebody else was ended", cmd.Process.Pid)
		}
	}
	if names := l.noted(t); len(names) != 1 || names[0] != "README" {
		t.Errorf("noted afterwards: %v", names)
	}
}

// TestStartTime tells two processes with one number apart, as far as they do not
// start in the same hundredth of a second.
func TestStartTime(t *testing.T) {
	a, err := startTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := startTime(os.Getpid()); a != b || err != nil {
		t.Errorf("%q and then %q: %v", a, b, err)
	}
	cmd := leave(t, "echo; exec sleep 1000")
	if b, err := startTime(cmd.Process.Pid); a == b || err != nil {
		t.Errorf("another process has %q as well: %v", b, err)
	}
	if _, err := startTime(1 << 30); err == nil {
		t.Error("a process that does not exist has started at " + strconv.Itoa(1<<30))
	}
}
