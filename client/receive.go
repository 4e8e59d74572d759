package client

import (
	"errors"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/reconcile"
	"github.com/go-json-experiment/json/jsontext"
)

// incoming is an envelope that was read.
type incoming struct {
	channel []byte // a URI
	env     reconcile.Envelope
	raw     jsontext.Value // the envelope as it came
	bad     bool           // the action is of a known type and could not be read
}

// readEnvelope reads an envelope. An action that cannot be read is no error: it
// counts as unknown, and the channel gets a fresh snapshot.
func readEnvelope(params jsontext.Value) (*incoming, error) {
	head, err := ahp.ScanEnvelope(params)
	if err != nil {
		return nil, err
	}
	in := &incoming{channel: head.Channel, raw: params}
	in.env = reconcile.Envelope{ServerSeq: head.ServerSeq, Body: head.Action, Rejected: head.Rejected}
	if head.HasOrigin {
		in.env.Origin = head.Origin
	}
	if head.Rejected {
		reason, _ := jsonrpc.Member(params, "rejectionReason")
		in.env.Reason, _ = jsonrpc.StringValue(reason)
	}
	in.env.Action, err = ahp.DecodeAction(head.Action)
	if err != nil {
		in.env.Action = &ahp.UnknownAction{Raw: head.Action.Clone()}
		in.bad = !head.Rejected
	}
	return in, nil
}

// receiveLocked takes one envelope, live or replayed.
func (c *Client) receiveLocked(in *incoming, replayed bool) {
	ch := c.channels[string(in.channel)]
	if ch == nil {
		// Normal for a moment after an unsubscribe. It may be left over from a
		// windowed subscription, so its number says nothing about the others.
		c.stats.Unroutable++
		return
	}
	c.lastSeen = max(c.lastSeen, in.env.ServerSeq)
	switch {
	case ch.phase == open:
		c.applyLocked(ch, in, replayed)
	case len(ch.early) < maxEarlyMessages:
		ch.early = append(ch.early, in)
	case c.link != nil:
		c.link.cancel(errTooEarly)
	}
}

var errTooEarly = errors.New("too many envelopes before the snapshot of their channel")

// applyLocked gives an envelope to the machine of its channel and tells who
// listens. Replayed ones are never too many for a watcher: they came as one.
func (c *Client) applyLocked(ch *channel, in *incoming, replayed bool) {
	kind, outcomes := ch.machine.Receive(in.env)
	c.settleEnvelopeLocked(ch, outcomes, in)
	if kind == reconcile.Own || kind == reconcile.Foreign {
		ch.publishLocked(in.update(kind), replayed)
	}
	if kind != reconcile.Ignored {
		ch.changedLocked()
	}
	if in.bad && ch.phase == open {
		c.stats.Malformed++
		c.refetchLocked(ch)
	}
	if a, ok := in.env.Action.(*ahp.SessionChatRemoved); ok && kind == reconcile.Foreign {
		c.removedLocked(a.Chat)
	}
}

func (in *incoming) update(kind reconcile.Kind) Update {
	u := Update{
		Kind: Applied, Action: in.env.Action, Origin: in.env.Origin,
		ServerSeq: in.env.ServerSeq, Envelope: in.raw,
	}
	if kind == reconcile.Own {
		u.Kind = Confirmed
	}
	return u
}

// refetchLocked asks for a fresh snapshot of a channel whose state may differ
// from the host's. Without a connection the next one does.
func (c *Client) refetchLocked(ch *channel) {
	c.staleLocked(ch)
	if l := c.link; l != nil {
		c.goLocked(func() { c.fetchAgain(l, ch, false) })
	}
}

// settleLocked ends dispatches without an envelope to show for it.
func (c *Client) settleLocked(ch *channel, outcomes []reconcile.Outcome) {
	c.settleEnvelopeLocked(ch, outcomes, nil)
}

// settleEnvelopeLocked ends dispatches and tells watchers of those that did not
// end well; in is what ended the last of them.
func (c *Client) settleEnvelopeLocked(ch *channel, outcomes []reconcile.Outcome, in *incoming) {
	for _, o := range outcomes {
		d := ch.dispatches[o.ClientSeq]
		if d == nil {
			continue
		}
		delete(ch.dispatches, o.ClientSeq)
		c.pending--
		d.settle(outcomeError(o))
		if o.Result == reconcile.Confirmed {
			continue // the update of the echo says so
		}
		u := Update{Kind: Dropped, Action: d.action, Origin: d.origin(), Err: d.err}
		if o.Result == reconcile.Rejected {
			u.Kind, u.ServerSeq, u.Envelope = Rejected, in.env.ServerSeq, in.raw
		}
		ch.publishLocked(u, true)
	}
}

func outcomeError(o reconcile.Outcome) error {
	switch o.Result {
	case reconcile.Confirmed:
		return nil
	case reconcile.Rejected:
		return &RejectedError{Reason: o.Reason}
	case reconcile.Unsent:
		return ErrNotSent
	}
	return ErrUnknownOutcome
}
