package client

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// Kind says what an [Update] is.
type Kind uint8

// The kinds of an update.
const (
	// Snapshot: the state as a whole. The first update of every range, and
	// again when a reconnect could not be carried on from where it was.
	Snapshot Kind = iota
	// Pending: an action of this client shows, unconfirmed.
	Pending
	// Confirmed: the host has applied an action of this client.
	Confirmed
	// Applied: an action of the host or of another client.
	Applied
	// Rejected: the host has refused an action of this client; Err has the
	// reason. It shows no more.
	Rejected
	// Dropped: an action of this client will get no answer; Err is
	// ErrUnknownOutcome or ErrNotSent. It shows no more.
	Dropped
)

// String returns the name of the kind.
func (k Kind) String() string {
	return [...]string{"snapshot", "pending", "confirmed", "applied", "rejected", "dropped"}[k]
}

// Update is one change of a channel.
type Update struct {
	Kind Kind
	// State is the optimistic state after the change; see Channel.State.
	State any
	// Action is what changed it; nil for a snapshot. For Confirmed it is the
	// host's copy.
	Action ahp.Action
	// Origin is who dispatched the action; the zero value for the host.
	Origin ahp.Origin
	// ServerSeq is the host's number of the change, or of the snapshot; zero
	// for what the host has not numbered.
	ServerSeq uint64
	// Err is why, for Rejected and Dropped.
	Err error
	// Unconfirmed is how many own actions State contains that the host has not
	// answered.
	Unconfirmed int
	// Envelope is the envelope as the host sent it, for Confirmed, Applied and
	// Rejected. It must not be modified.
	Envelope jsontext.Value
}

const (
	defaultBuffer  = 16384
	maxBufferBytes = 64 << 20
	maxForced      = 1 << 17 // more than hosts keep for a replay
)

// watcher is one range over updates. The client's lock guards it.
type watcher struct {
	queue []Update
	head  int
	bytes int
	limit int
	slow  bool  // the queue was given up
	err   error // the channel is over
	wake  chan struct{}
}

// Updates yields a snapshot and then every change, in order and each once,
// whether it came live or in a replay. It ends with an error: the cause of ctx,
// ErrClosed, or why the channel ended. No message tells the end of a chat to who
// follows nothing else: where it is quiet for long, the host is asked.
//
// Updates wait in a bounded buffer. A loop that does not keep up gets
// ErrSlowReader in their place; it may go on, and then gets a snapshot and what
// follows it.
//
//	for u, err := range chat.Updates(ctx) {
//		if errors.Is(err, client.ErrSlowReader) {
//			continue // a snapshot comes next
//		}
//		if err != nil {
//			return err
//		}
//		draw(u.State.(*ahp.ChatState))
//	}
func (h *Channel) Updates(ctx context.Context) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		w := h.watch()
		defer h.unwatch(w)
		for {
			u, last, err := h.next(ctx, w)
			if !yield(u, err) || last {
				return
			}
		}
	}
}

func (h *Channel) watch() *watcher {
	w := &watcher{limit: h.ch.opts.Buffer, wake: make(chan struct{}, 1)}
	if w.limit <= 0 {
		w.limit = defaultBuffer
	}
	h.ch.c.mu.Lock()
	defer h.ch.c.mu.Unlock()
	w.push(h.ch.snapshotLocked(), true)
	if h.ch.phase == gone {
		w.endLocked(h.ch.err)
	} else {
		h.ch.watchers[w] = struct{}{}
	}
	return w
}

func (h *Channel) unwatch(w *watcher) {
	h.ch.c.mu.Lock()
	defer h.ch.c.mu.Unlock()
	delete(h.ch.watchers, w)
}

// next waits for the next update, or for an error; last says that nothing comes
// behind it.
func (h *Channel) next(ctx context.Context, w *watcher) (u Update, last bool, err error) {
	idle := time.NewTimer(idlePatience)
	defer idle.Stop()
	for {
		select {
		case <-h.closed:
			return u, true, ErrClosed
		default:
		}
		if ctx.Err() != nil {
			return u, true, context.Cause(ctx)
		}
		if u, last, err := h.take(w); u.State != nil || err != nil {
			return u, last, err
		}
		select {
		case <-w.wake:
		case <-idle.C:
			h.ch.c.lookAfter(h.ch)
			idle.Reset(idlePatience)
		case <-h.closed:
		case <-ctx.Done():
		}
	}
}

// take returns what is there; neither an update with a state nor an error means
// that nothing is.
func (h *Channel) take(w *watcher) (u Update, last bool, err error) {
	h.ch.c.mu.Lock()
	defer h.ch.c.mu.Unlock()
	switch {
	case w.slow:
		w.slow = false
		w.push(h.ch.snapshotLocked(), true)
		return u, false, fmt.Errorf("%w: more than %d updates of %s waited", ErrSlowReader, w.limit, h.ch.uri)
	case w.head < len(w.queue):
		return w.pop(), false, nil
	case w.err != nil:
		return u, true, w.err
	}
	return u, false, nil
}

func (w *watcher) pop() Update {
	u := w.queue[w.head]
	w.queue[w.head] = Update{}
	w.head++
	w.bytes -= len(u.Envelope)
	if w.head == len(w.queue) {
		w.queue, w.head = w.queue[:0], 0
	}
	return u
}

// push queues an update. Over the bound the queue is given up; what comes in one
// piece, such as a replay, is forced and may pass the bound by maxForced.
func (w *watcher) push(u Update, force bool) (ok bool) {
	if w.slow {
		return true // the snapshot to come contains it
	}
	limit, maxBytes := w.limit, maxBufferBytes
	if force {
		limit, maxBytes = limit+maxForced, 4*maxBytes
	}
	if len(w.queue)-w.head >= limit || w.bytes+len(u.Envelope) > maxBytes {
		w.queue, w.head, w.bytes, w.slow = nil, 0, 0, true
		w.signal()
		return false
	}
	w.queue = append(w.queue, u)
	w.bytes += len(u.Envelope)
	w.signal()
	return true
}

func (w *watcher) endLocked(err error) {
	w.err = err
	w.signal()
}

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (ch *channel) snapshotLocked() Update {
	return ch.dressLocked(Update{Kind: Snapshot, ServerSeq: ch.machine.Applied()})
}

// dressLocked adds what every update tells of the channel.
func (ch *channel) dressLocked(u Update) Update {
	u.State, u.Unconfirmed = ch.machine.Optimistic(), ch.machine.Len()
	return u
}

// publishLocked gives an update to every watcher.
func (ch *channel) publishLocked(u Update, force bool) {
	if len(ch.watchers) == 0 {
		return
	}
	u = ch.dressLocked(u)
	for w := range ch.watchers {
		if !w.push(u, force) {
			ch.c.stats.SlowReaders++
		}
	}
}
