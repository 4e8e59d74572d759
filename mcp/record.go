package mcp

import (
	"slices"
	"sync"
)

// maxRecordBytes bounds what a call that nobody reads keeps for its client. Over it
// the oldest messages are dropped: progress, logs. The response is the last one.
const maxRecordBytes = 4 << 20

// record is the messages of a call in their order, numbered from 1. One goroutine
// adds, any number reads.
type record struct {
	mu      sync.Mutex
	entries [][]byte
	first   int // number of entries[0]
	bytes   int
	dropped int
	closed  bool
	changed chan struct{} // closed and replaced at each change
}

func newRecord() *record { return &record{first: 1, changed: make(chan struct{})} }

// add appends a message. Nothing is added to a record that is closed.
func (r *record) add(message []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.entries = append(r.entries, slices.Clone(message))
	r.bytes += len(message)
	for r.bytes > maxRecordBytes && len(r.entries) > 1 {
		r.bytes -= len(r.entries[0])
		r.entries[0] = nil
		r.entries = r.entries[1:]
		r.first++
		r.dropped++
	}
	r.tellLocked()
}

// close says that no message follows.
func (r *record) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.tellLocked()
	}
}

func (r *record) tellLocked() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// after returns the messages after number n, the number of the first of them, and,
// when there are none yet, what to wait for. End tells that none follows.
func (r *record) after(n int) (messages [][]byte, number int, changed <-chan struct{}, end bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	number = max(n+1, r.first)
	if i := number - r.first; i < len(r.entries) {
		messages = slices.Clone(r.entries[i:])
	}
	return messages, number, r.changed, r.closed
}
