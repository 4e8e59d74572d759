package reducer

import "github.com/causeway-ahp/causeway/ahp"

// chatProperty reduces the actions that set one property of a chat.
func chatProperty(s *ahp.ChatState, a ahp.Action) *ahp.ChatState {
	switch a := a.(type) {
	case *ahp.ChatActivityChanged:
		c, header := editHeader(s)
		header.Activity = a.Activity
		return c
	case *ahp.ChatMovableChanged:
		c, header := editHeader(s)
		header.Movable = &a.Movable
		return c
	case *ahp.ChatIsReadChanged:
		return withStatus(s, s.Status.With(ahp.StatusIsRead, a.IsRead))
	case *ahp.ChatIsArchivedChanged:
		return withStatus(s, s.Status.With(ahp.StatusIsArchived, a.IsArchived))
	case *ahp.ChatWorkingDirectorySet:
		return chatDirectories(s, a.Directory, withDirectory)
	case *ahp.ChatWorkingDirectoryRemoved:
		return chatDirectories(s, a.Directory, withoutDirectory)
	}
	c, header := editHeader(s)
	switch a := a.(type) {
	case *ahp.ChatDraftChanged:
		header.Draft = a.Draft
	case *ahp.ChatChangesetsChanged:
		header.Changesets = a.Changesets
	case *ahp.ChatCanvasesChanged:
		header.Canvases = a.Canvases
	case *ahp.ChatBackgroundWorkSet:
		header.BackgroundWork = upsert(s.BackgroundWork, a.Work, isWork(a.Work.ID))
	case *ahp.ChatBackgroundWorkRemoved:
		rest, removed := without(s.BackgroundWork, isWork(a.ID))
		if !removed {
			return s
		}
		header.BackgroundWork = rest // may stay empty (AHP channels, 2.3, since 0.9)
	default:
		return s
	}
	return c
}

func isWork(id string) func(*ahp.BackgroundWork) bool {
	return func(w *ahp.BackgroundWork) bool { return w.ID == id }
}

func chatDirectories(s *ahp.ChatState, dir ahp.URI, edit func([]ahp.URI, ahp.URI) ([]ahp.URI, bool)) *ahp.ChatState {
	dirs, changed := edit(s.WorkingDirectories, dir)
	if !changed {
		return s
	}
	c, header := editHeader(s)
	header.WorkingDirectories = dirs
	return c
}

// editHeader returns a copy of the state with its own copy of the header, to be
// changed before anybody else sees it.
func editHeader(s *ahp.ChatState) (*ahp.ChatState, *ahp.ChatHeader) {
	c, h := *s, *s.ChatHeader
	c.ChatHeader = &h
	return &c, &h
}

// withStatus keeps s, and with it its header, if the status stays.
func withStatus(s *ahp.ChatState, status ahp.Status) *ahp.ChatState {
	if status == s.Status {
		return s
	}
	c, header := editHeader(s)
	header.Status = status
	return c
}

// derived writes the status that follows from the active turn. The six tool-call
// actions that lead here do so even if they matched nothing (AHP channels, 4.4),
// which also takes an Error away (4.5).
func derived(s *ahp.ChatState) *ahp.ChatState {
	return withStatus(s, s.Status.WithActivity(activity(s.ActiveTurn)))
}

// activity is InputNeeded while the user is waited for, InProgress while a turn
// runs, else Idle. It looks at each part, so streamed deltas must not derive
// (AHP channels, 4.6).
func activity(t *ahp.ActiveTurn) ahp.Status {
	if t == nil {
		return ahp.StatusIdle
	}
	for _, p := range t.ResponseParts.All() {
		switch p := p.Part.(type) {
		case *ahp.InputRequestPart:
			if p.Response == nil {
				return ahp.StatusInputNeeded
			}
		case *ahp.ToolCallPart:
			if p.ToolCall != nil && p.ToolCall.WaitsForUser() {
				return ahp.StatusInputNeeded
			}
		}
	}
	return ahp.StatusInProgress
}
