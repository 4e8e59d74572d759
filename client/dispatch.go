package client

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// Dispatch is an own action on its way. Its methods may be called concurrently.
type Dispatch struct {
	ch     *channel
	action ahp.Action
	seq    uint64

	// The client's lock guards these.
	msg       []byte    // the message until it is written
	writtenAt time.Time // when it was

	done chan struct{} // closed after err is set
	err  error
}

// Dispatch shows an action at once and sends it; without a connection it waits,
// visible, and goes out after the reconnect. It does not block. The action must
// not be modified any more.
//
// How it ended is told by [Dispatch.Wait] and [Dispatch.Err]; an action that
// could not even be accepted here, such as one for a channel that is gone, has
// ended when Dispatch returns.
func (h *Channel) Dispatch(a ahp.Action) *Dispatch {
	d := &Dispatch{ch: h.ch, action: a, done: make(chan struct{})}
	body, err := ahp.EncodeAction(a)
	if err != nil {
		d.settle(fmt.Errorf("dispatch: %w", err))
		return d
	}
	c := h.ch.c
	if size := len(body) + len(h.ch.uri) + dispatchOverhead; size > c.opts.MaxMessageBytes {
		d.settle(fmt.Errorf("dispatch %s: %w: %d bytes, the limit is %d", a.ActionType(), ErrTooLarge, size, c.opts.MaxMessageBytes))
		return d
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := h.refuseLocked(); err != nil {
		d.settle(fmt.Errorf("dispatch %s: %w", a.ActionType(), err))
		return d
	}
	c.dispatchLocked(h.ch, d, body)
	return d
}

// refuseLocked is why an action cannot be accepted now.
func (h *Channel) refuseLocked() error {
	switch {
	case h.isClosed:
		return ErrClosed
	case h.ch.phase == gone:
		return h.ch.err
	case h.ch.c.closed:
		return ErrClosed
	case h.ch.c.pending >= h.ch.c.opts.MaxPending:
		return fmt.Errorf("%w: %d actions wait for the host", ErrOverloaded, h.ch.c.pending)
	}
	return nil
}

// dispatchLocked numbers an action, shows it and queues it. One lock for all
// three keeps the numbers ascending on the wire, which hosts rely on.
func (c *Client) dispatchLocked(ch *channel, d *Dispatch, body jsontext.Value) {
	c.clientSeq++
	c.pending++
	d.seq = c.clientSeq
	d.msg = appendDispatch(ch.uri, d.seq, body)
	ch.dispatches[d.seq] = d
	ch.machine.Dispatch(d.seq, d.action, body)
	if l := c.link; l != nil && !l.dropped {
		l.pushLocked(outgoing{msg: d.msg, dispatch: d})
	}
	ch.publishLocked(Update{Kind: Pending, Action: d.action, Origin: d.origin()}, false)
	ch.changedLocked()
}

// dispatchOverhead is what the message adds to URI and action, at most.
const dispatchOverhead = 128

// appendDispatch encodes a dispatchAction (AHP core, 6.1).
func appendDispatch(uri ahp.URI, seq uint64, body jsontext.Value) []byte {
	msg := make([]byte, 0, len(body)+len(uri)+dispatchOverhead)
	msg = append(msg, `{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":`...)
	msg, _ = jsontext.AppendQuote(msg, uri)
	msg = append(msg, `,"clientSeq":`...)
	msg = strconv.AppendUint(msg, seq, 10)
	msg = append(msg, `,"action":`...)
	msg = append(msg, body...)
	return append(msg, "}}"...)
}

// writeLocked notes that the action is being written; it is false when the
// action has ended and must not be.
func (d *Dispatch) writeLocked() bool {
	if !d.waitsLocked() {
		return false
	}
	d.ch.machine.Written(d.seq)
	d.msg, d.writtenAt = nil, time.Now()
	return true
}

// waitsLocked reports whether the action has not ended.
func (d *Dispatch) waitsLocked() bool { return d.ch.dispatches[d.seq] == d }

func (d *Dispatch) settle(err error) {
	d.err = err
	close(d.done)
}

func (d *Dispatch) origin() ahp.Origin {
	return ahp.Origin{ClientID: d.ch.c.opts.ClientID, ClientSeq: d.seq}
}

// Action is the action.
func (d *Dispatch) Action() ahp.Action { return d.action }

// ClientSeq is the number under which the host echoes the action; zero if it was
// not accepted here.
func (d *Dispatch) ClientSeq() uint64 { return d.seq }

// Done is closed when the action has ended.
func (d *Dispatch) Done() <-chan struct{} { return d.done }

// Err is how the action ended, nil while it has not: nil for confirmed,
// *RejectedError, ErrUnknownOutcome, ErrNotSent, or why it was not accepted.
func (d *Dispatch) Err() error {
	select {
	case <-d.done:
		return d.err
	default:
		return nil
	}
}

// Wait waits for the action to end and returns Err. When ctx ends first it
// returns the cause of ctx, and the action goes on.
func (d *Dispatch) Wait(ctx context.Context) error {
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
