package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
)

// Find returns the host that runs on the directory. The error is ErrNoHost, or
// ErrNotReady while there is one that is not to be reached.
func (d Dir) Find() (Host, error) {
	alive, err := locked(d.file(hostLockName))
	switch {
	case err != nil:
		return Host{}, fmt.Errorf("look for a host: %w", err)
	case !alive:
		return Host{}, ErrNoHost
	}
	data, err := os.ReadFile(d.file(hostName))
	if errors.Is(err, fs.ErrNotExist) {
		return Host{}, ErrNotReady
	}
	if err != nil {
		return Host{}, fmt.Errorf("look for a host: %w", err)
	}
	var h Host
	if err := json.Unmarshal(data, &h); err != nil {
		return Host{}, fmt.Errorf("read %s: %w", d.file(hostName), err)
	}
	if h.PID <= 1 {
		return Host{}, fmt.Errorf("read %s: pid %d cannot be a host", d.file(hostName), h.PID)
	}
	return h, nil
}

// WaitGone waits until no host has the directory.
func (d Dir) WaitGone(ctx context.Context) error {
	tick := time.NewTicker(retryInterval)
	defer tick.Stop()
	for {
		alive, err := locked(d.file(hostLockName))
		if err != nil {
			return fmt.Errorf("wait for the host to end: %w", err)
		}
		if !alive {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the host to end: %w", context.Cause(ctx))
		}
	}
}

// StartLock lets one process at a time start a host on the directory; the others
// wait here and then find it running. The returned function releases it.
func (d Dir) StartLock(ctx context.Context) (release func() error, err error) {
	x, err := waitLock(ctx, d.file(startLockName))
	if err != nil {
		return nil, err
	}
	return x.Close, nil
}

// Signal sends sig to the host, provided that it still is the one found.
func (d Dir) Signal(h Host, sig syscall.Signal) error {
	now, err := d.Find()
	if err != nil {
		return err
	}
	if now.PID != h.PID || !now.Started.Equal(h.Started) {
		return ErrNoHost
	}
	if err := syscall.Kill(h.PID, sig); err != nil {
		return fmt.Errorf("signal the host (pid %d): %w", h.PID, err)
	}
	return nil
}
