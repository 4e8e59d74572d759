package memory

import "sync"

// queue is one direction: one writer, one reader.
type queue struct {
	opts Options

	// A signal each, for the reader and the writer, of a state worth a look.
	ready, room chan struct{}

	mu    sync.Mutex // guards what follows, and is held for no wait
	msgs  [][]byte
	bytes int
	end   error // what the reader gets after the last message
	gone  error // what the writer gets since the reader has left
}

func newQueue(o Options) *queue {
	return &queue{opts: o, ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// push appends m, or reports that there is no room or no reader for it.
func (q *queue) push(m []byte) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.gone != nil {
		return false, q.gone
	}
	full := len(q.msgs) >= q.opts.QueueMessages || q.bytes+len(m) > q.opts.QueueBytes
	if full && len(q.msgs) > 0 {
		return false, nil
	}
	q.msgs = append(q.msgs, m)
	q.bytes += len(m)
	signal(q.ready)
	return true, nil
}

// pop removes the first message. Without one it returns the end, if it came.
func (q *queue) pop() (m []byte, ok bool, end error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.msgs) == 0 {
		return nil, false, q.end
	}
	m = q.msgs[0]
	q.msgs[0] = nil
	if q.msgs = q.msgs[1:]; len(q.msgs) == 0 {
		q.msgs = nil // let go of the array that was walked through
	}
	q.bytes -= len(m)
	signal(q.room)
	return m, true, nil
}

// finish says that nothing more will be written.
func (q *queue) finish(end error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.end = end
	signal(q.ready)
}

// abandon says that nothing more will be read.
func (q *queue) abandon(gone error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gone, q.msgs, q.bytes = gone, nil, 0
	signal(q.room)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
