package host

import (
	"sync"
	"sync/atomic"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
)

// windows are the windowed subscriptions of one connection. The outbox's lock
// guards them.
type windows struct {
	// any is true from the first one on, so that a connection without pays nothing.
	any     atomic.Bool
	byURI   map[ahp.URI]*windowed
	streams map[ahp.URI]*Stream // of private channels, from their creation on
	turns   flow.Turns[*windowed]
	credits []*windowed  // those that owe a credit
	held    atomic.Int64 // own items that wait for windows, of all that are counted
	text    []byte       // scratch for credits, until the next take
}

// openWindow adds a windowed subscription. Its data may leave once answer, the
// item that answers its subscribe, was taken.
func (o *outbox) openWindow(w *windowed) bool {
	o.mu.Lock()
	finish := func() {}
	if old := o.win.byURI[w.uri]; old != nil { // of a channel that is gone and was made anew
		o.dropWindowLocked(old)
		finish = o.emptyLocked(old.src.(*logSource))
	}
	open := !o.closed
	if open {
		if o.win.byURI == nil {
			o.win.byURI = make(map[ahp.URI]*windowed)
		}
		o.win.byURI[w.uri] = w
		o.win.any.Store(true)
	}
	o.mu.Unlock()
	finish()
	return open
}

// closeWindow ends a windowed subscription: what it has not sent is dropped.
func (o *outbox) closeWindow(w *windowed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropWindowLocked(w)
}

func (o *outbox) dropWindowLocked(w *windowed) {
	w.over = true
	w.conn.h.cuts.drop(w)
	o.win.turns.Leave(w)
	if o.win.byURI[w.uri] == w {
		delete(o.win.byURI, w.uri)
	}
}

// mute ends the sending of a subscription whose client has yet to unsubscribe.
func (o *outbox) mute(w *windowed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w.over = true
	o.win.turns.Leave(w)
}

// window returns the windowed subscription of a channel, nil without one.
func (o *outbox) window(uri []byte) *windowed {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.win.byURI[ahp.URI(uri)]
}

// nudge says that w may have something to send.
func (o *outbox) nudge(w *windowed) {
	o.mu.Lock()
	joined := o.joinLocked(w)
	o.mu.Unlock()
	if joined {
		o.signal()
	}
}

// joinLocked lets w wait for its turn if it may send.
func (o *outbox) joinLocked(w *windowed) bool {
	return w.open && !w.over && w.window.CanStart() && o.win.turns.Join(w)
}

// owe queues a credit. A newer one takes the place of one that waits, so there is
// never more than one for each subscription.
func (o *outbox) owe(w *windowed, consumed int64) {
	o.mu.Lock()
	w.owed = max(w.owed, consumed)
	news := !w.owing && !w.over
	if news {
		w.owing = true
		o.win.credits = append(o.win.credits, w)
	}
	o.mu.Unlock()
	if news {
		o.signal()
	}
}

// takeCreditsLocked moves the credits that wait to dst.
func (o *outbox) takeCreditsLocked(dst []outgoing) []outgoing {
	o.win.text = o.win.text[:0]
	for _, w := range o.win.credits {
		w.owing = false
		if w.over {
			continue
		}
		start := len(o.win.text)
		o.win.text = appendCredit(o.win.text, w.uri, w.owed)
		dst = append(dst, outgoing{msg: o.win.text[start:]})
	}
	clear(o.win.credits)
	o.win.credits = o.win.credits[:0]
	return dst
}

// credited believes the client that it has released consumed bytes.
func (o *outbox) credited(w *windowed, consumed int64) error {
	o.mu.Lock()
	_, err := w.window.Credit(consumed)
	joined := err == nil && o.joinLocked(w)
	o.mu.Unlock()
	if joined {
		o.signal()
	}
	return err
}

// ready is how many subscriptions wait for their turn.
func (o *outbox) ready() int {
	if !o.win.any.Load() {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.win.turns.Len()
}

// nextTurn takes out the subscription that waited longest, nil without one. It may
// send: its window only opens meanwhile, since the writer alone charges it. One
// that was nudged while its last frame was made may stand there with a window that
// this frame has filled: it is passed over, and its credit lets it wait again.
func (o *outbox) nextTurn() *windowed {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		w, ok := o.win.turns.Next()
		if !ok || w.window.CanStart() {
			return w
		}
	}
}

// again lets w wait for another turn, which comes when the journal has moved.
func (o *outbox) again(w *windowed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.joinLocked(w)
}

// charge takes room in the window for a frame that is about to be sent, and lets
// its subscription wait for another turn. It is false when the subscription has
// ended in the meantime: the frame is then dropped.
func (o *outbox) charge(w *windowed, size int64) (sent bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.over {
		return false, nil
	}
	if err := w.window.Charge(size); err != nil {
		return false, err
	}
	o.joinLocked(w)
	return true, nil
}

// frameBytes is the scratch in which the frames of a batch are made: the bytes of
// an ordinary batch and one frame of our own size behind it.
const frameBytes = 384 << 10

var framePool = sync.Pool{New: func() any { return new([frameBytes]byte) }}

// frameBuffer is where the frames of one batch stand until they are written. It
// holds memory only while there are some.
type frameBuffer struct {
	pooled *[frameBytes]byte
	used   int
}

// tail is the unused rest, to append to.
func (b *frameBuffer) tail() []byte {
	if b.pooled == nil {
		b.pooled = framePool.Get().(*[frameBytes]byte)
	}
	return b.pooled[b.used:b.used]
}

// keep makes sure that msg is not overwritten, if it stands in the buffer.
func (b *frameBuffer) keep(msg []byte) {
	if rest := b.pooled[b.used:]; len(msg) <= len(rest) && len(rest) > 0 && &msg[0] == &rest[0] {
		b.used += len(msg)
	}
}

// release gives the memory back after the batch was written.
func (b *frameBuffer) release() {
	if b.pooled != nil {
		framePool.Put(b.pooled)
		b.pooled, b.used = nil, 0
	}
}

// takeTurns lets every windowed subscription that is ready send one frame, until
// the batch has room bytes more (AHP core, 12.4). What is left waits until the
// ordinary traffic of the next batch has gone before it. When nothing could be
// sent because the journal is behind, waitFor is the number it waits for.
func (c *Conn) takeTurns(batch [][]byte, room int) (_ [][]byte, waitFor uint64) {
	for n := c.out.ready(); n > 0 && room > 0; n-- {
		w := c.out.nextTurn()
		if w == nil {
			break
		}
		msg, size, wait, err := w.frame(c.frames.tail())
		if size == 0 && err == nil {
			if wait > 0 {
				c.out.again(w)
			}
			waitFor = sooner(waitFor, wait)
			continue
		}
		sent := false
		if err == nil {
			sent, err = c.out.charge(w, size)
		}
		if err != nil { // no message of ours is so: a broken promise of the source
			c.h.log.Error("windowed delivery", "conn", c.id, "channel", w.uri, "err", err)
			w.src.violated(err)
			continue
		}
		if !sent {
			continue
		}
		w.left()
		c.frames.keep(msg)
		batch = append(batch, msg)
		room -= len(msg)
	}
	return batch, waitFor
}

// sooner returns the lower of two numbers to wait for; zero is none.
func sooner(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
