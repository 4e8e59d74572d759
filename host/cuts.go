package host

import (
	"sync"
	"time"
)

// cuts accounts for the messages that leave in frames. Each is held as a whole until
// its last frame has left, which its client's window decides: a viewer that stalls
// inside a large snapshot holds it for as long as it likes. Over the bound the
// connection whose message has not moved for the longest time ends; it reconnects and
// begins anew.
type cuts struct {
	maxBytes int64

	// mu guards what follows. It is a leaf.
	mu    sync.Mutex
	bytes int64
	held  map[*windowed]cut
}

type cut struct {
	bytes int64
	moved time.Time
}

// move notes that a frame of a message of so many bytes has left, and more are to
// come.
func (k *cuts) move(w *windowed, bytes int64) {
	k.mu.Lock()
	k.setLocked(w, cut{bytes, time.Now()})
	var stalled []*windowed
	for k.bytes > k.maxBytes && len(k.held) > 1 {
		old := k.oldestLocked(w)
		k.setLocked(old, cut{})
		stalled = append(stalled, old)
	}
	k.mu.Unlock()
	for _, old := range stalled {
		old.conn.h.LimitReached(limitWindowText)
		old.conn.fail(CloseOverflow, nil)
	}
}

// drop notes that nothing of a subscription is held any more.
func (k *cuts) drop(w *windowed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.setLocked(w, cut{})
}

// leave drops all that a connection holds. Its writer has ended.
func (k *cuts) leave(c *Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for w := range k.held {
		if w.conn == c {
			k.setLocked(w, cut{})
		}
	}
}

// size is how many bytes are held.
func (k *cuts) size() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bytes
}

func (k *cuts) setLocked(w *windowed, now cut) {
	k.bytes += now.bytes - k.held[w].bytes
	if now.bytes == 0 {
		delete(k.held, w)
		return
	}
	if k.held == nil {
		k.held = make(map[*windowed]cut)
	}
	k.held[w] = now
}

// oldestLocked is the one that has not moved for the longest time, but for w.
func (k *cuts) oldestLocked(w *windowed) (oldest *windowed) {
	for x, c := range k.held {
		if x != w && (oldest == nil || c.moved.Before(k.held[oldest].moved)) {
			oldest = x
		}
	}
	return oldest
}
