package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/causeway-ahp/causeway/agent/process"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/journal/sqlite"
	"github.com/spf13/pflag"
)

// storeOptions are the flags of serve about what is kept.
type storeOptions struct {
	sync      string
	keepFor   time.Duration
	keepBytes int64

	every time.Duration // sync, parsed by check; 0: always
}

func (o *storeOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.sync, "sync", "1s", "how much a loss of power may cost: a `duration`, or 'always' for nothing")
	f.DurationVar(&o.keepFor, "keep-for", 0, "remove sessions that nobody uses and that were not changed for this `duration`, such as 720h (default: keep all)")
	f.Int64Var(&o.keepBytes, "keep-bytes", 0, "remove the oldest sessions that nobody uses while all together have more than so many `bytes` (default: keep all)")
}

func (o *storeOptions) check() (err error) {
	if o.keepFor < 0 || o.keepBytes < 0 {
		return usagef("--keep-for and --keep-bytes must not be negative")
	}
	if o.sync == "always" {
		return nil
	}
	if o.every, err = time.ParseDuration(o.sync); err != nil || o.every < 10*time.Millisecond {
		return usagef("--sync %q is neither 'always' nor a duration of at least 10ms, such as 1s", o.sync)
	}
	return nil
}

// openJournal opens the journal of a state directory.
func openJournal(dir datadir.Dir, o *storeOptions) (journal.Store, error) {
	store, err := sqlite.Open(dir.JournalPath(), sqlite.Options{Always: o.every == 0})
	switch {
	case errors.Is(err, sqlite.ErrNewer):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w; 'causeway doctor --data %s' says more", err, dir.Path())
	}
	return store, nil
}

// endLeftovers ends the processes a killed host left behind, and notes from now
// on which ones this host starts.
func (s *server) endLeftovers() error {
	ledger, err := process.OpenLedger(s.dir.GroupsPath())
	if err != nil {
		return err
	}
	ended, err := ledger.EndLeftovers()
	if err != nil {
		s.log.Warn("what a killed host left behind could not all be ended", "err", err)
	}
	if ended > 0 {
		s.log.Info("ended what a killed host left behind", "groups", ended)
	}
	process.Use(ledger)
	return nil
}

func (o *storeOptions) retention() host.Retention {
	return host.Retention{Age: o.keepFor, Bytes: o.keepBytes}
}

// lockLinger is how long the lock of a killed host may outlive it: a child that it
// was about to start holds it until that runs its program.
const lockLinger = 2 * time.Second

// claimDir takes the directory for this host. One that lives is refused at once;
// the lock of one that is dead is waited for.
func claimDir(ctx context.Context, dir datadir.Dir) (*datadir.Claim, error) {
	tick := time.NewTicker(lockLinger / 100)
	defer tick.Stop()
	for began := time.Now(); ; {
		claim, err := dir.Claim(ctx)
		var running *datadir.RunningError
		dead := errors.As(err, &running) && running.Host.PID != 0 &&
			errors.Is(syscall.Kill(running.Host.PID, 0), syscall.ESRCH)
		if !dead || time.Since(began) > lockLinger {
			return claim, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}
