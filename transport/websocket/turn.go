package websocket

import (
	"sync/atomic"
	"time"
)

// turn is whose turn it is to read: the reader's, which takes it for each message and
// never waits for it, or that of a Close, of which one at a time wants it.
type turn struct {
	state  atomic.Int32
	handed chan struct{} // made by who waits; holds a token when the reader has passed its turn on
}

const (
	turnFree = iota
	turnTaken
	turnWanted // taken, to be passed on
)

// try takes the turn if nobody has it.
func (t *turn) try() bool { return t.state.CompareAndSwap(turnFree, turnTaken) }

// give gives it back, or passes it on.
func (t *turn) give() {
	if !t.state.CompareAndSwap(turnTaken, turnFree) {
		t.pass()
	}
}

func (t *turn) pass() {
	t.state.Store(turnTaken)
	t.handed <- struct{}{}
}

// wait takes the turn as soon as the reader gives it back. It is false when that
// takes until timeout, which may be nil.
func (t *turn) wait(timeout <-chan time.Time) bool {
	if t.handed == nil {
		t.handed = make(chan struct{}, 1)
	}
	for !t.state.CompareAndSwap(turnTaken, turnWanted) {
		if t.try() {
			return true
		}
	}
	select {
	case <-t.handed:
		return true
	case <-timeout:
	}
	if t.state.CompareAndSwap(turnWanted, turnTaken) {
		return false // the reader has it still
	}
	<-t.handed // it was passed on meanwhile
	return true
}
