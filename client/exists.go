package client

import (
	"errors"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// idlePatience is how long somebody waits for a channel that says nothing before
// the client asks the host whether it still exists. The protocol tells the end of
// a chat to those who follow its session, and that of a session to those who
// follow the root; others would wait for ever.
const idlePatience = 30 * time.Second

// lookAfter asks whether a quiet channel still exists, and ends it if not.
func (c *Client) lookAfter(ch *channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == nil || ch.phase != open || ch.asking {
		return
	}
	l := c.link
	ch.asking = true
	c.goLocked(func() { c.ask(l, ch) })
}

func (c *Client) ask(l *link, ch *channel) {
	missing := l.missing(ch)
	c.mu.Lock()
	defer c.mu.Unlock()
	ch.asking = false
	if missing && c.link == l {
		c.removedLocked(ch.uri)
	}
}

// missing asks the host about a channel. A chat shows whether it exists by how
// it refuses a cursor it never gave out (AHP core, 2.2): as an invalid one, or
// as one of an unknown chat. Anything else is subscribed anew, which brings its
// state, or the answer that it is gone.
func (l *link) missing(ch *channel) bool {
	if ahp.KindOf(ch.uri) != ahp.KindChat {
		l.c.mu.Lock()
		if ch.phase == open && l.c.link == l {
			ch.phase = stale
			l.c.goLocked(func() { l.c.fetchAgain(l, ch, false) })
		}
		l.c.mu.Unlock()
		return false
	}
	cursor := "does this chat exist?"
	err := l.call(l.ctx, ahp.MethodFetchTurns, ahp.FetchTurnsParams{Channel: ch.uri, Cursor: &cursor}, nil)
	return errors.Is(err, ahp.ErrNotFound) || errors.Is(err, ahp.ErrSessionNotFound)
}
