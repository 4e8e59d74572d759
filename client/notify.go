package client

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// listener is a registered function of OnNotification.
type listener struct {
	hear func(params jsontext.Value)
}

// OnNotification calls hear for every notification of the method that the host
// sends, until remove is called. Hosts send notifications to the subscribers of
// the channel they name, and never again after a reconnect.
//
// Hear runs on the reader, in order with everything received: it must be quick
// and must not call the client. It may run once more while remove is called.
func (c *Client) OnNotification(method string, hear func(params jsontext.Value)) (remove func()) {
	l := &listener{hear}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners[method] = append(c.listeners[method], l)
	return func() { c.unlisten(method, l) }
}

func (c *Client) unlisten(method string, l *listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rest []*listener
	for _, other := range c.listeners[method] {
		if other != l {
			rest = append(rest, other)
		}
	}
	c.listeners[method] = rest
}

// hear handles a notification that is no action, on the reader.
func (c *Client) hear(method string, params jsontext.Value) {
	switch method {
	case ahp.MethodSessionAdded, ahp.MethodSessionRemoved, ahp.MethodSessionSummaryChanged:
		c.hearSession(method, params)
	case ahp.MethodAuthRequired:
		c.hearAuth(params)
	}
	c.mu.Lock()
	list := c.listeners[method]
	c.mu.Unlock()
	for _, l := range list {
		l.hear(params)
	}
}

// hearSession keeps the session lists, and the channels of sessions that are
// gone, in step with the root channel.
func (c *Client) hearSession(method string, params jsontext.Value) {
	e, err := readListEvent(method, params)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.stats.Malformed++
		return
	}
	if e.removed {
		c.removedLocked(e.uri)
	}
	for list := range c.lists {
		list.hearLocked(e)
	}
}
