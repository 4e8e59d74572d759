package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// retryInterval is how often a lock that is held for moments is asked for again.
const retryInterval = 5 * time.Millisecond

// errHeld means that somebody holds a lock that excludes ours.
var errHeld = errors.New("lock is held")

// lock is a flock on a file of its own. It ends with Close, or with the process.
// Children do not inherit it: Go opens every file close-on-exec.
type lock struct{ f *os.File }

// tryLock takes an exclusive lock without waiting, and makes its file. The error
// is errHeld when that cannot be.
func tryLock(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return flock(f, syscall.LOCK_EX)
}

// flock locks f or closes it.
func flock(f *os.File, how int) (x *lock, err error) {
	for {
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return &lock{f}, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errHeld
	}
	return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
}

// Close releases the lock.
func (x *lock) Close() error { return x.f.Close() }

// waitLock takes an exclusive lock and waits for it as long as ctx allows.
func waitLock(ctx context.Context, path string) (*lock, error) {
	tick := time.NewTicker(retryInterval)
	defer tick.Stop()
	for {
		x, err := tryLock(path)
		if !errors.Is(err, errHeld) {
			return x, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s: %w", path, context.Cause(ctx))
		}
	}
}

// hostLock takes the lock of a living host. The error is errHeld when another
// host has it. Somebody who only looks holds a shared lock for a moment, which
// must not turn a host away: that one is waited out.
func hostLock(ctx context.Context, path string) (*lock, error) {
	tick := time.NewTicker(retryInterval)
	defer tick.Stop()
	for {
		x, err := tryLock(path)
		if !errors.Is(err, errHeld) {
			return x, err
		}
		if alive, err := locked(path); alive || err != nil {
			return nil, errors.Join(errHeld, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s: %w", path, context.Cause(ctx))
		}
	}
}

// locked reports whether a host holds the lock. It leaves no file behind.
func locked(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	probe, err := flock(f, syscall.LOCK_SH)
	if err == nil {
		return false, probe.Close()
	}
	if errors.Is(err, errHeld) {
		return true, nil
	}
	return false, err
}
