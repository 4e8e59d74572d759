package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/reconcile"
	"github.com/causeway-ahp/causeway/reducer"
)

// phase is where a channel stands.
type phase uint8

const (
	opening phase = iota // the first snapshot is on its way
	open                 // complete up to what was received
	stale                // was complete once; a fresh snapshot is wanted
	gone                 // over
)

// channel is one subscription of the client, shared by all handles of its URI.
// The client's lock guards everything but the first three fields.
type channel struct {
	c    *Client
	uri  ahp.URI
	opts SubscribeOptions

	phase      phase
	err        error // why it is gone
	refs       int   // open handles
	lost       int   // fetches in a row that ended with the connection
	machine    *reconcile.Channel
	early      []*incoming // received before the snapshot they follow
	dispatches map[uint64]*Dispatch
	watchers   map[*watcher]struct{}
	changed    broadcast
	asking     bool          // the host is being asked whether it exists
	done       chan struct{} // closed when gone

	windowed bool          // the host delivers it windowed
	sub      *subscription // the windowed one on the present connection
}

func newChannel(c *Client, uri ahp.URI, o SubscribeOptions) *channel {
	return &channel{
		c: c, uri: uri, opts: o,
		dispatches: make(map[uint64]*Dispatch), watchers: make(map[*watcher]struct{}), done: make(chan struct{}),
	}
}

// changedLocked wakes whoever waits for something about the channel.
func (ch *channel) changedLocked() { ch.changed.signal() }

// snapshot is a state that was read from the wire.
type snapshot struct {
	uri     ahp.URI
	state   any
	fromSeq uint64
	err     error // the state could not be read
}

func readSnapshot(s *ahp.Snapshot) snapshot {
	state, err := reducer.Decode(ahp.KindOf(s.Resource), s.State)
	if err != nil {
		err = fmt.Errorf("snapshot of %s: %w", s.Resource, err)
	}
	return snapshot{uri: s.Resource, state: state, fromSeq: s.FromSeq, err: err}
}

func readSnapshots(list []ahp.Snapshot) map[ahp.URI]snapshot {
	states := make(map[ahp.URI]snapshot, len(list))
	for i := range list {
		s := readSnapshot(&list[i])
		states[s.uri] = s
	}
	return states
}

// resetLocked takes the snapshot that a new connection brought.
func (c *Client) resetLocked(ch *channel, s snapshot) {
	if s.err != nil {
		c.stats.Malformed++
		c.goneLocked(ch, s.err)
		return
	}
	ch.phase, ch.early = open, nil
	outcomes := ch.machine.Reset(s.state, s.fromSeq)
	ch.publishLocked(Update{Kind: Snapshot, ServerSeq: s.fromSeq}, true)
	c.settleLocked(ch, outcomes)
	ch.changedLocked()
}

// missingLocked handles a channel that a reconnect could not resume. Volatile
// ones are never replayed and are subscribed again as soon as the connection is
// live; anything else is gone (AHP core, 8.1).
func (c *Client) missingLocked(ch *channel) {
	switch ahp.KindOf(ch.uri) {
	case ahp.KindUnknown, ahp.KindResourceWatch, ahp.KindClientServices, ahp.KindOTLP:
		c.staleLocked(ch)
	default:
		c.goneLocked(ch, ErrChannelGone)
	}
}

// staleLocked marks a channel whose state can no longer be carried on. What was
// written gets no answer any more.
func (c *Client) staleLocked(ch *channel) {
	ch.phase = stale
	c.settleLocked(ch, ch.machine.Replayed())
	ch.changedLocked()
}

// goneLocked ends a channel for all its handles.
func (c *Client) goneLocked(ch *channel, err error) {
	if ch.phase == gone {
		return
	}
	if ch.machine != nil {
		c.settleLocked(ch, ch.machine.Remove())
	}
	ch.phase, ch.err, ch.early = gone, err, nil
	ch.leaveWindowLocked()
	if c.channels[ch.uri] == ch {
		delete(c.channels, ch.uri)
	}
	for w := range ch.watchers {
		w.endLocked(err)
	}
	close(ch.done)
	ch.changedLocked()
	if errors.Is(err, ErrChannelGone) {
		c.chatsGoneLocked(ch)
	}
}

// chatsGoneLocked ends the chats of a session that is gone: nothing else would
// tell those who only follow a chat.
func (c *Client) chatsGoneLocked(ch *channel) {
	if ch.machine == nil {
		return
	}
	s, ok := ch.machine.Confirmed().(*ahp.SessionState)
	if !ok {
		return
	}
	for i := range s.Chats {
		c.removedLocked(s.Chats[i].Resource)
	}
	c.removedLocked(ahp.AnnotationsURI(ch.uri))
}

// removedLocked ends a channel that the host says it has removed.
func (c *Client) removedLocked(uri ahp.URI) {
	if ch := c.channels[uri]; ch != nil {
		c.goneLocked(ch, ErrChannelGone)
	}
}

// unlinkLocked adjusts the channels to the loss of the connection.
func (c *Client) unlinkLocked(cause error) {
	for _, ch := range c.channels {
		if ch.phase == opening {
			c.goneLocked(ch, &LostError{Method: ahp.MethodSubscribe, Sent: true, Cause: cause})
		}
		ch.early, ch.sub = nil, nil
	}
	for list := range c.lists {
		list.lostLocked()
	}
	c.unregisteredLocked()
}

// fetch subscribes to a channel on a connection and installs its snapshot. A
// channel that was open once outlives the loss of the connection; for a new one
// that is dealt with where the loss is (see unlinkLocked).
func (c *Client) fetch(l *link, ch *channel) error {
	r, err := l.subscribeTo(ch)
	s := snapshot{uri: ch.uri, state: new(ahp.EmptyState)} // a channel without state (AHP core, 3)
	if err == nil && r.Snapshot != nil {
		s = readSnapshot(r.Snapshot)
		err = s.err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.link != l || errors.Is(err, ErrConnectionLost) || ch.phase != opening && ch.phase != stale:
		return err // lost or closed meanwhile
	case err == nil && r.FlowControl != nil: // its snapshot follows
	case err == nil:
		c.installLocked(l, ch, s)
	case ch.phase == stale:
		c.goneLocked(ch, fmt.Errorf("%w: %w", ErrChannelGone, err))
	default:
		c.goneLocked(ch, err)
	}
	return err
}

// installLocked makes a channel complete: its snapshot, and what came before it
// could be read.
func (c *Client) installLocked(l *link, ch *channel, s snapshot) {
	if ch.machine == nil {
		ch.machine = reconcile.New(c.opts.ClientID, s.state, s.fromSeq)
	} else {
		ch.machine.Rebase(s.state, s.fromSeq)
	}
	ch.phase = open
	ch.publishLocked(Update{Kind: Snapshot, ServerSeq: s.fromSeq}, true)
	early := ch.early
	ch.early = nil
	for _, in := range early {
		c.applyLocked(ch, in, true)
	}
	ch.changedLocked()
}

// Subscribe opens a channel, or joins the subscription that the client has
// already; the first one's options then hold. It returns when the state is
// there. Close the handle when done: with the last one the client unsubscribes.
//
// The error is the host's (ahp.ErrNotFound, ahp.ErrSessionNotFound,
// ahp.ErrPermissionDenied), a *LostError without a connection, or the cause of
// ctx. Once open, a channel survives the loss of connections.
func (c *Client) Subscribe(ctx context.Context, uri ahp.URI, o SubscribeOptions) (*Channel, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	h, err := c.join(uri, o)
	if err != nil {
		return nil, err
	}
	if err := h.opened(ctx); err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

// join takes a handle of a channel and makes it open if nobody has.
func (c *Client) join(uri ahp.URI, o SubscribeOptions) (*Channel, error) {
	l, err := c.liveLink(ahp.MethodSubscribe)
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.channels[uri]
	if ch == nil {
		if err == nil && c.link != l {
			err = &LostError{Method: ahp.MethodSubscribe, Cause: c.status.Err}
		}
		if err != nil {
			return nil, err
		}
		ch = newChannel(c, uri, o)
		c.channels[uri] = ch
		c.goLocked(func() { _ = c.fetch(l, ch) })
	}
	ch.refs++
	return &Channel{ch: ch, closed: make(chan struct{})}, nil
}

// opened waits for the first snapshot.
func (h *Channel) opened(ctx context.Context) error {
	return h.wait(ctx, func() (bool, error) {
		if h.ch.phase == gone {
			return false, h.ch.err
		}
		return h.ch.phase != opening, nil
	})
}

// wait waits until done says so. It is called under the client's lock, at once
// and after every change of the channel.
func (h *Channel) wait(ctx context.Context, done func() (bool, error)) error {
	idle := time.NewTimer(idlePatience)
	defer idle.Stop()
	for {
		h.ch.c.mu.Lock()
		ok, err := done()
		changed := h.ch.changed.wait()
		h.ch.c.mu.Unlock()
		if ok || err != nil {
			return err
		}
		select {
		case <-changed:
			idle.Reset(idlePatience)
		case <-idle.C:
			h.ch.c.lookAfter(h.ch)
			idle.Reset(idlePatience)
		case <-h.closed:
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
