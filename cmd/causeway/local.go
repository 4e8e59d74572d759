package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/causeway-ahp/causeway/internal/datadir"
)

const (
	// startTimeout bounds finding or starting a local host.
	startTimeout = 20 * time.Second
	// retireTimeout is how long a host may take to say that it is not needed:
	// it vanishes from the directory at once, or it is in use.
	retireTimeout = 500 * time.Millisecond
	// pollInterval is how often a host that starts or ends is looked at.
	pollInterval = 5 * time.Millisecond
	// maxLogBytes is the size from which on a log is put aside at a start.
	maxLogBytes = 1 << 20
)

// startLocal returns the URL of the local host of dir and starts one in the
// background if none runs. Any number of processes may do so at once: one of
// them starts it. A background host of another version is replaced unless it is
// in use.
func startLocal(ctx context.Context, dir datadir.Dir) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no host was ready after %v", startTimeout))
	defer cancel()
	h, err := starter{dir: dir, version: buildVersion()}.host(ctx)
	if err != nil {
		return "", fmt.Errorf("start a local host: %w", err)
	}
	return localURL(dir, h)
}

// starter finds or starts the host of a directory.
type starter struct {
	dir     datadir.Dir
	version string // that of this program
}

func (s starter) host(ctx context.Context) (datadir.Host, error) {
	if h, err := s.dir.Find(); err == nil && s.suits(h) {
		return h, nil
	}
	release, err := s.dir.StartLock(ctx)
	if err != nil {
		return datadir.Host{}, err
	}
	h, err := s.hostLocked(ctx)
	return h, errors.Join(err, release())
}

// suits reports whether a running host is to be used as it is. One that the user
// started himself is never ended behind his back.
func (s starter) suits(h datadir.Host) bool { return !h.AutoExit || h.Version == s.version }

// hostLocked runs while no other process may start a host.
func (s starter) hostLocked(ctx context.Context) (datadir.Host, error) {
	h, err := settledHost(ctx, s.dir)
	if err == nil && !s.suits(h) {
		if retired, err := retire(ctx, s.dir, h); err != nil || !retired {
			return h, err
		}
		h, err = settledHost(ctx, s.dir)
	}
	if errors.Is(err, datadir.ErrNoHost) {
		return launch(ctx, s.dir)
	}
	return h, err
}

// settledHost is Find that waits while a host starts or stops.
func settledHost(ctx context.Context, dir datadir.Dir) (datadir.Host, error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		h, err := dir.Find()
		if !errors.Is(err, datadir.ErrNotReady) {
			return h, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return h, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// retire asks a background host to end if nobody needs it, and reports whether
// it does: then it takes itself out of the directory at once.
func retire(ctx context.Context, dir datadir.Dir, h datadir.Host) (bool, error) {
	if err := dir.Signal(h, syscall.SIGHUP); err != nil {
		return true, ignoreGone(err)
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	patience := time.NewTimer(retireTimeout)
	defer patience.Stop()
	for {
		if _, err := dir.Find(); err != nil {
			return true, ignoreGone(err)
		}
		select {
		case <-tick.C:
		case <-patience.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// ignoreGone drops the errors that say that a host has gone, or is about to.
func ignoreGone(err error) error {
	if errors.Is(err, datadir.ErrNoHost) || errors.Is(err, datadir.ErrNotReady) {
		return nil
	}
	return err
}

// launch starts this program as a host in a session of its own and waits until
// it is ready. Nothing of the caller stays open in it.
func launch(ctx context.Context, dir datadir.Dir) (datadir.Host, error) {
	log, err := openLog(dir.LogPath())
	if err != nil {
		return datadir.Host{}, err
	}
	defer log.Close()
	start, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return datadir.Host{}, err
	}
	cmd, err := hostCommand(dir, log)
	if err != nil {
		return datadir.Host{}, err
	}
	if err := cmd.Start(); err != nil {
		return datadir.Host{}, err
	}
	h, err := awaitLaunch(ctx, dir, cmd.Process)
	if err != nil {
		return h, fmt.Errorf("%w%s", err, logTail(dir.LogPath(), start))
	}
	return h, nil
}

// hostCommand is the command line of a host in the background.
func hostCommand(dir datadir.Dir, log *os.File) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	flags := []string{"causeway", "serve", "--data", dir.Path(), "--listen", "127.0.0.1:0", "--auto-exit"}
	if home, err := os.UserHomeDir(); err == nil {
		flags = append(flags, "--cwd", home)
	}
	return &exec.Cmd{
		Path: self, Args: flags, Dir: dir.Path(), Stdout: log, Stderr: log,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}, nil
}

// awaitLaunch waits until the host started as p is ready, or until it has ended:
// then another one may have been faster. p is released or reaped.
func awaitLaunch(ctx context.Context, dir datadir.Dir, p *os.Process) (datadir.Host, error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if h, err := dir.Find(); err == nil {
			return h, p.Release()
		}
		// A goroutine in Wait would live as long as the host; asking does not.
		var status syscall.WaitStatus
		if pid, err := syscall.Wait4(p.Pid, &status, syscall.WNOHANG, nil); err == nil && pid == p.Pid {
			if h, err := settledHost(ctx, dir); err == nil {
				return h, p.Release()
			}
			return datadir.Host{}, errors.Join(fmt.Errorf("it ended with %s", ending(status)), p.Release())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = p.Kill()
			_, _ = p.Wait()
			return datadir.Host{}, context.Cause(ctx)
		}
	}
}

func ending(s syscall.WaitStatus) string {
	if s.Signaled() {
		return "signal " + s.Signal().String()
	}
	return fmt.Sprintf("exit code %d", s.ExitStatus())
}

// openLog opens the log of a background host for appending. A large one is put
// aside first.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogBytes {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// logTail is the end of what was logged after offset, for people.
func logTail(path string, offset int64) string {
	const maxBytes, maxLines = 8 << 10, 10
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(offset, info.Size()-maxBytes), maxBytes))
	if err != nil {
		return ""
	}
	lines := strings.Split(string(bytes.TrimSpace(data)), "\n")
	if lines[0] == "" {
		return "; see " + path
	}
	lines = lines[max(0, len(lines)-maxLines):]
	return "; " + path + " ends with:\n  " + strings.Join(lines, "\n  ")
}
