package reducer

import (
	"cmp"
	"slices"

	"github.com/causeway-ahp/causeway/ahp"
)

// A kind that is not exactly "steering" means the queue (AHP channels, 4.21).

func setPending(s *ahp.ChatState, a *ahp.ChatPendingMessageSet) *ahp.ChatState {
	m := ahp.PendingMessage{ID: a.ID, Message: a.Message}
	c, header := editHeader(s)
	if a.Kind == ahp.PendingSteering {
		header.SteeringMessage = &m
	} else {
		header.QueuedMessages = upsert(s.QueuedMessages, m, isPending(a.ID))
	}
	return c
}

func removePending(s *ahp.ChatState, a *ahp.ChatPendingMessageRemoved) *ahp.ChatState {
	if a.Kind == ahp.PendingSteering {
		if s.SteeringMessage == nil || s.SteeringMessage.ID != a.ID {
			return s
		}
		c, header := editHeader(s)
		header.SteeringMessage = nil
		return c
	}
	rest, removed := without(s.QueuedMessages, isPending(a.ID))
	if !removed {
		return s
	}
	c, header := editHeader(s)
	header.QueuedMessages = present(rest)
	return c
}

// reorderQueue puts the named messages first, each at its first mention, and
// keeps the others behind them in their old order. Sorting can neither drop nor
// duplicate a message (AHP channels, 4.22).
func reorderQueue(s *ahp.ChatState, a *ahp.ChatQueuedMessagesReordered) *ahp.ChatState {
	rank := ranks(a.Order)
	position := func(m *ahp.PendingMessage) int {
		if r, named := rank[m.ID]; named {
			return r
		}
		return len(a.Order)
	}
	byPosition := func(x, y ahp.PendingMessage) int { return cmp.Compare(position(&x), position(&y)) }
	if slices.IsSortedFunc(s.QueuedMessages, byPosition) {
		return s
	}
	c, header := editHeader(s)
	header.QueuedMessages = slices.Clone(s.QueuedMessages)
	slices.SortStableFunc(header.QueuedMessages, byPosition)
	return c
}

func isPending(id string) func(*ahp.PendingMessage) bool {
	return func(m *ahp.PendingMessage) bool { return m.ID == id }
}
