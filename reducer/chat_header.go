package reducer

import (
	"iter"

	"github.com/causeway-ahp/causeway/ahp"
)

// headerEdit is a chat on its way through actions that concern its header. The
// state is copied at the first change, once for all of them.
type headerEdit struct {
	chat *ahp.ChatState
	own  bool // chat and its header were made here: nobody else has them yet
}

// header returns the header to be changed.
func (e *headerEdit) header() *ahp.ChatHeader {
	if !e.own {
		e.chat, _ = editHeader(e.chat)
		e.own = true
	}
	return e.chat.ChatHeader
}

// reduce applies an action that concerns nothing but the header. It is false for
// any other.
func (e *headerEdit) reduce(a ahp.Action) bool {
	switch a := a.(type) {
	case *ahp.ChatActivityChanged:
		e.header().Activity = a.Activity
	case *ahp.ChatMovableChanged:
		e.header().Movable = &a.Movable
	case *ahp.ChatIsReadChanged:
		e.status(e.chat.Status.With(ahp.StatusIsRead, a.IsRead))
	case *ahp.ChatIsArchivedChanged:
		e.status(e.chat.Status.With(ahp.StatusIsArchived, a.IsArchived))
	case *ahp.ChatDraftChanged:
		e.header().Draft = a.Draft
	case *ahp.ChatChangesetsChanged:
		e.header().Changesets = a.Changesets
	case *ahp.ChatCanvasesChanged:
		e.header().Canvases = a.Canvases
	case *ahp.ChatBackgroundWorkSet:
		e.header().BackgroundWork = upsert(e.chat.BackgroundWork, a.Work, isWork(a.Work.ID))
	case *ahp.ChatBackgroundWorkRemoved:
		e.removeWork(a)
	case *ahp.ChatWorkingDirectorySet:
		e.directories(withDirectory(e.chat.WorkingDirectories, a.Directory))
	case *ahp.ChatWorkingDirectoryRemoved:
		e.directories(withoutDirectory(e.chat.WorkingDirectories, a.Directory))
	case *ahp.ChatPendingMessageSet:
		e.setPending(a)
	case *ahp.ChatPendingMessageRemoved:
		e.removePending(a)
	case *ahp.ChatQueuedMessagesReordered:
		e.reorderQueue(a)
	default:
		return false
	}
	return true
}

func (e *headerEdit) status(status ahp.Status) {
	if status != e.chat.Status {
		e.header().Status = status
	}
}

func (e *headerEdit) directories(dirs []ahp.URI, changed bool) {
	if changed {
		e.header().WorkingDirectories = dirs
	}
}

// removeWork may leave an empty list (AHP channels, 2.3, since 0.9).
func (e *headerEdit) removeWork(a *ahp.ChatBackgroundWorkRemoved) {
	if rest, removed := without(e.chat.BackgroundWork, isWork(a.ID)); removed {
		e.header().BackgroundWork = rest
	}
}

func isWork(id string) func(*ahp.BackgroundWork) bool {
	return func(w *ahp.BackgroundWork) bool { return w.ID == id }
}

// foldChat is Fold for a chat.
func foldChat(s *ahp.ChatState, actions iter.Seq[ahp.Action]) *ahp.ChatState {
	e := headerEdit{chat: s}
	for a := range actions {
		if !e.reduce(a) {
			e = headerEdit{chat: Chat(e.chat, a)}
		}
	}
	return e.chat
}
