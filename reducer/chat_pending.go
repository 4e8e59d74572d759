package reducer

import (
	"cmp"
	"slices"

	"github.com/causeway-ahp/causeway/ahp"
)

// A kind that is not exactly "steering" means the queue (AHP channels, 4.21).

func (e *headerEdit) setPending(a *ahp.ChatPendingMessageSet) {
	m := ahp.PendingMessage{ID: a.ID, Message: a.Message}
	if a.Kind == ahp.PendingSteering {
		e.header().SteeringMessage = &m
		return
	}
	e.header().QueuedMessages = upsert(e.chat.QueuedMessages, m, isPending(a.ID))
}

func (e *headerEdit) removePending(a *ahp.ChatPendingMessageRemoved) {
	if a.Kind == ahp.PendingSteering {
		if m := e.chat.SteeringMessage; m != nil && m.ID == a.ID {
			e.header().SteeringMessage = nil
		}
		return
	}
	if rest, removed := without(e.chat.QueuedMessages, isPending(a.ID)); removed {
		e.header().QueuedMessages = present(rest)
	}
}

// reorderQueue puts the named messages first, each at its first mention, and
// keeps the others behind them in their old order. Sorting can neither drop nor
// duplicate a message (AHP channels, 4.22).
func (e *headerEdit) reorderQueue(a *ahp.ChatQueuedMessagesReordered) {
	rank := ranks(a.Order)
	position := func(m *ahp.PendingMessage) int {
		if r, named := rank[m.ID]; named {
			return r
		}
		return len(a.Order)
	}
	byPosition := func(x, y ahp.PendingMessage) int { return cmp.Compare(position(&x), position(&y)) }
	if slices.IsSortedFunc(e.chat.QueuedMessages, byPosition) {
		return
	}
	queue := slices.Clone(e.chat.QueuedMessages)
	slices.SortStableFunc(queue, byPosition)
	e.header().QueuedMessages = queue
}

func isPending(id string) func(*ahp.PendingMessage) bool {
	return func(m *ahp.PendingMessage) bool { return m.ID == id }
}
