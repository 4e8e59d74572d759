package websocket

import "sync"

// latch is a channel that is closed once, and made for the first who waits: nearly no
// connection has one who does.
type latch struct {
	mu sync.Mutex
	ch chan struct{} // nil while it is open and nobody waits
}

// shut is the channel of a latch for which nobody waited.
var shut = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// close is called once.
func (l *latch) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ch == nil {
		l.ch = shut
		return
	}
	close(l.ch)
}

// done returns the channel.
func (l *latch) done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ch == nil {
		l.ch = make(chan struct{})
	}
	return l.ch
}
