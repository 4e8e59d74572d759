package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Names of the files in a directory.
const (
	hostLockName  = "host.lock"
	hostName      = "host.json"
	startLockName = "start.lock"
	tokenName     = "token"
	tokensName    = "tokens.yaml"
	logName       = "host.log"
	journalName   = "journal.db"
	groupsName    = "groups"
)

// ErrExposed means that others than the owner could read or change what must be
// the owner's alone.
var ErrExposed = errors.New("accessible to others")

// Dir is a state directory. It is a value and may be used concurrently.
type Dir struct{ path string }

// Default returns where the state of the current user belongs: below
// $XDG_STATE_HOME or ~/.local/state, on macOS below ~/Library/Application
// Support.
func Default() (string, error) {
	if runtime.GOOS != "darwin" {
		// A relative value must be ignored (XDG Base Directory Specification).
		if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
			return filepath.Join(state, "causeway"), nil
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the state directory: %w", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "causeway"), nil
	}
	return filepath.Join(home, ".local", "state", "causeway"), nil
}

// At returns the directory at path without touching it: it need not exist for
// somebody who only looks for a host.
func At(path string) (Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Dir{}, fmt.Errorf("find data directory: %w", err)
	}
	return Dir{path: abs}, nil
}

// Open returns the directory at path, made 0700 if it is not there. The error
// wraps ErrExposed when others may write to it: they could replace the token.
func Open(path string) (Dir, error) {
	d, err := At(path)
	if err != nil {
		return Dir{}, err
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return Dir{}, fmt.Errorf("make data directory: %w", err)
	}
	info, err := os.Stat(d.path)
	if err != nil {
		return Dir{}, fmt.Errorf("open data directory: %w", err)
	}
	if perm := info.Mode().Perm(); perm&0o022 != 0 {
		return Dir{}, fmt.Errorf("data directory %s has mode %04o: %w; run chmod 700 on it", d.path, perm, ErrExposed)
	}
	return d, nil
}

// Path is the absolute path of the directory.
func (d Dir) Path() string { return d.path }

// LogPath is where a host in the background writes its log.
func (d Dir) LogPath() string { return d.file(logName) }

// TokenPath is where the token of the directory is kept.
func (d Dir) TokenPath() string { return d.file(tokenName) }

// JournalPath is where the host keeps what happened.
func (d Dir) JournalPath() string { return d.file(journalName) }

// GroupsPath is the directory in which the host notes the process groups it
// runs.
func (d Dir) GroupsPath() string { return d.file(groupsName) }

// TokensPath is where the named tokens of the directory are kept.
func (d Dir) TokensPath() string { return d.file(tokensName) }

func (d Dir) file(name string) string { return filepath.Join(d.path, name) }

// writeFile replaces the file at path in one step. It is 0600 from its first
// byte on.
func writeFile(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// checkMode refuses a file on which others have one of the rights in mask.
func checkMode(f *os.File, mask os.FileMode, advice string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if perm := info.Mode().Perm(); perm&mask != 0 {
		return fmt.Errorf("%s has mode %04o: %w; %s", f.Name(), perm, ErrExposed, advice)
	}
	return nil
}
