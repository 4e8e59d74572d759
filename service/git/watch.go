package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Git changes several files for one ref, and a fetch many refs: what comes close
// together is looked at once, but no later than after settleMax.
const (
	settlePause = 30 * time.Millisecond
	settleMax   = 500 * time.Millisecond
	retryPause  = time.Second // after Git could not list the refs
)

// watcher follows the refs of a repository once somebody wants to know.
type watcher struct {
	mu     sync.Mutex // guards what follows
	files  *fsnotify.Watcher
	cancel context.CancelFunc
	work   sync.WaitGroup // the goroutine that follows
}

// watchRefs makes tell be called with every change of refs from now on, until the
// repository is closed. Once it is watched, further calls change nothing.
func (r *repository) watchRefs(ctx context.Context, tell func([]RefChange)) error {
	w := &r.refs
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files != nil {
		return nil
	}
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch refs: %w", err)
	}
	err = r.watchFiles(files)
	var known map[string]string
	if err == nil {
		known, err = r.values(ctx) // after the watch began: nothing falls between
	}
	if err != nil {
		return errors.Join(err, files.Close())
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.files, w.cancel = files, cancel
	w.work.Go(func() { r.followRefs(life, files, known, tell) })
	return nil
}

func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files != nil {
		w.cancel()
		_ = w.files.Close()
		w.work.Wait()
	}
}

// watchFiles watches what holds refs: HEAD in the repository's own directory;
// packed-refs, loose refs, or the tables of refs in the common one.
func (r *repository) watchFiles(files *fsnotify.Watcher) error {
	for _, dir := range []string{r.dir, r.commonDir} {
		if err := files.Add(dir); err != nil {
			return fmt.Errorf("watch refs: %w", err)
		}
	}
	for _, dir := range []string{filepath.Join(r.commonDir, "refs"), filepath.Join(r.commonDir, "reftable")} {
		if err := watchTree(files, dir); err != nil {
			return fmt.Errorf("watch refs: %w", err)
		}
	}
	return nil
}

// watchTree watches a directory and those below it. Directories come and go while
// it looks.
func watchTree(files *fsnotify.Watcher, root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = files.Add(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// followRefs tells the changes of refs until ctx ends.
func (r *repository) followRefs(ctx context.Context, files *fsnotify.Watcher, known map[string]string, tell func([]RefChange)) {
	var again time.Duration
	for r.awaitChange(ctx, files, again) {
		now, err := r.values(ctx)
		if err != nil { // in the middle of a change, or over
			again = retryPause
			continue
		}
		again = 0
		if changes := difference(known, now); len(changes) > 0 {
			tell(changes)
		}
		known = now
	}
}

// awaitChange waits for a change of files and until it has settled, or for the time
// after, if there is one; it is false when ctx ends.
func (r *repository) awaitChange(ctx context.Context, files *fsnotify.Watcher, after time.Duration) bool {
	settled := time.NewTimer(cmp.Or(after, time.Hour))
	defer settled.Stop()
	if after == 0 {
		settled.Stop()
	}
	var latest time.Time
	for {
		select {
		case e, ok := <-files.Events:
			if !ok {
				return false
			}
			r.watchNew(files, e)
			if latest.IsZero() {
				latest = time.Now().Add(settleMax)
			}
			settled.Reset(max(0, min(settlePause, time.Until(latest))))
		case _, ok := <-files.Errors: // too many events: some were lost
			if !ok {
				return false
			}
			_ = r.watchFiles(files)
			settled.Reset(settlePause)
		case <-settled.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// watchNew watches a directory that was made below one of ours.
func (r *repository) watchNew(files *fsnotify.Watcher, e fsnotify.Event) {
	if !e.Has(fsnotify.Create) || filepath.Dir(e.Name) == r.dir || filepath.Dir(e.Name) == r.commonDir {
		return
	}
	if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
		_ = watchTree(files, e.Name) // if it is gone again there is nothing to watch
	}
}

// difference lists what changed, by name.
func difference(before, after map[string]string) []RefChange {
	var changes []RefChange
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			changes = append(changes, RefChange{Name: name, Old: before[name], New: after[name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == "" {
			changes = append(changes, RefChange{Name: name, Old: before[name]})
		}
	}
	return changes
}
