package host

import (
	"fmt"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// Mirrors are copies of one channel's state in another: chat summaries in the
// session, what a session waits for, session summaries in the list. No reducer
// keeps them in step (AHP channels, 4.36); the sequencer does, in the same step
// as the change itself.

// sessionRecord is a session in the list.
type sessionRecord struct {
	createdAt string
	summary   *ahp.SessionSummary // immutable; replaced as a whole
}

// Now is a time as the protocol writes it.
func Now() string { return Timestamp(time.Now()) }

// Timestamp writes a time as ISO 8601 with milliseconds in UTC.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// mirrorCreatedLocked announces a new channel where it is mirrored.
func (h *Host) mirrorCreatedLocked(st *step, ch *channel, createdAt string) {
	switch state := ch.state.(type) {
	case *ahp.ChatState:
		if ch.parent != nil {
			if ch.parent.children == nil {
				ch.parent.children = make(map[ahp.URI]*channel)
			}
			ch.parent.children[ch.uri] = ch
			h.deriveLocked(st, ch.parent, &ahp.SessionChatAdded{Summary: state.Summary()})
		}
	case *ahp.SessionState:
		ch.session = &sessionRecord{createdAt: createdAt}
		ch.session.summary = summarize(ch)
		h.seq.sessions[ch] = struct{}{}
		h.countSessionsLocked(st) // first: its number holds the notification back until the session is stored
		h.announceLocked(st, ahp.MethodSessionAdded, ahp.SessionAddedParams{
			Channel: ahp.RootURI, Summary: *ch.session.summary,
		}, ch.uri)
	}
}

// mirrorRemovedLocked announces the end of a channel.
func (h *Host) mirrorRemovedLocked(st *step, ch *channel) {
	switch {
	case ch.session != nil:
		delete(h.seq.sessions, ch)
		h.countSessionsLocked(st)
		h.announceLocked(st, ahp.MethodSessionRemoved, ahp.SessionRemovedParams{Channel: ahp.RootURI, Session: ch.uri}, ch.uri)
	case ch.parent != nil:
		delete(ch.parent.children, ch.uri)
		h.deriveLocked(st, ch.parent, &ahp.SessionChatRemoved{Chat: ch.uri})
		h.dropWaitingLocked(st, ch)
	}
}

func (h *Host) countSessionsLocked(st *step) {
	h.deriveLocked(st, h.root, &ahp.RootActiveSessionsChanged{ActiveSessions: int64(len(h.seq.sessions))})
}

// mirrorLocked follows a change of a channel's state.
func (h *Host) mirrorLocked(st *step, ch *channel, before any, a ahp.Action) {
	switch after := ch.state.(type) {
	case *ahp.ChatState:
		if ch.parent != nil {
			h.mirrorChatLocked(st, ch, before.(*ahp.ChatState), after, a)
		}
	case *ahp.SessionState:
		h.mirrorSessionLocked(st, ch)
	}
}

// mirrorChatLocked keeps the chat's entry and its open questions in the session.
// A delta changes neither and costs one comparison of pointers.
func (h *Host) mirrorChatLocked(st *step, ch *channel, before, after *ahp.ChatState, a ahp.Action) {
	if before.ChatHeader != after.ChatHeader {
		if changes, any := chatChanges(&before.ChatInfo, &after.ChatInfo); any {
			h.deriveLocked(st, ch.parent, &ahp.SessionChatUpdated{Chat: ch.uri, Changes: changes})
		}
	}
	if mayWait(a) {
		h.mirrorWaitingLocked(st, ch, before, after)
	}
}

// chatChanges lists what differs between two versions of a chat's summary. A
// cleared activity cannot be expressed by an absent member, so it is written as
// the empty text (AHP channels, 4.28).
func chatChanges(before, after *ahp.ChatInfo) (c ahp.ChatChanges, changed bool) {
	if before.Title != after.Title {
		c.Title, changed = &after.Title, true
	}
	if before.Status != after.Status {
		c.Status, changed = &after.Status, true
	}
	if before.ModifiedAt != after.ModifiedAt {
		c.ModifiedAt, changed = &after.ModifiedAt, true
	}
	if text(before.Activity) != text(after.Activity) {
		c.Activity, changed = textOrEmpty(after.Activity), true
	}
	if !sameURIs(before.WorkingDirectories, after.WorkingDirectories) {
		c.WorkingDirectories, changed = after.WorkingDirectories, true
	}
	if before.Changes != after.Changes {
		c.Changes, changed = after.Changes, true
	}
	if before.Movable != after.Movable && after.Movable != nil {
		c.Movable, changed = after.Movable, true
	}
	return c, changed
}

// mirrorSessionLocked tells the root channel what changed in the summary.
func (h *Host) mirrorSessionLocked(st *step, ch *channel) {
	if ch.session == nil {
		return
	}
	old := ch.session.summary
	ch.session.summary = summarize(ch)
	if changes, any := sessionChanges(old, ch.session.summary); any {
		h.announceLocked(st, ahp.MethodSessionSummaryChanged, ahp.SessionSummaryChangedParams{
			Channel: ahp.RootURI, Session: ch.uri, Changes: changes,
		}, ch.uri)
	}
}

// summarize makes the list entry of a session. The activity bits are those of
// the default chat, else of the chat modified last; InputNeeded and Error of any
// chat are promoted; the flags are the session's own (AHP channels, 2.2).
func summarize(ch *channel) *ahp.SessionSummary {
	s := ch.state.(*ahp.SessionState)
	sum := &ahp.SessionSummary{
		Resource: ch.uri, Provider: s.Provider, Title: s.Title, Status: s.Status,
		CreatedAt: ch.session.createdAt, ModifiedAt: ch.session.createdAt,
		Activity: s.Activity, Project: s.Project, WorkingDirectories: s.WorkingDirectories,
		Annotations: s.Annotations, Origin: s.Origin, DefaultChat: s.DefaultChat, Meta: s.Meta,
	}
	lead := leadChat(s)
	if lead == nil {
		return sum
	}
	activity := lead.Status.Activity()
	for i := range s.Chats {
		chat := &s.Chats[i]
		sum.ModifiedAt = max(sum.ModifiedAt, chat.ModifiedAt)
		activity = promote(activity, chat.Status.Activity())
	}
	if s.Status.Has(ahp.StatusInputNeeded) {
		activity = ahp.StatusInputNeeded
	}
	sum.Status = s.Status.WithActivity(activity)
	if lead.Activity != nil {
		sum.Activity = lead.Activity
	}
	return sum
}

// leadChat is the chat whose activity a session shows.
func leadChat(s *ahp.SessionState) *ahp.ChatSummary {
	var lead *ahp.ChatSummary
	for i := range s.Chats {
		chat := &s.Chats[i]
		if s.DefaultChat != nil && chat.Resource == *s.DefaultChat {
			return chat
		}
		if lead == nil || chat.ModifiedAt > lead.ModifiedAt {
			lead = chat
		}
	}
	return lead
}

// promote lets InputNeeded, and then Error, win over what the lead chat does.
func promote(lead, other ahp.Status) ahp.Status {
	switch {
	case other == ahp.StatusInputNeeded || lead == ahp.StatusInputNeeded:
		return ahp.StatusInputNeeded
	case other == ahp.StatusError:
		return ahp.StatusError
	}
	return lead
}

// sessionChanges lists what differs between two summaries; identity members
// never do.
func sessionChanges(before, after *ahp.SessionSummary) (c ahp.SessionChanges, changed bool) {
	if before.Title != after.Title {
		c.Title, changed = &after.Title, true
	}
	if before.Status != after.Status {
		c.Status, changed = &after.Status, true
	}
	if before.ModifiedAt != after.ModifiedAt {
		c.ModifiedAt, changed = &after.ModifiedAt, true
	}
	if text(before.Activity) != text(after.Activity) {
		c.Activity, changed = textOrEmpty(after.Activity), true
	}
	if before.Project != after.Project && after.Project != nil {
		c.Project, changed = after.Project, true
	}
	if !sameURIs(before.WorkingDirectories, after.WorkingDirectories) {
		c.WorkingDirectories, changed = after.WorkingDirectories, true
	}
	if before.Annotations != after.Annotations && after.Annotations != nil {
		c.Annotations, changed = after.Annotations, true
	}
	if text(before.DefaultChat) != text(after.DefaultChat) && after.DefaultChat != nil {
		c.DefaultChat, changed = after.DefaultChat, true
	}
	if string(before.Meta) != string(after.Meta) && after.Meta != nil {
		c.Meta, changed = after.Meta, true
	}
	return c, changed
}

// text returns what s points to; an absent text is an empty one.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func textOrEmpty(s *string) *string {
	if s == nil {
		return new(string)
	}
	return s
}

func sameURIs(a, b []ahp.URI) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// mayWait selects the actions that can open or close a question.
func mayWait(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.ChatDelta, *ahp.ChatReasoning, *ahp.ChatUsage, *ahp.ChatToolCallContentChanged, *ahp.ChatDraftChanged:
		return false
	}
	return true
}

// mirrorWaitingLocked keeps session/inputNeeded in step with what the chat's
// active turn waits for.
func (h *Host) mirrorWaitingLocked(st *step, ch *channel, before, after *ahp.ChatState) {
	old, now := waiting(ch.uri, before), waiting(ch.uri, after)
	for _, r := range old {
		if find(now, r.ID) == nil {
			h.deriveLocked(st, ch.parent, &ahp.SessionInputNeededRemoved{ID: r.ID})
		}
	}
	for i := range now {
		if o := find(old, now[i].ID); o == nil || o.Kind != now[i].Kind || o.ToolCall != now[i].ToolCall || o.Request != now[i].Request {
			h.deriveLocked(st, ch.parent, &ahp.SessionInputNeededSet{Request: now[i]})
		}
	}
}

// dropWaitingLocked removes the questions of a chat that is gone. The session
// knows them: the chat's own state may not be in memory.
func (h *Host) dropWaitingLocked(st *step, ch *channel) {
	for _, r := range ch.parent.state.(*ahp.SessionState).InputNeeded {
		if r.Chat == ch.uri {
			h.deriveLocked(st, ch.parent, &ahp.SessionInputNeededRemoved{ID: r.ID})
		}
	}
}

func find(list []ahp.SessionInputRequest, id string) *ahp.SessionInputRequest {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}

// waiting lists what the active turn of a chat waits for.
func waiting(chat ahp.URI, s *ahp.ChatState) (list []ahp.SessionInputRequest) {
	if s.ActiveTurn == nil {
		return nil
	}
	for _, p := range s.ActiveTurn.ResponseParts.All() {
		switch p := p.Part.(type) {
		case *ahp.ToolCallPart:
			if r, ok := waitingTool(p.ToolCall); ok {
				r.ID, r.Chat, r.TurnID = fmt.Sprintf("%s#%s", chat, p.ToolCall.ToolCallID), chat, &s.ActiveTurn.ID
				list = append(list, r)
			}
		case *ahp.InputRequestPart:
			if p.Response == nil && p.Request != nil {
				id := fmt.Sprintf("%s?%s", chat, p.Request.ID)
				list = append(list, ahp.SessionInputRequest{ID: id, Chat: chat, Kind: ahp.InputKindChat, Request: p.Request})
			}
		}
	}
	return list
}

func waitingTool(t *ahp.ToolCall) (r ahp.SessionInputRequest, ok bool) {
	if t == nil {
		return r, false
	}
	r.ToolCall = t
	switch t.Status {
	case ahp.ToolPendingConfirmation, ahp.ToolPendingResultConfirmation:
		r.Kind = ahp.InputKindConfirmation
	case ahp.ToolAuthRequired:
		r.Kind = ahp.InputKindAuthentication
	case ahp.ToolRunning:
		if t.Contributor == nil || t.Contributor.Kind != ahp.ContributorClient {
			return r, false
		}
		r.Kind, r.ClientID = ahp.InputKindClientExecution, t.Contributor.ClientID
	default:
		return r, false
	}
	return r, true
}
