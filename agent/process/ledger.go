package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Ledger is a directory with a file for every process group that runs, written
// before its program does. So whoever comes after a host that was killed finds
// what is left of it, and nothing that merely has the same number. Its methods
// may be called concurrently.
type Ledger struct{ dir string }

// current is the ledger of this process. Groups belong to the process that
// started them, whichever agent asked for it, so there is one at most.
var current atomic.Pointer[Ledger]

// Use makes l the ledger of everything this process starts from now on; nil
// means none is kept.
func Use(l *Ledger) { current.Store(l) }

// OpenLedger returns the ledger in a directory, made if it is not there.
func OpenLedger(dir string) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open ledger of process groups: %w", err)
	}
	return &Ledger{dir: dir}, nil
}

func (l *Ledger) path(pgid int) string { return filepath.Join(l.dir, strconv.Itoa(pgid)) }

// note writes a group down. What tells it from another one with its number is
// when its leader started.
func (l *Ledger) note(pgid int) error {
	at, err := startTime(pgid)
	if err != nil {
		return fmt.Errorf("note process group: %w", err)
	}
	if err := os.WriteFile(l.path(pgid), []byte(at), 0o600); err != nil {
		return fmt.Errorf("note process group: %w", err)
	}
	return nil
}

// forget takes a group out that is gone. Without a ledger it does nothing.
func (l *Ledger) forget(pgid int) {
	if l != nil {
		_ = os.Remove(l.path(pgid)) // one that stays is found to be gone next time
	}
}

// EndLeftovers ends the groups a killed process left behind and waits until they
// are gone. It says how many there were. Groups that cannot be ended stay noted,
// and are an error. It must not be called after Use.
func (l *Ledger) EndLeftovers() (ended int, err error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return 0, fmt.Errorf("read ledger of process groups: %w", err)
	}
	var left []group
	for _, e := range entries {
		pgid, err := strconv.Atoi(e.Name())
		if err != nil || pgid <= 1 {
			continue // not ours
		}
		noted, err := os.ReadFile(l.path(pgid))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, fmt.Errorf("read ledger of process groups: %w", err)
		}
		if isLeftover(pgid, string(noted)) {
			left = append(left, group{id: pgid, exited: closed, ledger: l})
		} else {
			l.forget(pgid)
		}
	}
	return len(left), endAll(left)
}

// closed stands for a leader that is not ours to wait for.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// isLeftover reports whether a group that was noted lives. While any of it does,
// no other group gets its number; a leader that started at another time is the
// proof that all of it was gone. A note that is not complete is of a program
// that never ran.
func isLeftover(pgid int, noted string) bool {
	if noted == "" || !Alive(pgid) {
		return false
	}
	at, err := startTime(pgid)
	return err != nil || at == noted
}

// leftoverGrace is how long leftovers have to end when they are asked to.
const leftoverGrace = 300 * time.Millisecond

// endAll ends groups together: each is asked, then made.
func endAll(groups []group) error {
	for _, g := range groups {
		g.signal(syscall.SIGTERM)
	}
	deadline := time.Now().Add(leftoverGrace)
	var stubborn []string
	for _, g := range groups {
		if g.waitGone(max(0, time.Until(deadline))) {
			continue
		}
		if g.signal(syscall.SIGKILL); !g.waitGone(KillGrace) {
			stubborn = append(stubborn, strconv.Itoa(g.id))
		}
	}
	if len(stubborn) > 0 {
		return fmt.Errorf("process groups %s cannot be ended", strings.Join(stubborn, ", "))
	}
	return nil
}
