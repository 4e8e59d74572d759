package host

import "sync"

// loops counts the goroutines of a connection, which come and go, so that its end
// waits for all of them.
type loops struct {
	mu    sync.Mutex
	count int
	ended chan struct{} // set by wait; closed when the last one has left
}

// enter counts a goroutine in; it is false once somebody waits.
func (l *loops) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		return false
	}
	l.count++
	return true
}

func (l *loops) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count--; l.count == 0 && l.ended != nil {
		close(l.ended)
	}
}

// wait returns when all have left. Nobody enters any more.
func (l *loops) wait() {
	l.mu.Lock()
	l.ended = make(chan struct{})
	if l.count == 0 {
		close(l.ended)
	}
	l.mu.Unlock()
	<-l.ended
}
