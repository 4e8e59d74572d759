package client

import (
	"bytes"
	"context"
	"fmt"
	"runtime"

	"github.com/causeway-ahp/causeway/jsonrpc"
)

// outgoing is a message that waits to be written. An action carries its
// dispatch, so that what was written can be told from what was not.
type outgoing struct {
	msg      []byte
	dispatch *Dispatch
	lent     bool // msg stands in the slab
}

// dropLocked forgets what waits to be written: from here on nothing leaves.
func (l *link) dropLocked() {
	if l.dropped {
		return
	}
	l.dropped = true
	for _, o := range l.queue {
		if id, ok := requestID(o.msg); ok {
			l.unsent[id] = struct{}{}
			l.c.stats.Unsent++
		}
	}
	l.queue, l.queueBytes = nil, 0
	l.slab.Drop()
	l.lent = 0
	l.held, l.cut, l.urgent = nil, nil, nil
	if l.echoTimer != nil {
		l.echoTimer.Stop()
	}
}

// requestID is the id of an encoded request, as text.
func requestID(msg []byte) (string, bool) {
	id, ok := jsonrpc.Member(msg, "id")
	if !ok {
		return "", false
	}
	_, request := jsonrpc.Member(msg, "method")
	return string(id), request
}

// writeLoop writes what is queued, many messages at a time.
func (l *link) writeLoop() {
	var batch [][]byte
	for {
		batch = l.take(batch[:0])
		if len(batch) == 0 {
			select {
			case <-l.wake:
				runtime.Gosched() // who can add to the batch does so first
				continue
			case <-l.ctx.Done():
				return
			}
		}
		err := l.t.Write(batch)
		clear(batch)
		l.written()
		if err != nil {
			l.cancel(err)
			return
		}
	}
}

// maxBatchBytes is about how much one write takes.
const maxBatchBytes = 256 << 10

// take moves messages from the queue to the batch. What is taken counts as
// written, whatever becomes of it (AHP core, 7).
func (l *link) take(batch [][]byte) [][]byte {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.ctx.Err() != nil {
		l.dropLocked()
		return batch
	}
	l.slab.Free(l.lent) // what was taken before has been written
	l.lent = 0
	batch = l.takeControlLocked(batch)
	n, size := 0, 0
	for n < len(l.queue) && size < maxBatchBytes {
		o := l.queue[n]
		n++
		l.queueBytes -= len(o.msg)
		if o.dispatch != nil {
			if l.holdsLocked(o) || !o.dispatch.writeLocked() {
				continue // it waits for its window, or was given up meanwhile
			}
			l.expectEchoLocked(echoPatience)
		}
		if o.lent {
			l.lent += len(o.msg)
		}
		size += len(o.msg)
		batch = append(batch, o.msg)
	}
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	l.room.signal()
	return l.takeTurnsLocked(batch)
}

func (l *link) pushLocked(o outgoing) {
	l.queue = append(l.queue, o)
	l.queueBytes += len(o.msg)
	l.wakeLocked()
}

func (l *link) wakeLocked() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// send queues a request, a notification or a response of jsonrpc.
func (l *link) send(msg []byte) error {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.sendLocked(msg)
}

func (l *link) sendLocked(msg []byte) error {
	if err := l.takesLocked(len(msg)); err != nil {
		return err
	}
	if l.isFullLocked(len(msg)) {
		l.c.stats.QueueOverflows++
		return fmt.Errorf("%w: %d messages wait to be written", ErrOverloaded, len(l.queue))
	}
	l.pushLocked(outgoing{msg: msg})
	return nil
}

// takesLocked is why a message of n bytes can never be sent, whatever room there is.
func (l *link) takesLocked(n int) error {
	switch {
	case n > l.c.opts.MaxMessageBytes:
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, n, l.c.opts.MaxMessageBytes)
	case l.dropped || l.ctx.Err() != nil:
		return &LostError{Method: "send", Cause: context.Cause(l.ctx)}
	}
	return nil
}

// isFullLocked reports whether the queue has no room for a message of n bytes.
func (l *link) isFullLocked(n int) bool {
	return len(l.queue) >= maxQueueMessages || l.queueBytes+n > maxQueueBytes
}

// withdraw takes a request that still waits out of the queue; if it has left, the
// host is told to cancel it.
func (l *link) withdraw(cancel []byte) error {
	params, _ := jsonrpc.Member(cancel, "params")
	id, _ := jsonrpc.Member(params, "id")
	l.c.mu.Lock()
	for i, o := range l.queue {
		if waiting, ok := requestID(o.msg); ok && o.dispatch == nil && waiting == string(id) {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			l.queueBytes -= len(o.msg)
			l.c.mu.Unlock()
			return nil
		}
	}
	l.c.mu.Unlock()
	return l.send(bytes.Clone(cancel))
}
