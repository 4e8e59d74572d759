package client

import (
	"context"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// SubscribeOptions say what of a channel is wanted. The zero value asks for all
// of it.
type SubscribeOptions struct {
	// Turns asks for about that many of a chat's newest finished turns; older
	// ones come with Chat.FetchTurns. Zero: all. The host may send more, and
	// does so after a reconnect by snapshot.
	Turns int
	// Buffer bounds the updates that wait for each range over Updates. Zero:
	// 16384.
	Buffer int
	// Window asks for windowed delivery: the host keeps its place in the channel
	// and sends no more than this client has room for, so that a large or busy
	// channel does not hold up others on the same connection. A host may decline,
	// and then delivers as usual. Nil: ordinary delivery.
	Window *Window
}

func (o SubscribeOptions) params(uri ahp.URI) ahp.SubscribeParams {
	p := ahp.SubscribeParams{Channel: uri}
	if o.Turns > 0 {
		turns := int64(o.Turns)
		p.View = &ahp.View{Turns: &turns}
	}
	return p
}

// Channel is a handle of a subscribed channel. Several handles of one URI share
// one subscription and one state. All methods may be called concurrently.
type Channel struct {
	ch     *channel
	closed chan struct{}

	isClosed bool // guarded by the client's lock
}

// URI is the channel's URI.
func (h *Channel) URI() ahp.URI { return h.ch.uri }

// Client is the client the channel belongs to.
func (h *Channel) Client() *Client { return h.ch.c }

// State is the optimistic state: what the host has confirmed, and this client's
// unconfirmed actions on top. It is an immutable pointer to the state type of
// the channel's kind in package ahp; it stays what it is while the channel moves
// on. After the end of the channel it is the last confirmed state.
func (h *Channel) State() any {
	h.ch.c.mu.Lock()
	defer h.ch.c.mu.Unlock()
	return h.ch.machine.Optimistic()
}

// Confirmed is the state without this client's unconfirmed actions.
func (h *Channel) Confirmed() any {
	h.ch.c.mu.Lock()
	defer h.ch.c.mu.Unlock()
	return h.ch.machine.Confirmed()
}

// Unconfirmed lists this client's actions that the host has not answered, in
// order. They show in State and not in Confirmed.
func (h *Channel) Unconfirmed() []ahp.Action {
	h.ch.c.mu.Lock()
	defer h.ch.c.mu.Unlock()
	var list []ahp.Action
	for _, e := range h.ch.machine.Pending() {
		list = append(list, e.Action)
	}
	return list
}

// Wait waits until cond holds for the optimistic state, which it looks at now
// and after every change. The error is the cause of ctx, ErrClosed, or why the
// channel ended (see Err). Cond must be quick and must not call the client.
func (h *Channel) Wait(ctx context.Context, cond func(state any) bool) error {
	return h.wait(ctx, func() (bool, error) {
		if cond(h.ch.machine.Optimistic()) {
			return true, nil
		}
		return false, h.ch.err
	})
}

// Done is closed when the channel has ended for everybody: removed, no longer
// permitted, or the client is over. Closing a handle does not close it.
func (h *Channel) Done() <-chan struct{} { return h.ch.done }

// Err is why the channel has ended: ErrChannelGone, ErrClosed, or an error that
// wraps ErrGivenUp. Nil while it has not.
func (h *Channel) Err() error {
	h.ch.c.mu.Lock()
	defer h.ch.c.mu.Unlock()
	return h.ch.err
}

// Close releases the handle; its ranges over updates end with ErrClosed. With
// the last handle of a channel the client unsubscribes: actions that were sent
// end with ErrUnknownOutcome, those that were not with ErrNotSent. It returns
// nil always.
func (h *Channel) Close() error {
	c := h.ch.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.isClosed {
		return nil
	}
	h.isClosed = true
	close(h.closed)
	h.ch.refs--
	if h.ch.refs > 0 || h.ch.phase == gone {
		return nil
	}
	c.goneLocked(h.ch, ErrClosed)
	if l := c.link; l != nil && !l.dropped {
		params, err := ahp.Marshal(ahp.ChannelParams{Channel: h.ch.uri})
		if err == nil { // a URI always encodes
			l.pushLocked(outgoing{msg: jsonrpc.AppendNotification(nil, ahp.MethodUnsubscribe, params)})
		}
	}
	return nil
}
