package process

import (
	"syscall"
	"time"
)

// Patience with processes.
const (
	LingerTime = 250 * time.Millisecond // for the rest of a group after its leader
	TermGrace  = 2 * time.Second        // between SIGTERM and SIGKILL
	KillGrace  = 2 * time.Second        // for SIGKILL to have ended the group
	DrainTime  = 500 * time.Millisecond // for reading on after the group is gone
	maxPoll    = 50 * time.Millisecond  // between two looks at a group
)

// group is a process group and its leader, which its owner reaps.
type group struct {
	id     int
	exited chan struct{} // closed when the leader has ended
	ledger *Ledger       // where it is noted, nil for nowhere
}

// signal sends to the group. An error says that nobody is left to hear it, or
// that it may not be sent; waitGone finds out which.
func (g group) signal(sig syscall.Signal) { _ = syscall.Kill(-g.id, sig) }

// terminate asks the group to end, then makes it. It reports whether all of it
// is gone.
func (g group) terminate() bool {
	if g.signal(syscall.SIGTERM); g.waitGone(TermGrace) {
		return true
	}
	g.signal(syscall.SIGKILL)
	return g.waitGone(KillGrace)
}

// waitGone waits until leader and group are gone and reports whether they are.
// Nothing tells the end of a group, so it looks, less and less often.
func (g group) waitGone(limit time.Duration) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	poll := time.NewTimer(0)
	defer poll.Stop()
	for pause := time.Millisecond; ; pause = min(2*pause, maxPoll) {
		if g.hasExited() && !Alive(g.id) {
			g.ledger.forget(g.id)
			return true
		}
		poll.Reset(pause)
		select {
		case <-deadline.C:
			return false
		case <-poll.C:
		}
	}
}

func (g group) hasExited() bool {
	select {
	case <-g.exited:
		return true
	default:
		return false
	}
}
