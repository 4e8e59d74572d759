package websocket

import "sync"

// latch is a channel that is closed once, and made for the first who waits: nearly no
// connection has one who does.
type latch struct {
	mu     sync.Mutex
	closed bool
	ch     chan struct{}
}

// close is called once.
func (l *latch) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.ch != nil {
		close(l.ch)
	}
}

// done returns the channel.
func (l *latch) done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ch == nil {
		l.ch = make(chan struct{})
		if l.closed {
			close(l.ch)
		}
	}
	return l.ch
}
