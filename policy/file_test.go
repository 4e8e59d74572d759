package policy

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// watched is a file under watch, and what became of its changes.
type watched struct {
	*File
	t       *testing.T
	path    string
	changed chan struct{}
	logged  chan string
}

type lines chan string

func (l lines) Write(p []byte) (int, error) { l <- string(p); return len(p), nil }

func watch(t *testing.T, path, text string) *watched {
	t.Helper()
	w := &watched{t: t, path: path, changed: make(chan struct{}, 16), logged: make(chan string, 64)}
	w.write(text)
	var err error
	log := slog.New(slog.NewTextHandler(lines(w.logged), &slog.HandlerOptions{Level: slog.LevelWarn}))
	if w.File, err = Open(path, log); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		if err := w.Watch(ctx, func() { w.changed <- struct{}{} }); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); done.Wait() })
	return w
}

func (w *watched) write(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// replace writes as editors do: another file takes the name.
func (w *watched) replace(text string) {
	w.t.Helper()
	next := w.path + ".new"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(next, w.path); err != nil {
		w.t.Fatal(err)
	}
}

const open, shut = "principals: {a: {see: [b]}}\n", "principals: {a: {see: [c]}}\n"

func TestFileIsReadAgainWhenItChanges(t *testing.T) {
	w := watch(t, filepath.Join(t.TempDir(), "policy.yaml"), open)
	if !w.MaySee("a", "b", nil) {
		t.Fatal("the first policy is not in force")
	}
	w.write(shut)
	<-w.changed
	if w.MaySee("a", "b", nil) {
		t.Error("after a write the old policy is in force")
	}
	w.replace(open)
	<-w.changed
	if !w.MaySee("a", "b", nil) {
		t.Error("after a replacement the old policy is in force")
	}
}

// TestBrokenFileKeepsThePolicy: neither a broken nor a missing file opens or
// closes anything, and the next good one is used.
func TestBrokenFileKeepsThePolicy(t *testing.T) {
	w := watch(t, filepath.Join(t.TempDir(), "policy.yaml"), open)
	damage := map[string]func(){
		"broken":  func() { w.replace("principals: {a: {see: [\n") },
		"missing": func() { _ = os.Remove(w.path) },
		"large":   func() { w.replace(strings.Repeat("#", MaxBytes+1)) },
	}
	for name, do := range damage {
		do()
		if line := <-w.logged; !strings.Contains(line, "stays in force") {
			t.Errorf("%s: the log says %q", name, line)
		}
		if !w.MaySee("a", "b", nil) || w.MaySee("a", "c", nil) {
			t.Errorf("%s: the policy has changed", name)
		}
	}
	w.replace(shut)
	<-w.changed
	if w.MaySee("a", "b", nil) {
		t.Error("the good file is not used")
	}
}

// TestLinkedFile: the file a link leads to may be in another directory.
func TestLinkedFile(t *testing.T) {
	real := filepath.Join(t.TempDir(), "real.yaml")
	link := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	w := watch(t, link, open)
	w.write(shut) // through the link
	<-w.changed
	if w.MaySee("a", "b", nil) {
		t.Error("the old policy is in force")
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.yaml")
	if err := os.WriteFile(broken, []byte("principals:\n  alice: {sees: [bob]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{filepath.Join(dir, "none.yaml"): "no such file", broken: `unknown field "sees"`} {
		if _, err := Open(path, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}
