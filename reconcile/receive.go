package reconcile

import (
	"bytes"

	"github.com/causeway-ahp/causeway/reducer"
)

// Receive takes one envelope of the channel, live or replayed, and returns what
// it was and which dispatches it ended (AHP core, 7).
//
// An echo that is not at the head of pending ends what stands before it as
// Unknown: the transport is ordered and the host processes in order, so those
// were dropped without an answer.
func (c *Channel) Receive(e Envelope) (Kind, []Outcome) {
	stale := e.ServerSeq <= c.applied
	c.applied = max(c.applied, e.ServerSeq)
	echoed := c.isEcho(&e)
	outcomes, own := c.settle(&e)
	kind := classify(&e, own, stale)
	before := c.confirmed
	if kind == Foreign || kind == Own && !stale {
		// The host's copy is reduced, not the local one: the host decides.
		c.confirmed = reducer.Apply(c.confirmed, e.Action)
	}
	switch {
	case len(c.pending) == 0:
		c.optimistic = c.confirmed
	case !own && before == c.confirmed, echoed && !stale:
		// An action moved from pending to confirmed, or nothing happened.
	case kind == Foreign && c.commutes(e.Action):
		c.optimistic = reducer.Apply(c.optimistic, e.Action)
	default:
		c.refold()
	}
	return kind, outcomes
}

// isEcho reports whether an envelope confirms the head of pending word for word.
// Reducing the host's copy first is then the same as reducing the own one first.
func (c *Channel) isEcho(e *Envelope) bool {
	if len(c.pending) == 0 || e.Rejected || e.Origin.ClientID != c.self {
		return false
	}
	head := &c.pending[0]
	return head.ClientSeq == e.Origin.ClientSeq && head.Written && head.Body != nil && bytes.Equal(head.Body, e.Body)
}

func classify(e *Envelope, own, stale bool) Kind {
	switch {
	case own && e.Rejected:
		return Refused
	case own:
		return Own
	case stale || e.Rejected:
		return Ignored
	}
	return Foreign
}

// settle ends the pending entry an envelope answers, with those before it. Own
// is false when there is none: the envelope then counts as foreign.
func (c *Channel) settle(e *Envelope) (outcomes []Outcome, own bool) {
	if len(c.pending) == 0 || e.Origin.ClientID != c.self {
		return nil, false
	}
	i := c.find(e.Origin.ClientSeq)
	if i < 0 || !c.pending[i].Written {
		return nil, false
	}
	outcomes = make([]Outcome, 0, i+1)
	for _, lost := range c.take(i + 1)[:i] {
		outcomes = append(outcomes, Outcome{ClientSeq: lost.ClientSeq, Result: Unknown})
	}
	end := Outcome{ClientSeq: e.Origin.ClientSeq, Result: Confirmed}
	if e.Rejected {
		end.Result, end.Reason = Rejected, e.Reason
	}
	return append(outcomes, end), true
}

// Reset takes the snapshot of a new connection. What was written on the old one
// ends as Unknown; what was not stays pending, on top of the snapshot.
func (c *Channel) Reset(state any, fromSeq uint64) []Outcome {
	c.confirmed, c.applied = state, fromSeq
	return c.Replayed()
}

// Rebase takes a snapshot on a connection that goes on. Everything pending stays:
// its echoes are still to come.
func (c *Channel) Rebase(state any, fromSeq uint64) {
	c.confirmed, c.applied = state, fromSeq
	c.refold()
}

// Replayed ends a replay, whose envelopes were given to Receive: what was written
// before it and was not in it ends as Unknown. What was not written stays
// pending and may be written from now on.
func (c *Channel) Replayed() []Outcome {
	outcomes := end(c.take(c.written()))
	c.refold()
	return outcomes
}

// Remove ends everything pending: the channel is gone, or nobody listens to it
// any more. The optimistic state is the confirmed one afterwards.
func (c *Channel) Remove() []Outcome {
	outcomes := end(c.take(len(c.pending)))
	c.optimistic = c.confirmed
	return outcomes
}

// end gives entries the outcome of those that get no answer.
func end(entries []Entry) []Outcome {
	outcomes := make([]Outcome, 0, len(entries))
	for _, e := range entries {
		result := Unsent
		if e.Written {
			result = Unknown
		}
		outcomes = append(outcomes, Outcome{ClientSeq: e.ClientSeq, Result: result})
	}
	return outcomes
}
