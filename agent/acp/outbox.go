package acp

import (
	"errors"
	"io"
	"sync"
)

// maxOutboxBytes bounds what waits for an agent that does not read its input.
// Over it the agent is ended: what it misses could not be made good.
const maxOutboxBytes = 64 << 20

var (
	errOutboxFull = errors.New("the agent does not read its input")
	errEnded      = errors.New("the agent has ended")
)

// outbox holds what is to be written to an agent. Whoever has something to say
// never waits for it to read.
type outbox struct {
	mu     sync.Mutex
	queue  [][]byte
	bytes  int // in queue and in the write that runs
	closed bool
	wake   chan struct{} // holds a token when the queue may not be empty
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// push queues a message and owns it from then on.
func (o *outbox) push(msg []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return errEnded
	case o.bytes+len(msg) > maxOutboxBytes && o.bytes > 0: // a single one may be larger
		return errOutboxFull
	}
	o.queue = append(o.queue, append(msg, '\n'))
	o.bytes += len(msg) + 1
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// close lets nothing more in, and the writer end.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		close(o.wake)
	}
}

// take returns what is queued; it is false when there is nothing and never will
// be.
func (o *outbox) take() ([][]byte, bool) {
	_, open := <-o.wake
	o.mu.Lock()
	defer o.mu.Unlock()
	queue := o.queue
	o.queue = nil
	return queue, open || len(queue) > 0
}

func (o *outbox) written(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= n
}

// writeLoop writes until the outbox is closed or the agent takes no more.
func (o *outbox) writeLoop(w io.Writer) {
	for {
		queue, ok := o.take()
		if !ok {
			return
		}
		for _, msg := range queue {
			if _, err := w.Write(msg); err != nil {
				o.close() // the reader finds out why the agent is gone
				return
			}
			o.written(len(msg))
		}
	}
}
