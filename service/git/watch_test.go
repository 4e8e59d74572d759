package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/causeway-ahp/causeway/service/git"
)

// TestRefsChanged: each change of refs is told once, whatever file it is in: new,
// moved and deleted refs, packed ones, those in new directories, HEAD.
func TestRefsChanged(t *testing.T) {
	r := newRepo(t)
	first := r.commit("first")
	_, reader := newWorld(t).user(git.Options{Repos: []string{"r=" + r.dir}}, git.ReaderOptions{Repo: "r"})
	changes := make(chan git.RefChange, 100)
	ready := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(within(t))
	done := make(chan error)
	go func() {
		done <- reader.WatchRefs(ctx, func() { ready <- struct{}{} }, func(c git.RefsChanged) {
			if c.Repo != "r" {
				t.Errorf("a change of %s", c.Repo)
			}
			for _, change := range c.Changes {
				changes <- change
			}
		})
	}()
	<-ready
	want := func(wanted ...git.RefChange) {
		t.Helper()
		for _, w := range wanted {
			select {
			case got := <-changes:
				if got != w {
					t.Errorf("told %+v, want %+v", got, w)
				}
			case err := <-done:
				t.Fatalf("the watch ended: %v", err)
			}
		}
	}
	second := r.commit("second")
	want(git.RefChange{Name: "refs/heads/main", Old: first, New: second})
	r.git("branch", "deep/er/branch", first)
	want(git.RefChange{Name: "refs/heads/deep/er/branch", New: first})
	r.git("branch", "-f", "deep/er/branch", second)
	want(git.RefChange{Name: "refs/heads/deep/er/branch", Old: first, New: second})
	r.git("checkout", "-q", "--detach")
	want(git.RefChange{Name: "HEAD", Old: "ref: refs/heads/main", New: second})
	r.git("pack-refs", "--all") // changes no ref, and is not told
	r.git("branch", "-D", "deep/er/branch")
	want(git.RefChange{Name: "refs/heads/deep/er/branch", Old: second})
	r.git("tag", "t")
	want(git.RefChange{Name: "refs/tags/t", New: second})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the end of the watch: %v", err)
	}
	if len(changes) > 0 {
		t.Errorf("told %+v as well", <-changes)
	}
}

// TestWatchEndsWithItsListener: a service that has left is not notified, and makes
// room for others; so does one that takes its watch back.
func TestWatchOfALinkedWorkTree(t *testing.T) {
	r := newRepo(t)
	first := r.commit("first")
	tree := filepath.Join(t.TempDir(), "tree")
	r.git("worktree", "add", "-q", tree, "-b", "side")
	_, reader := newWorld(t).user(git.Options{Repos: []string{tree}}, git.ReaderOptions{})
	changes := make(chan git.RefChange, 10)
	ready := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(within(t))
	done := make(chan error)
	go func() {
		done <- reader.WatchRefs(ctx, func() { ready <- struct{}{} }, func(c git.RefsChanged) {
			for _, change := range c.Changes {
				changes <- change
			}
		})
	}()
	<-ready
	r.git("branch", "from-main")
	if got, want := <-changes, (git.RefChange{Name: "refs/heads/from-main", New: first}); got != want {
		t.Errorf("told %+v, want %+v", got, want)
	}
	head := filepath.Join(r.dir, ".git", "worktrees", "tree", "HEAD")
	if err := os.WriteFile(head, []byte("ref: refs/heads/from-main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := <-changes, (git.RefChange{Name: "HEAD", Old: "ref: refs/heads/side", New: "ref: refs/heads/from-main"}); got != want {
		t.Errorf("told %+v, want %+v", got, want)
	}
	cancel()
	<-done
}
