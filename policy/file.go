package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/feature/tcp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/fsnotify/fsnotify"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxBytes bounds a policy file.
const MaxBytes = 1 << 20

// settle is how long a file is left alone after it has changed: editors write
// several times, and some replace the file.
const settle = 50 * time.Millisecond

// File is a policy in a file that may change while it is asked. Its methods may
// be called concurrently; only Watch is called once.
type File struct {
	path    string
	log     *slog.Logger
	watcher *fsnotify.Watcher
	seen    fs.FileInfo // as last read; nil: there was none. Owned by Watch.
	rules   atomic.Pointer[Rules]
}

var _ host.Policy = (*File)(nil)

// Open reads the file at path and begins to listen for changes of it. Watch or
// Close ends the listening.
func Open(path string, log *slog.Logger) (*File, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	f := &File{path: abs, log: log}
	if f.watcher, err = fsnotify.NewWatcher(); err != nil {
		return nil, fmt.Errorf("watch policy: %w", err)
	}
	if err = f.listen(); err == nil {
		f.seen, _ = os.Stat(abs) // before reading: a change in between is found later
		var rules *Rules
		if rules, err = f.read(); err == nil {
			f.rules.Store(rules)
			return f, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("policy %s: %w", path, err), f.watcher.Close())
}

// listen begins to watch the directory, because a file that is replaced is another
// file, and that of the file a link leads to.
func (f *File) listen() error {
	if err := f.watcher.Add(filepath.Dir(f.path)); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(f.path)
	if err != nil || filepath.Dir(real) == filepath.Dir(f.path) {
		return err
	}
	return f.watcher.Add(filepath.Dir(real))
}

// Close ends a file that is not watched.
func (f *File) Close() error { return f.watcher.Close() }

func (f *File) read() (*Rules, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("it is larger than %d bytes", MaxBytes)
	}
	return Parse(data)
}

// Watch follows the file until ctx ends, and calls changed after each change that
// makes a policy. A file that is missing or broken changes nothing; the log says
// why.
func (f *File) Watch(ctx context.Context, changed func()) error {
	defer f.watcher.Close()
	timer := time.NewTimer(0) // what changed since Open
	defer timer.Stop()
	waiting := true
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-f.watcher.Events:
			if !ok {
				return errors.New("policy: the watch of its directory has ended")
			}
			if !waiting { // whatever it was, a look at the file decides
				waiting = true
				timer.Reset(settle)
			}
		case err := <-f.watcher.Errors:
			f.log.Warn("watching the policy file", "err", err)
		case <-timer.C:
			waiting = false
			if f.refresh() {
				changed()
			}
		}
	}
}

// refresh reads the file if it is not the one that was read; it reports whether
// there is a new policy.
func (f *File) refresh() bool {
	now, _ := os.Stat(f.path)
	if sameFile(f.seen, now) {
		return false
	}
	f.seen = now
	rules, err := f.read()
	if err != nil {
		f.log.Error("the policy file cannot be used; the policy before it stays in force", "file", f.path, "err", err)
		return false
	}
	f.rules.Store(rules)
	f.log.Info("policy read", "file", f.path)
	return true
}

func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

// Allow implements host.Policy.
func (f *File) Allow(p host.Principal, op host.Op, channel ahp.URI) bool {
	return f.rules.Load().Allow(p, op, channel)
}

// MayRegister implements the policy of client services.
func (f *File) MayRegister(owner host.Principal, metadata jsontext.Value) bool {
	return f.rules.Load().MayRegister(owner, metadata)
}

// MaySee implements the policy of client services.
func (f *File) MaySee(observer, owner host.Principal, metadata jsontext.Value) bool {
	return f.rules.Load().MaySee(observer, owner, metadata)
}

// MayNotify implements the policy of client services.
func (f *File) MayNotify(sender, owner host.Principal, metadata jsontext.Value) bool {
	return f.rules.Load().MayNotify(sender, owner, metadata)
}

// MayCall implements the policy of client services.
func (f *File) MayCall(sender, owner host.Principal, metadata jsontext.Value) bool {
	return f.rules.Load().MayCall(sender, owner, metadata)
}

// Forward is that of the rules in force.
func (f *File) Forward(p host.Principal) (destinations tcp.Rules, ok bool) {
	return f.rules.Load().Forward(p)
}
