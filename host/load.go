package host

import (
	"fmt"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/reducer"
)

// A channel that nobody needs is not in memory: its state is nil, and the archive
// has it. Whoever is about to use a state takes the lock with lockWith, which
// loads it first. A chat in memory has its session there as well, since mirrors
// write to that.

// kept is what the archive has of a channel. The sequencer's lock guards it.
type kept struct {
	image   any       // the state as saved last; nil if that is not in memory
	size    int       // of the state, about, in bytes, as of then
	since   int       // bytes of the actions since
	used    time.Time // when the state was last needed
	loading *loading  // nil: nobody is reading it
}

// loading is one reading of a channel, shared by all who need it.
type loading struct {
	done chan struct{}
	err  error
}

// lockWith takes the sequencer's lock with a channel, if there is such a one, and
// what it is mirrored in, in memory. With an error the lock is not held: the
// channel could not be read.
func (h *Host) lockWith(uri ahp.URI) error {
	for {
		h.seq.mu.Lock()
		ch := h.seq.channels[uri]
		if ch == nil {
			return nil
		}
		absent := ch.absentLocked()
		if absent == nil {
			ch.usedLocked()
			return nil
		}
		h.seq.mu.Unlock()
		if err := h.load(absent); err != nil {
			return err
		}
	}
}

// absentLocked returns what must be read before the channel can be used, nil for
// nothing.
func (ch *channel) absentLocked() *channel {
	switch {
	case ch.parent != nil && ch.parent.state == nil:
		return ch.parent
	case ch.state == nil && ch.kept != nil:
		return ch
	}
	return nil
}

// usedLocked keeps the channel in memory for a while.
func (ch *channel) usedLocked() {
	if ch.kept != nil {
		ch.kept.used = time.Now()
	}
}

// sizeLocked is about how large the channel's state is, also while it is not in
// memory.
func (ch *channel) sizeLocked() int {
	if ch.state == nil {
		return ch.kept.size + ch.kept.since
	}
	return roughSize(ch.state)
}

// unfinishedLocked reports whether the state has work that a restart must close.
func (ch *channel) unfinishedLocked() bool {
	return ch.scheme.Durable && ch.scheme.Open != nil && ch.scheme.Open(ch.state)
}

// Load returns the state of a channel. The error is ahp.ErrNotFound when there is
// no such channel; any other one says that it could not be read, never that it
// is empty.
func (h *Host) Load(uri ahp.URI) (any, error) {
	if err := h.lockWith(uri); err != nil {
		return nil, err
	}
	defer h.seq.mu.Unlock()
	if ch := h.seq.channels[uri]; ch != nil {
		return ch.state, nil
	}
	return nil, ahp.ErrNotFound
}

// Exists reports whether a channel exists, without reading it.
func (h *Host) Exists(uri ahp.URI) bool {
	h.seq.mu.Lock()
	defer h.seq.mu.Unlock()
	return h.seq.channels[uri] != nil
}

// loadAll reads the channels that exist; the first that cannot be read is the
// error, and the rest is read all the same.
func (h *Host) loadAll(uris []ahp.URI) (first error) {
	for _, uri := range uris {
		err := h.lockWith(normalRoot(uri))
		if err == nil {
			h.seq.mu.Unlock()
		} else if first == nil {
			first = err
		}
	}
	return first
}

// load reads a channel, or waits for whoever is reading it.
func (h *Host) load(ch *channel) error {
	h.seq.mu.Lock()
	if ch.state != nil {
		h.seq.mu.Unlock()
		return nil
	}
	l := ch.kept.loading
	if l != nil {
		h.seq.mu.Unlock()
		<-l.done
		return l.err
	}
	l = &loading{done: make(chan struct{})}
	ch.kept.loading = l
	h.seq.mu.Unlock()

	image, state, err := h.read(ch)

	h.seq.mu.Lock()
	defer h.seq.mu.Unlock()
	ch.kept.loading = nil
	if err == nil {
		ch.state, ch.kept.image = state, image
		h.seq.awakeLocked(ch)
		ch.usedLocked()
		h.metrics.loads.WithLabelValues("ok").Inc()
	} else if h.seq.channels[ch.uri] == ch { // else it has ended, and whoever asks finds that out
		l.err = h.unreadable(ch.uri, err)
	}
	close(l.done)
	return l.err
}

// unreadable is the error for whoever needs a channel that cannot be read. The
// log has the cause.
func (h *Host) unreadable(uri ahp.URI, err error) error {
	h.metrics.loads.WithLabelValues("failed").Inc()
	h.log.Error("channel cannot be read; nothing of it is changed", "channel", uri, "err", err)
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "the host could not read %s; its log says why", uri)
}

// read rebuilds a state from its image and the actions since. Nothing changes a
// channel that is not in memory, so the result is its state now.
func (h *Host) read(ch *channel) (image, state any, err error) {
	return readState(h.archive, ch.uri, ch.scheme.Reduce)
}

// loader is what a channel is read from.
type loader interface {
	Load(channel string) (*journal.Image, []*journal.Record, error)
}

// ReadState rebuilds the state of a channel without a host.
func ReadState(from loader, uri ahp.URI, reduce func(state any, a ahp.Action) any) (any, error) {
	_, state, err := readState(from, uri, reduce)
	return state, err
}

func readState(from loader, uri ahp.URI, reduce func(any, ahp.Action) any) (image, state any, err error) {
	img, tail, err := from.Load(uri)
	if err != nil {
		return nil, nil, err
	}
	if image, err = DecodeImage(ahp.KindOf(uri), img); err != nil {
		return nil, nil, err
	}
	state, err = replay(reduce, image, tail)
	return image, state, err
}

// replay reduces what came after an image.
func replay(reduce func(any, ahp.Action) any, state any, tail []*journal.Record) (any, error) {
	for _, r := range tail {
		a, err := ahp.DecodeAction(r.Body)
		if err != nil {
			return nil, fmt.Errorf("action %d: %w", r.Seq, err)
		}
		state = reduce(state, a)
	}
	return state, nil
}

// DecodeImage rebuilds the state of a channel of a kind as of its image.
func DecodeImage(kind ahp.Kind, img *journal.Image) (any, error) {
	state, err := reducer.Decode(kind, img.Head)
	if err != nil {
		return nil, err
	}
	chat, ok := state.(*ahp.ChatState)
	if !ok {
		return state, nil
	}
	turns := make([]*ahp.Turn, len(img.Items))
	for i, raw := range img.Items {
		turns[i] = new(ahp.Turn)
		if err := ahp.Unmarshal(raw, turns[i]); err != nil {
			return nil, fmt.Errorf("decode turn %d: %w", i, err)
		}
	}
	chat.Turns = ahp.NewList(turns...)
	return chat, nil
}

// EncodeImage writes a state down. Of a chat it writes only the turns that are
// not those of before, the state saved last; nil stands for nothing.
func EncodeImage(state, before any) (*journal.Image, error) {
	img := &journal.Image{Size: roughSize(state)}
	chat, ok := state.(*ahp.ChatState)
	if !ok {
		head, err := ahp.Marshal(state)
		img.Head = head
		return img, err
	}
	if old, ok := before.(*ahp.ChatState); ok {
		n := min(old.Turns.Len(), chat.Turns.Len())
		for img.Keep < n && old.Turns.At(img.Keep) == chat.Turns.At(img.Keep) {
			img.Keep++
		}
	}
	for i := img.Keep; i < chat.Turns.Len(); i++ {
		turn, err := ahp.Marshal(chat.Turns.At(i))
		if err != nil {
			return nil, fmt.Errorf("encode turn %d: %w", i, err)
		}
		img.Items = append(img.Items, turn)
	}
	bare := *chat
	bare.Turns = ahp.NewList[*ahp.Turn]()
	head, err := ahp.Marshal(&bare)
	img.Head = head
	return img, err
}
