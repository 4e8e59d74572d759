package notify

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// stream folds the progress of a call: at most one item in an interval, the
// newest wins (notifications, 5.3). It holds one report at a time.
type stream struct {
	call   *Call
	wanted bool // some route asked for it
	gap    time.Duration

	mu      sync.Mutex
	next    time.Time // when the next item may be made
	waiting jsontext.Value
	skipped int64
	stopped bool
}

const defaultGap = time.Second

func newStream(c *Call, rec *call) stream {
	gap := rec.MinGap
	if gap == 0 {
		gap = defaultGap
	}
	return stream{call: c, wanted: slices.Contains(rec.Configured, Streaming), gap: gap}
}

// add takes a report. An item is made at once if the last one is long enough
// ago, else when it is.
func (s *stream) add(ctx context.Context, progress jsontext.Value) error {
	if !s.wanted {
		return nil
	}
	skipped, due, ok := s.take(progress.Clone())
	if !ok {
		return nil
	}
	if !due.IsZero() {
		s.call.e.alarms.set(s.key(), due, s.flush)
		return nil
	}
	return s.fire(ctx, progress, skipped)
}

// take decides what becomes of a report: an item now, one that waits until due,
// or nothing.
func (s *stream) take(progress jsontext.Value) (skipped int64, due time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case s.stopped:
		return 0, due, false
	case s.waiting != nil:
		s.skipped++
		s.waiting = progress
		return 0, due, false
	case now.Before(s.next):
		s.waiting = progress
		return 0, s.next, true
	}
	skipped, s.skipped = s.skipped, 0
	s.next = now.Add(s.gap)
	return skipped, due, true
}

// flush makes an item of what waited.
func (s *stream) flush(ctx context.Context) {
	s.mu.Lock()
	progress, skipped := s.waiting, s.skipped
	s.waiting, s.skipped = nil, 0
	s.next = time.Now().Add(s.gap)
	stopped := s.stopped
	s.mu.Unlock()
	if progress == nil || stopped {
		return
	}
	if err := s.fire(ctx, progress, skipped); err != nil {
		s.call.e.log.Warn("a streaming item was lost", "call", s.call.id, "err", err)
	}
}

// stop throws away what waits: the end of the call says more.
func (s *stream) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.waiting != nil {
		s.waiting = nil
		s.call.e.alarms.clear(s.key())
	}
}

func (s *stream) key() string { return s.call.id + "/stream" }

func (s *stream) fire(ctx context.Context, progress jsontext.Value, skipped int64) error {
	e := s.call.e
	progress, hidden := maskValue(progress)
	var fired []*delivery
	err := e.update(ctx, func(tx Tx) error {
		c, err := get[call](tx, Calls, s.call.id)
		if err != nil || c.State != callRunning {
			return err
		}
		if err := e.foldEarlier(tx, c); err != nil {
			return err
		}
		it := item{trigger: Streaming, fired: time.Now(), progress: progress, skipped: skipped, hidden: hidden}
		if fired, err = e.fire(tx, c, it, nil); err != nil {
			return err
		}
		return putCall(tx, c)
	})
	if err != nil {
		return fmt.Errorf("report progress of call %s: %w", s.call.id, err)
	}
	e.metrics.triggers.WithLabelValues(string(Streaming)).Inc()
	e.start(fired)
	return nil
}

// foldEarlier withdraws the streaming items that have not gone out yet: the
// newest wins also where the route is slower than the interval.
func (e *Engine) foldEarlier(tx Tx, c *call) error {
	_, err := e.foldStreaming(tx, c, time.Now())
	return err
}

// maskValue is a JSON value without what looks like a credential.
func maskValue(raw jsontext.Value) (jsontext.Value, []string) {
	var v any
	if err := json.Unmarshal(raw, &v, jsontext.AllowInvalidUTF8(true), exactNumbers); err != nil {
		return nil, nil
	}
	m := masker{}
	v = m.walk(v, "")
	if len(m.hidden) == 0 {
		return raw, nil
	}
	slices.Sort(m.hidden)
	return mustJSON(v), slices.Compact(m.hidden)
}
