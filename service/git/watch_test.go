package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/service/git"
)

// TestRefsChanged: each change of refs is told once, whatever file it is in: new,
// moved and deleted refs, packed ones, those in new directories, HEAD.
func TestRefsChanged(t *testing.T) {
	r := newRepo(t)
	first := r.commit("first")
	_, reader := newWorld(t).user(git.Options{Repos: []string{"r=" + r.dir}}, git.ReaderOptions{Repo: "r"})
	w := watch(t, "r", reader)
	second := r.commit("second")
	w.want(git.RefChange{Name: "refs/heads/main", Old: first, New: second})
	r.git("branch", "deep/er/branch", first)
	w.want(git.RefChange{Name: "refs/heads/deep/er/branch", New: first})
	r.git("branch", "-f", "deep/er/branch", second)
	w.want(git.RefChange{Name: "refs/heads/deep/er/branch", Old: first, New: second})
	r.git("checkout", "-q", "--detach")
	w.want(git.RefChange{Name: "HEAD", Old: "ref: refs/heads/main", New: second})
	r.git("pack-refs", "--all") // changes no ref, and is not told
	r.git("branch", "-D", "deep/er/branch")
	w.want(git.RefChange{Name: "refs/heads/deep/er/branch", Old: second})
	r.git("tag", "t")
	w.want(git.RefChange{Name: "refs/tags/t", New: second})
	w.end()
}

// TestWatchOfALinkedWorkTree: HEAD is its own, the branches are the repository's.
func TestWatchOfALinkedWorkTree(t *testing.T) {
	r := newRepo(t)
	first := r.commit("first")
	tree := filepath.Join(t.TempDir(), "tree")
	r.git("worktree", "add", "-q", tree, "-b", "side")
	_, reader := newWorld(t).user(git.Options{Repos: []string{tree}}, git.ReaderOptions{})
	w := watch(t, "tree", reader)
	r.git("branch", "from-main")
	w.want(git.RefChange{Name: "refs/heads/from-main", New: first})
	head := filepath.Join(r.dir, ".git", "worktrees", "tree", "HEAD")
	if err := os.WriteFile(head, []byte("ref: refs/heads/from-main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.want(git.RefChange{Name: "HEAD", Old: "ref: refs/heads/side", New: "ref: refs/heads/from-main"})
	w.end()
}

// TestWatchesThatBeginTogether: a look at the catalogue that is late, as it is while
// many listeners come, ends no watch of one that came meanwhile.
func TestWatchesThatBeginTogether(t *testing.T) {
	r := newRepo(t)
	first := r.commit("first")
	world := newWorld(t)
	world.serve(git.Options{Repos: []string{"r=" + r.dir}})
	watches := make([]*watched, 24)
	var ready sync.WaitGroup
	for i := range watches {
		reader, err := git.NewReader(t.Context(), world.dial(), git.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = reader.Close() })
		ready.Go(func() { watches[i] = watch(t, "r", reader) })
	}
	ready.Wait()
	r.git("branch", "new")
	for _, w := range watches {
		w.want(git.RefChange{Name: "refs/heads/new", New: first})
		w.end()
	}
}

// watched is a watch of refs in the background.
type watched struct {
	t       *testing.T
	changes chan git.RefChange
	cancel  context.CancelFunc
	done    chan error
}

// watch returns once the watch of a repository has begun.
func watch(t *testing.T, repo string, reader *git.Reader) *watched {
	ctx, cancel := context.WithCancel(within(t))
	w := &watched{t: t, changes: make(chan git.RefChange, 100), cancel: cancel, done: make(chan error, 1)}
	ready := make(chan struct{}, 1)
	go func() {
		w.done <- reader.WatchRefs(ctx, func() { ready <- struct{}{} }, func(c git.RefsChanged) {
			if c.Repo != repo {
				t.Errorf("a change of %s", c.Repo)
			}
			for _, change := range c.Changes {
				w.changes <- change
			}
		})
	}()
	select {
	case <-ready:
	case err := <-w.done:
		t.Errorf("the watch ended: %v", err)
		w.done <- err
	}
	return w
}

// want expects changes, in this order.
func (w *watched) want(changes ...git.RefChange) {
	w.t.Helper()
	for _, want := range changes {
		select {
		case got := <-w.changes:
			if got != want {
				w.t.Errorf("told %+v, want %+v", got, want)
			}
		case err := <-w.done:
			w.t.Fatalf("the watch ended: %v", err)
		}
	}
}

// end ends the watch; nothing more must have been told.
func (w *watched) end() {
	w.t.Helper()
	w.cancel()
	if err := <-w.done; !errors.Is(err, context.Canceled) {
		w.t.Errorf("the end of the watch: %v", err)
	}
	if len(w.changes) > 0 {
		w.t.Errorf("told %+v as well", <-w.changes)
	}
}
