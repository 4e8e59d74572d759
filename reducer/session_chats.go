package reducer

import (
	"slices"

	"github.com/causeway-ahp/causeway/ahp"
)

// sessionChats reduces the actions that change the catalogue of chats, which is
// keyed by resource.
func sessionChats(s *ahp.SessionState, a ahp.Action) *ahp.SessionState {
	c := *s
	changed := true
	switch a := a.(type) {
	case *ahp.SessionChatAdded:
		c.Chats = upsert(s.Chats, a.Summary, isChat(a.Summary.Resource))
	case *ahp.SessionChatRemoved:
		c.Chats, changed = without(s.Chats, isChat(a.Chat))
		if s.DefaultChat != nil && *s.DefaultChat == a.Chat {
			c.DefaultChat = nil
		}
	case *ahp.SessionChatUpdated:
		c.Chats, changed = updateChat(s.Chats, a)
	case *ahp.SessionChatsReordered:
		c.Chats, changed = reorderChats(s.Chats, a)
	}
	if !changed {
		return s
	}
	return &c
}

func isChat(resource ahp.URI) func(*ahp.ChatSummary) bool {
	return func(c *ahp.ChatSummary) bool { return c.Resource == resource }
}

// updateChat merges the members that are present into the entry of the chat.
// The identity of a chat cannot be changed.
func updateChat(chats []ahp.ChatSummary, a *ahp.SessionChatUpdated) (next []ahp.ChatSummary, changed bool) {
	i := index(chats, isChat(a.Chat))
	if i < 0 {
		return chats, false
	}
	c, by := chats[i], &a.Changes
	set(&c.Title, by.Title)
	set(&c.Status, by.Status)
	set(&c.ModifiedAt, by.ModifiedAt)
	setRef(&c.Activity, by.Activity)
	setRef(&c.Origin, by.Origin)
	setRef(&c.Interactivity, by.Interactivity)
	setRef(&c.Changes, by.Changes)
	setRef(&c.Movable, by.Movable)
	if by.WorkingDirectories != nil {
		c.WorkingDirectories = by.WorkingDirectories
	}
	c.Extra = overlay(c.Extra, by.Extra)
	return replaced(chats, i, c), true
}

func set[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

func setRef[T any](dst **T, v *T) {
	if v != nil {
		*dst = v
	}
}

// reorderChats moves the named chats, in the order named, to the destination:
// names that are unknown or repeated are skipped, and an unknown place or anchor
// counts as the end. Without a destination, the form of protocol 1.0, the named
// chats come first (AHP channels, 2.2).
func reorderChats(chats []ahp.ChatSummary, a *ahp.SessionChatsReordered) (next []ahp.ChatSummary, changed bool) {
	rank := ranks(a.Chats)
	unit := make([]ahp.ChatSummary, 0, len(chats))
	rest := make([]ahp.ChatSummary, 0, len(chats))
	for _, c := range chats {
		if _, named := rank[c.Resource]; named {
			unit = append(unit, c)
		} else {
			rest = append(rest, c)
		}
	}
	slices.SortStableFunc(unit, func(x, y ahp.ChatSummary) int { return rank[x.Resource] - rank[y.Resource] })
	next = slices.Insert(rest, place(rest, a.Destination), unit...)
	return next, len(unit) > 0
}

// ranks gives each id the position of its first occurrence.
func ranks(ids []string) map[string]int {
	rank := make(map[string]int, len(ids))
	for i, id := range ids {
		if _, ok := rank[id]; !ok {
			rank[id] = i
		}
	}
	return rank
}

// place is the index at which a moved unit goes into the chats that stay.
func place(stay []ahp.ChatSummary, to *ahp.ChatDestination) int {
	if to == nil || to.Kind == ahp.PlaceStart {
		return 0
	}
	anchor := -1
	if to.Anchor != nil {
		anchor = index(stay, isChat(*to.Anchor))
	}
	switch {
	case anchor >= 0 && to.Kind == ahp.PlaceBefore:
		return anchor
	case anchor >= 0 && to.Kind == ahp.PlaceAfter:
		return anchor + 1
	}
	return len(stay)
}
