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

// lookAfter asks whether a quiet channel still exists, and ends it if not. It asks
// about chats and sessions alone, and not where its end would be told.
func (c *Client) lookAfter(ch *channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == nil || ch.phase != open || ch.asking {
		return
	}
	l, probe := c.link, ch.probeLocked()
	if probe == "" {
		return
	}
	ch.asking = true
	c.goLocked(func() { c.ask(l, ch, probe) })
}

// probeLocked is the chat whose end would be that of the channel: itself, or any
// of a session. It is empty when there is none, or nothing to ask.
func (ch *channel) probeLocked() ahp.URI {
	root := ch.c.channels[ahp.RootURI]
	told := root != nil && root.phase == open // of the ends of sessions
	switch s, _ := ch.machine.Confirmed().(*ahp.SessionState); {
	case s == nil && ahp.KindOf(ch.uri) == ahp.KindChat && !(told && ch.c.followsSessionOfLocked(ch.uri)):
		return ch.uri
	case s != nil && len(s.Chats) > 0 && !told:
		return s.Chats[0].Resource
	}
	return ""
}

// followsSessionOfLocked reports whether the session of a chat is open too: its
// state tells when the chat ends, and chatsGoneLocked when it ends itself.
func (c *Client) followsSessionOfLocked(chat ahp.URI) bool {
	for _, ch := range c.channels {
		if ch.phase != open {
			continue
		}
		if s, ok := ch.machine.Confirmed().(*ahp.SessionState); ok {
			for i := range s.Chats {
				if s.Chats[i].Resource == chat {
					return true
				}
			}
		}
	}
	return false
}

// ask asks about the probe of a channel. A session may have lost that chat and
// live on: a subscribe, which brings its state or says that it is gone, tells.
func (c *Client) ask(l *link, ch *channel, probe ahp.URI) {
	missing := l.missing(probe)
	c.mu.Lock()
	defer c.mu.Unlock()
	ch.asking = false
	if !missing || c.link != l || ch.phase != open {
		return
	}
	if probe == ch.uri {
		c.removedLocked(ch.uri)
		return
	}
	c.refetchLocked(ch)
}

// missing asks the host about a chat. It shows whether it exists by how it refuses
// a cursor it never gave out (AHP core, 2.2): as an invalid one, or as one of an
// unknown chat.
func (l *link) missing(chat ahp.URI) bool {
	cursor := "does this chat exist?"
	err := l.call(l.ctx, ahp.MethodFetchTurns, ahp.FetchTurnsParams{Channel: chat, Cursor: &cursor}, nil)
	return errors.Is(err, ahp.ErrNotFound) || errors.Is(err, ahp.ErrSessionNotFound)
}
