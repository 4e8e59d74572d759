package client

import (
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// echoPatience is how long an action may be without an answer on a connection
// that lives. A host says nothing about an action for a channel that does not
// exist (AHP core, 6.3, 1), and tells only some of a channel's subscribers that
// it is gone; whoever waits must not wait for ever.
const echoPatience = 10 * time.Second

// expectEchoLocked makes sure that a written action is looked after.
func (l *link) expectEchoLocked(patience time.Duration) {
	if l.echoTimer == nil && !l.dropped {
		l.echoTimer = time.AfterFunc(patience, l.overdue)
	}
}

// overdue runs when the patience may be at its end.
func (l *link) overdue() {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.echoTimer = nil
	oldest := l.c.oldestWrittenLocked()
	if l.c.link != l || oldest.IsZero() {
		return
	}
	if left := echoPatience - time.Since(oldest); left > 0 {
		l.expectEchoLocked(left)
		return
	}
	limit := time.Now()
	l.c.goLocked(func() { l.probe(limit) })
}

// oldestWrittenLocked is when the longest waiting action was written; zero when
// none waits.
func (c *Client) oldestWrittenLocked() (oldest time.Time) {
	for _, ch := range c.channels {
		if at := ch.oldestWrittenLocked(); oldest.IsZero() || !at.IsZero() && at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}

func (ch *channel) oldestWrittenLocked() (oldest time.Time) {
	for _, d := range ch.dispatches {
		if !d.writtenAt.IsZero() && (oldest.IsZero() || d.writtenAt.Before(oldest)) {
			oldest = d.writtenAt
		}
	}
	return oldest
}

// probe asks the host for a sign of life. Everything is answered in order, so
// what was written before and has no answer then never will: those channels are
// subscribed anew, which shows whether they exist and what became of the actions.
func (l *link) probe(before time.Time) {
	err := l.call(l.ctx, ahp.MethodPing, ahp.ChannelParams{Channel: ahp.RootURI}, nil)
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if err != nil || l.c.link != l {
		return
	}
	for _, ch := range l.c.channels {
		if at := ch.oldestWrittenLocked(); ch.phase == open && !at.IsZero() && at.Before(before) {
			l.c.refetchLocked(ch)
		}
	}
	l.expectEchoLocked(echoPatience)
}
