package host

import (
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// census counts what the sequencer holds. Its lock guards it, and each change of what
// is counted changes it: nothing is walked through to be counted.
type census struct {
	channels map[ahp.Kind]int // that exist
	loaded   map[ahp.Kind]int // of those, in memory
	effects  int              // that wait
}

func newCensus() census {
	return census{channels: make(map[ahp.Kind]int), loaded: make(map[ahp.Kind]int)}
}

// addLocked takes in a channel.
func (s *sequencer) addLocked(ch *channel) {
	s.channels[ch.uri] = ch
	s.census.channels[ch.scheme.Kind]++
}

// dropLocked takes out a channel that has ended.
func (s *sequencer) dropLocked(ch *channel) {
	delete(s.channels, ch.uri)
	delete(s.dirty, ch)
	s.asleepLocked(ch)
	s.census.channels[ch.scheme.Kind]--
}

// awakeLocked notes that a channel the archive has is in memory.
func (s *sequencer) awakeLocked(ch *channel) {
	if _, ok := s.awake[ch]; !ok {
		s.awake[ch] = struct{}{}
		s.census.loaded[ch.scheme.Kind]++
	}
}

// asleepLocked notes that it is not any more.
func (s *sequencer) asleepLocked(ch *channel) {
	if _, ok := s.awake[ch]; ok {
		delete(s.awake, ch)
		s.census.loaded[ch.scheme.Kind]--
	}
}

// figures are what the sequencer knows, as of one moment.
type figures struct {
	census
	seq     uint64
	unsaved int // channels that changed since the archive had an image of them
	away    int // clients that are remembered and not connected
}

func (h *Host) figuresLocked() figures {
	f := figures{census: newCensus(), seq: h.seq.seq, unsaved: len(h.seq.dirty), away: h.lineages.away.Len()}
	f.effects = h.seq.census.effects
	for kind, scheme := range h.registry.schemes {
		if scheme.Class == Private {
			continue // the sequencer does not know them
		}
		f.channels[kind] = h.seq.census.channels[kind]
		f.loaded[kind] = f.channels[kind]
		if h.archive != nil && scheme.Durable {
			f.loaded[kind] = h.seq.census.loaded[kind]
		}
	}
	return f
}

// inspector asks the sequencer for its figures on a goroutine of its own, so that who
// looks at the host from outside gets an answer also when the lock is not given back.
type inspector struct {
	loops loops

	mu  sync.Mutex
	now *inspection // under way, nil for none
}

// inspection is one look, shared by all who ask while it lasts.
type inspection struct {
	began   time.Time
	done    chan struct{}
	figures figures
}

// inspect returns the figures, and how long the lock was waited for. It is false when
// the lock is not to be had within a time, or the host has ended.
func (h *Host) inspect(within time.Duration) (f figures, waited time.Duration, ok bool) {
	look := h.inspection()
	if look == nil {
		return f, 0, false
	}
	limit := time.NewTimer(within - time.Since(look.began))
	defer limit.Stop()
	select {
	case <-look.done:
		return look.figures, time.Since(look.began), true
	case <-limit.C:
		return f, time.Since(look.began), false
	}
}

// inspection begins a look, or joins the one under way. It is nil when the host has
// ended.
func (h *Host) inspection() *inspection {
	in := &h.inspector
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.now != nil {
		return in.now
	}
	if !in.loops.enter() {
		return nil
	}
	look := &inspection{began: time.Now(), done: make(chan struct{})}
	in.now = look
	go h.look(look)
	return look
}

func (h *Host) look(look *inspection) {
	defer h.inspector.loops.leave()
	h.seq.mu.Lock()
	look.figures = h.figuresLocked()
	h.seq.mu.Unlock()
	h.inspector.mu.Lock()
	h.inspector.now = nil
	h.inspector.mu.Unlock()
	close(look.done)
}
