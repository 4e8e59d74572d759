package git_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/service/git"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
)

// world is a real host in memory; Git, its repositories and its processes are real
// as well.
type world struct {
	t     *testing.T
	h     *host.Host
	conns sync.WaitGroup
}

func newWorld(t *testing.T) *world {
	t.Helper()
	h, err := host.New(context.Background(), host.Options{Features: []host.Feature{service.New(service.Options{})}})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, h: h}
	t.Cleanup(func() {
		if err := h.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		w.conns.Wait()
	})
	return w
}

func (w *world) dial() *client.Client {
	w.t.Helper()
	dial := func(context.Context) (transport.Conn, error) {
		near, far := memory.Pair(memory.Options{})
		w.conns.Go(func() { _ = w.h.Serve(context.Background(), far, host.Local) })
		return near, nil
	}
	c := client.New(w.t.Context(), dial, client.Options{})
	w.t.Cleanup(func() { _ = c.Close() })
	if err := c.Ready(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// serve offers repositories from a client of their own.
func (w *world) serve(o git.Options) (*git.Server, *client.Registration) {
	w.t.Helper()
	c := w.dial()
	s, err := git.NewServer(w.t.Context(), c, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	r, err := c.Register(w.t.Context(), s.Metadata(), s.Handler())
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			w.t.Errorf("run: %v", err)
		}
	})
	w.t.Cleanup(func() { cancel(); running.Wait() })
	return s, r
}

// user serves repositories and returns a caller and a reader.
func (w *world) user(o git.Options, ro git.ReaderOptions) (*client.Service, *git.Reader) {
	w.t.Helper()
	_, r := w.serve(o)
	c := w.dial()
	reader, err := git.NewReader(w.t.Context(), c, ro)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = reader.Close() })
	return c.Service(r.ID()), reader
}

// repo is a repository made for a test.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB, args ...string) repo {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repo")
	r := repo{t, dir}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	return r
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	return r.feed("", args...)
}

func (r repo) feed(input string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+r.dir, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.test", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func (r repo) commit(message string) string {
	r.t.Helper()
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return r.git("rev-parse", "HEAD")
}

func (r repo) blob(content string) string {
	r.t.Helper()
	return r.feed(content, "hash-object", "-w", "--stdin")
}

// all lists every object of the repository.
func (r repo) all() []string {
	r.t.Helper()
	return strings.Fields(r.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)"))
}

// fill writes n blobs and as many commits and trees as it takes, n/2 each.
func (r repo) fill(n int) {
	r.t.Helper()
	var b strings.Builder
	for i := range n / 4 {
		text := fmt.Sprintf("file %d\n%s", i, strings.Repeat("content ", i%40))
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter a <a@b.test> %d +0000\ndata 2\nm\n\n", 1700000000+i)
		fmt.Fprintf(&b, "M 100644 inline d%d/f%d\ndata %d\n%s\n", i%16, i, len(text), text)
	}
	r.feed(b.String(), "fast-import", "--quiet", "--force")
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// read reads objects into a map.
func read(t *testing.T, r *git.Reader, oids ...string) (map[string]git.Object, []string) {
	t.Helper()
	got := make(map[string]git.Object)
	missing, err := r.Objects(within(t), oids, func(o git.Object) error { got[o.OID] = o; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return got, missing
}
