package host

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host/compat"
	"github.com/go-json-experiment/json/jsontext"
)

// snapshotCache holds the encoded states of a channel while somebody waits for
// them, so that many who ask at once share one encoding.
type snapshotCache struct {
	mu    sync.Mutex
	items map[snapshotKey]*encodedState
}

type snapshotKey struct {
	state any // a pointer: the same state, the same encoding
	view  view
}

// encodedState is one encoding, made by the first who needs it and dropped when
// the last has released it.
type encodedState struct {
	refs int // guarded by the cache's lock
	once sync.Once
	data jsontext.Value
	err  error
}

func (c *snapshotCache) acquire(k snapshotKey) *encodedState {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[k]
	if e == nil {
		e = new(encodedState)
		if c.items == nil {
			c.items = make(map[snapshotKey]*encodedState)
		}
		c.items[k] = e
	}
	e.refs++
	return e
}

func (c *snapshotCache) release(k snapshotKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.items[k]; e != nil {
		if e.refs--; e.refs == 0 {
			delete(c.items, k)
		}
	}
}

// snapshot is a state taken under the sequencer's lock, to be encoded later.
type snapshot struct {
	h       *Host
	ch      *channel
	key     snapshotKey
	encoded *encodedState
	fromSeq uint64
}

// snapshotLocked takes the state of a channel. Release must be called.
func (h *Host) snapshotLocked(ch *channel, v view) *snapshot {
	key := snapshotKey{state: ch.state, view: v}
	return &snapshot{h: h, ch: ch, key: key, encoded: ch.snapshots.acquire(key), fromSeq: h.seq.seq}
}

// encode returns the encoded state. At most Limits.SnapshotEncodings run at a
// time; the rest wait here, on the writers of their own connections.
func (s *snapshot) encode() (jsontext.Value, error) {
	e := s.encoded
	e.once.Do(func() {
		s.h.awaitEncoding()
		defer func() { <-s.h.encodings }()
		e.data, e.err = ahp.Marshal(s.h.project(s.ch.uri, s.key.state, s.key.view))
		if e.err == nil && s.key.view.dialect != compat.Canonical {
			e.data = s.key.view.dialect.State(s.ch.scheme.Kind, e.data)
		}
	})
	return e.data, e.err
}

// awaitEncoding takes one of the places for encoding.
func (h *Host) awaitEncoding() {
	select {
	case h.encodings <- struct{}{}:
		return
	default:
	}
	h.LimitReached(limitEncodings)
	h.encodings <- struct{}{}
}

// append appends the snapshot. It is put together by hand, because an encoder
// would read the state, which is encoded already, once more for each subscriber.
func (s *snapshot) append(dst []byte) ([]byte, error) {
	state, err := s.encode()
	if err != nil {
		return dst, fmt.Errorf("encode snapshot of %s: %w", s.ch.uri, err)
	}
	dst = slices.Grow(dst, len(state)+len(s.ch.uri)+64)
	dst = append(dst, `{"resource":`...)
	dst = appendString(dst, s.ch.uri)
	dst = append(dst, `,"state":`...)
	dst = append(dst, state...)
	dst = append(dst, `,"fromSeq":`...)
	dst = strconv.AppendUint(dst, s.fromSeq, 10)
	return append(dst, '}'), nil
}

func (s *snapshot) release() { s.ch.snapshots.release(s.key) }

// releaseAll releases every snapshot of the list.
func releaseAll(list []*snapshot) {
	for _, s := range list {
		s.release()
	}
}

// appendSnapshots appends a list; a state that cannot be encoded fails it, since
// its client could not tell it from a channel that is gone.
func appendSnapshots(dst []byte, list []*snapshot) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = s.append(dst); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}
