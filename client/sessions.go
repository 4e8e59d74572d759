package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// ListSessions yields all sessions of the host, page by page, most recently
// modified first. It ends after an error.
func (c *Client) ListSessions(ctx context.Context) iter.Seq2[ahp.SessionSummary, error] {
	return func(yield func(ahp.SessionSummary, error) bool) {
		for page, err := range c.pages(ctx, c.Call) {
			if err != nil {
				yield(ahp.SessionSummary{}, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

type caller func(ctx context.Context, method string, params, result any) error

// pages yields the pages of listSessions.
func (c *Client) pages(ctx context.Context, call caller) iter.Seq2[[]ahp.SessionSummary, error] {
	return func(yield func([]ahp.SessionSummary, error) bool) {
		p := ahp.ListSessionsParams{Channel: ahp.RootURI}
		for {
			var r ahp.ListSessionsResult
			err := call(ctx, ahp.MethodListSessions, p, &r)
			if !yield(r.Items, err) || err != nil || r.NextCursor == nil {
				return
			}
			p.Cursor = r.NextCursor
		}
	}
}

// SessionList is the list of the host's sessions, kept current: fetched at once
// and after every reconnect, since notifications are not replayed, and followed
// by notifications in between. It is keyed by URI, so that no order of messages
// shows a session twice. All methods may be called concurrently.
type SessionList struct {
	c    *Client
	root *Channel

	// The client's lock guards these.
	items   map[ahp.URI]*ahp.SessionSummary // the summaries are never modified
	fresh   bool
	listing *link       // the connection on which a listing is under way
	log     []listEvent // what was heard during the listing
	overrun bool        // the log was given up: list again
	err     error
	changed broadcast
}

// maxListLog bounds the notifications kept during one listing.
const maxListLog = 1 << 16

// Sessions returns the list of sessions once it has been fetched. Close it when
// done.
func (c *Client) Sessions(ctx context.Context) (*SessionList, error) {
	root, err := c.Subscribe(ctx, ahp.RootURI, SubscribeOptions{})
	if err != nil {
		return nil, err
	}
	s := &SessionList{c: c, root: root, items: make(map[ahp.URI]*ahp.SessionSummary)}
	c.mu.Lock()
	c.lists[s] = struct{}{}
	if c.link != nil {
		s.refreshLocked(c.link)
	}
	c.mu.Unlock()
	for _, err := range s.Updates(ctx) {
		if err != nil {
			s.Close()
			return nil, err
		}
		if s.Fresh() {
			break
		}
	}
	return s, nil
}

// Close ends the list.
func (s *SessionList) Close() {
	s.c.mu.Lock()
	delete(s.c.lists, s)
	s.endLocked(ErrClosed)
	s.c.mu.Unlock()
	_ = s.root.Close()
}

// Items returns the sessions, most recently modified first.
func (s *SessionList) Items() []ahp.SessionSummary {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.sortedLocked()
}

// Fresh reports whether the list is current. It is not while the connection is
// lost, nor until the list was fetched again afterwards: what sessions do then is
// not known, whatever their status says.
func (s *SessionList) Fresh() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.fresh
}

// Updates yields the list now and after every change of it or of its freshness;
// changes that come close together may be yielded as one. It ends with an error:
// the cause of ctx, ErrClosed, or one that wraps ErrGivenUp.
func (s *SessionList) Updates(ctx context.Context) iter.Seq2[[]ahp.SessionSummary, error] {
	return func(yield func([]ahp.SessionSummary, error) bool) {
		for {
			s.c.mu.Lock()
			list, err, changed := s.sortedLocked(), s.err, s.changed.wait()
			s.c.mu.Unlock()
			if !yield(list, err) || err != nil {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}

func (s *SessionList) sortedLocked() []ahp.SessionSummary {
	list := make([]ahp.SessionSummary, 0, len(s.items))
	for _, item := range s.items {
		list = append(list, *item)
	}
	slices.SortFunc(list, func(a, b ahp.SessionSummary) int {
		return cmp.Or(cmp.Compare(b.ModifiedAt, a.ModifiedAt), cmp.Compare(a.Resource, b.Resource))
	})
	return list
}

func (s *SessionList) endLocked(err error) {
	if s.err == nil {
		s.err, s.fresh = err, false
		s.changed.signal()
	}
}

func (s *SessionList) lostLocked() {
	s.fresh, s.listing, s.log = false, nil, nil
	s.changed.signal()
}

// refreshLocked fetches the list on a connection.
func (s *SessionList) refreshLocked(l *link) {
	s.listing, s.log, s.overrun = l, nil, false
	s.c.goLocked(func() { s.fetch(l) })
}

// relistPause is how long after a failed listing the next one begins.
const relistPause = 5 * time.Second

// fetch lists until it succeeded or the connection is gone.
func (s *SessionList) fetch(l *link) {
	for {
		items := make(map[ahp.URI]*ahp.SessionSummary)
		var failed error
		for page, err := range s.c.pages(l.ctx, l.call) {
			failed = err
			for i := range page {
				items[page[i].Resource] = &page[i]
			}
		}
		if s.listed(l, items, failed) {
			return
		}
		if failed != nil && !pause(l.ctx, relistPause) {
			return
		}
	}
}

// listed installs a listing with what was heard since it began; it is false when
// the list must be fetched again.
func (s *SessionList) listed(l *link, items map[ahp.URI]*ahp.SessionSummary, failed error) bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.listing != l || s.err != nil || errors.Is(failed, ErrConnectionLost) {
		return true // somebody else's business now
	}
	if failed != nil || s.overrun {
		s.log, s.overrun = nil, false
		return false
	}
	// The log holds whole values in order. What a page contains already is put
	// there once more, which changes nothing in the end.
	for _, e := range s.log {
		e.apply(items)
	}
	s.items, s.fresh, s.listing, s.log = items, true, nil, nil
	s.changed.signal()
	return true
}

func (s *SessionList) hearLocked(e listEvent) {
	if s.listing != nil {
		if len(s.log) < maxListLog {
			s.log = append(s.log, e)
		} else {
			s.overrun = true
		}
	}
	e.apply(s.items)
	s.changed.signal()
}

// listEvent is one notification about the list.
type listEvent struct {
	uri     ahp.URI
	removed bool
	added   *ahp.SessionSummary
	changes *ahp.SessionChanges
}

func readListEvent(method string, params jsontext.Value) (e listEvent, err error) {
	switch method {
	case ahp.MethodSessionAdded:
		var p ahp.SessionAddedParams
		err = ahp.Unmarshal(params, &p)
		e = listEvent{uri: p.Summary.Resource, added: &p.Summary}
	case ahp.MethodSessionRemoved:
		var p ahp.SessionRemovedParams
		err = ahp.Unmarshal(params, &p)
		e = listEvent{uri: p.Session, removed: true}
	default:
		var p ahp.SessionSummaryChangedParams
		err = ahp.Unmarshal(params, &p)
		e = listEvent{uri: p.Session, changes: &p.Changes}
	}
	return e, err
}

// apply makes the change in a list. Changes of an unknown session are dropped:
// its whole summary is on its way.
func (e *listEvent) apply(items map[ahp.URI]*ahp.SessionSummary) {
	switch {
	case e.removed:
		delete(items, e.uri)
	case e.added != nil:
		items[e.uri] = e.added
	case items[e.uri] != nil:
		items[e.uri] = merged(items[e.uri], e.changes)
	}
}

// merged is a summary with changes: an absent member means unchanged, and an
// empty activity none (AHP channels, 4.28).
func merged(s *ahp.SessionSummary, d *ahp.SessionChanges) *ahp.SessionSummary {
	m := *s
	set(&m.Title, d.Title)
	set(&m.Status, d.Status)
	set(&m.ModifiedAt, d.ModifiedAt)
	if d.Activity != nil {
		m.Activity = d.Activity
		if *d.Activity == "" {
			m.Activity = nil
		}
	}
	m.Project = cmp.Or(d.Project, m.Project)
	m.Annotations = cmp.Or(d.Annotations, m.Annotations)
	m.Changes = cmp.Or(d.Changes, m.Changes)
	m.DefaultChat = cmp.Or(d.DefaultChat, m.DefaultChat)
	if d.WorkingDirectories != nil {
		m.WorkingDirectories = d.WorkingDirectories
	}
	if d.Chats != nil {
		m.Chats = d.Chats
	}
	if d.Meta != nil {
		m.Meta = d.Meta
	}
	return &m
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}
