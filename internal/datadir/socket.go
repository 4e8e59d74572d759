package datadir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// maxSocketPath is the longest path of a Unix socket in bytes that works on
// Linux (107) and macOS (103).
const maxSocketPath = 103

// errTooLong means that a path does not fit into a socket's address.
var errTooLong = errors.New("path too long for a Unix socket")

// ListenUnix opens the Unix socket of the claimed directory, 0600. When the
// directory's path is too long, or its file system has no sockets, the socket
// goes to the user's runtime directory or the one for temporary files, in a
// directory only the user can enter. What a dead host left there is replaced.
// Closing the listener removes the socket. Call it while nothing else in the
// process makes directories (bindPrivate).
func (c *Claim) ListenUnix() (net.Listener, error) {
	var failed []error
	for _, path := range c.dir.socketPaths() {
		ln, err := listenAt(path, c.dir.path)
		if err == nil {
			return ln, nil
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("listen on a unix socket: %w", errors.Join(failed...))
}

// socketPaths are the places for the socket, best first. Outside the directory
// its name is a digest, so that two directories never share one.
func (d Dir) socketPaths() []string {
	sum := sha256.Sum256([]byte(d.path))
	name := hex.EncodeToString(sum[:8]) + ".sock"
	paths := []string{d.file("host.sock")}
	if run := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		paths = append(paths, filepath.Join(run, "causeway", name))
	}
	return append(paths, filepath.Join(os.TempDir(), "causeway-"+strconv.Itoa(os.Getuid()), name))
}

func listenAt(path, dataDir string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("%s: %w", path, errTooLong)
	}
	if parent := filepath.Dir(path); parent != dataDir {
		if err := privateDir(parent); err != nil {
			return nil, err
		}
	}
	if err := removeSocket(path); err != nil {
		return nil, err
	}
	return bindPrivate(path)
}

// privateDir makes a directory below a place where others write too, or makes
// sure that the one there is ours alone.
func privateDir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path) // a link may have been planted
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm()&0o077 != 0 || int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%s: %w", path, ErrExposed)
	}
	return nil
}

// removeSocket removes a socket that nobody listens on: the caller holds the
// directory. Anything else at the path is left alone.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s is in the way and no socket", path)
	}
	return os.Remove(path)
}

// umask is the process's own and guarded here, so that two hosts in one process
// do not restore each other's.
var umask sync.Mutex

// bindPrivate binds a socket that is 0600 from the moment it exists. The umask
// is that of the whole process: what is made elsewhere meanwhile turns out
// stricter.
func bindPrivate(path string) (net.Listener, error) {
	umask.Lock()
	defer umask.Unlock()
	old := syscall.Umask(0o177)
	defer syscall.Umask(old)
	return net.Listen("unix", path)
}
