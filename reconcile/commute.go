package reconcile

import "github.com/causeway-ahp/causeway/ahp"

// commutes reports whether an action comes to the same state before and after
// everything pending. It knows the case that must be fast: an agent that streams
// while its user types. For what it does not know it answers no.
func (c *Channel) commutes(a ahp.Action) bool {
	if !streams(a) {
		return false
	}
	for i := range c.pending {
		if !besideTurns(c.pending[i].Action) {
			return false
		}
	}
	return true
}

// streams selects actions that read and change nothing but the parts and the
// usage of a chat's active turn (AHP channels, 2.3).
func streams(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.ChatDelta, *ahp.ChatReasoning, *ahp.ChatUsage, *ahp.ChatToolCallDelta, *ahp.ChatToolCallContentChanged:
		return true
	}
	return false
}

// besideTurns selects actions that neither read nor change the active turn.
func besideTurns(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.ChatDraftChanged, *ahp.ChatPendingMessageSet, *ahp.ChatPendingMessageRemoved,
		*ahp.ChatQueuedMessagesReordered, *ahp.ChatIsReadChanged, *ahp.ChatIsArchivedChanged:
		return true
	}
	return false
}
