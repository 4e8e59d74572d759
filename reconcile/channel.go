package reconcile

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/go-json-experiment/json/jsontext"
)

// Entry is an own action that the host has not answered.
type Entry struct {
	ClientSeq uint64
	Action    ahp.Action
	// Body is the action as it was encoded, to recognise an echo that changes
	// nothing. It may be nil.
	Body jsontext.Value
	// Written says that the action was handed to a transport: the host may
	// have applied it.
	Written bool
}

// Channel is the machine of one subscribed channel. It is not safe for
// concurrent use; the states it returns are immutable and may be read by anyone.
type Channel struct {
	self string // this client's id, as it stands in origins

	confirmed  any
	optimistic any
	applied    uint64  // the highest serverSeq that confirmed contains
	pending    []Entry // ascending ClientSeq; the written ones first
}

// New returns the machine of a channel whose snapshot is state at fromSeq. self
// is the clientId of this client.
func New(self string, state any, fromSeq uint64) *Channel {
	return &Channel{self: self, confirmed: state, optimistic: state, applied: fromSeq}
}

// Confirmed is the state as the host has it, as far as this client knows.
func (c *Channel) Confirmed() any { return c.confirmed }

// Optimistic is the confirmed state with the pending actions on top: what a user
// should see.
func (c *Channel) Optimistic() any { return c.optimistic }

// Applied is the highest serverSeq that the confirmed state contains.
func (c *Channel) Applied() uint64 { return c.applied }

// Pending returns a copy of the pending entries, oldest first.
func (c *Channel) Pending() []Entry { return append([]Entry(nil), c.pending...) }

// Len is the number of pending entries.
func (c *Channel) Len() int { return len(c.pending) }

// Dispatch adds an own action, unwritten, and shows it at once. clientSeq must be
// above that of every earlier dispatch; body is the encoded action or nil.
func (c *Channel) Dispatch(clientSeq uint64, a ahp.Action, body jsontext.Value) {
	c.pending = append(c.pending, Entry{ClientSeq: clientSeq, Action: a, Body: body})
	c.optimistic = reducer.Apply(c.optimistic, a)
}

// Written notes that the entry was handed to a transport. An entry that is
// pending no more is ignored.
func (c *Channel) Written(clientSeq uint64) {
	if i := c.find(clientSeq); i >= 0 {
		c.pending[i].Written = true
	}
}

// find returns the index of a pending entry, -1 without one.
func (c *Channel) find(clientSeq uint64) int {
	for i := range c.pending {
		if c.pending[i].ClientSeq == clientSeq {
			return i
		}
	}
	return -1
}

// written is the number of pending entries that were written: a prefix.
func (c *Channel) written() int {
	n := 0
	for n < len(c.pending) && c.pending[n].Written {
		n++
	}
	return n
}

// take removes the first n pending entries.
func (c *Channel) take(n int) []Entry {
	taken := append([]Entry(nil), c.pending[:n]...)
	rest := copy(c.pending, c.pending[n:])
	clear(c.pending[rest:])
	c.pending = c.pending[:rest]
	return taken
}

// refold derives the optimistic state anew. Pending holds actions, not results,
// so whatever was removed or came in between is accounted for by itself.
func (c *Channel) refold() {
	c.optimistic = reducer.Fold(c.confirmed, func(yield func(ahp.Action) bool) {
		for i := range c.pending {
			if !yield(c.pending[i].Action) {
				return
			}
		}
	})
}
