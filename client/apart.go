package client

import (
	"errors"
	"fmt"
	"sync"

	"github.com/causeway-ahp/causeway/transport"
)

// The answer to a handshake holds the states of every channel it names, whole. One
// that is too large for the way to the host, or for this client, would be lost at
// every attempt, and with it the connection. So after a few such losses the next
// handshake names no channel, and each is fetched by a request of its own, with
// its own view. A channel that does not get through alone either is given up, by
// itself (case 1).
const (
	// maxUnanswered is how many handshakes in a row may be lost without an
	// answer before the channels are fetched apart.
	maxUnanswered = 2
	// maxLost is how often a fetch may be lost while nothing else was fetched
	// before the channel is given up.
	maxLost = 4
)

// unanswered notes a handshake that was lost before its answer.
func (c *Client) unanswered(h *handshake, cause error) {
	if !h.names {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unheard++
	if c.unheard < maxUnanswered && !errors.Is(cause, transport.ErrTooLarge) {
		return
	}
	c.apart = true
	for _, ch := range c.channels {
		if ch.phase == open {
			c.staleLocked(ch)
		}
	}
}

// fetchStaleLocked fetches the channels whose states were not carried over, at
// the same time. Those whose fetch was lost before follow one by one: it shows
// which of them it is that does not get through.
func (c *Client) fetchStaleLocked(l *link) {
	c.unheard, c.apart = 0, false
	var fresh, suspects []*channel
	for _, ch := range c.channels {
		switch {
		case ch.phase != stale:
		case ch.lost == 0:
			fresh = append(fresh, ch)
		default:
			suspects = append(suspects, ch)
		}
	}
	if len(fresh)+len(suspects) == 0 {
		return
	}
	c.goLocked(func() {
		var together sync.WaitGroup
		for _, ch := range fresh {
			together.Go(func() { c.fetchAgain(l, ch, false) })
		}
		together.Wait()
		for _, ch := range suspects {
			c.fetchAgain(l, ch, true)
		}
	})
}

// fetchAgain fetches a stale channel and counts the loss of the connection
// meanwhile. Alone says that nothing else was being fetched.
func (c *Client) fetchAgain(l *link, ch *channel, alone bool) {
	if l.ctx.Err() != nil {
		return // lost already, and not by this channel
	}
	err := c.fetch(l, ch)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !errors.Is(err, ErrConnectionLost):
		ch.lost = 0
		return
	case ch.phase != stale || c.closed:
		return
	}
	ch.lost++
	if alone && (ch.lost > maxLost || errors.Is(err, transport.ErrTooLarge)) {
		c.goneLocked(ch, fmt.Errorf("%w: %w", ErrUnreachableState, err))
	}
}
