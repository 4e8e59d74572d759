// Package slab is memory for messages that leave in the order in which they came.
// Many of them share a piece, and a piece is used again when the last of its
// messages has left: a queue that runs at full speed allocates nothing, and one that
// is empty holds nothing.
//
// It stands between whoever makes a message (the host's relay, a client's
// notification) and the writer of a connection. It knows neither.
package slab

import "sync"

// pieceBytes is the size of a piece: some two hundred small messages, and as much as
// a carrier writes at once. A larger message has a piece of its own.
const pieceBytes = 64 << 10

var pool = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// Slab is the memory of one queue. The zero value is ready. It does not lock.
type Slab struct{ pieces []piece }

type piece struct {
	buf  []byte
	live int // bytes of it that were not freed
}

// Join returns the parts as one message, which is valid until it is freed.
func (s *Slab) Join(parts ...[]byte) []byte {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	p := s.room(n)
	at := len(p.buf)
	for _, part := range parts {
		p.buf = append(p.buf, part...)
	}
	p.live += n
	return p.buf[at:len(p.buf):len(p.buf)]
}

// room returns a piece with n bytes to spare.
func (s *Slab) room(n int) *piece {
	if k := len(s.pieces); k > 0 {
		if p := &s.pieces[k-1]; cap(p.buf)-len(p.buf) >= n {
			return p
		}
	}
	var buf []byte
	if n <= pieceBytes {
		buf = pool.Get().(*[pieceBytes]byte)[:0]
	} else {
		buf = make([]byte, 0, n)
	}
	s.pieces = append(s.pieces, piece{buf: buf})
	return &s.pieces[len(s.pieces)-1]
}

// Free gives back the n bytes that were joined first of those that are left: whole
// messages, that nobody uses any more.
func (s *Slab) Free(n int) {
	gone := 0
	for ; n > 0; gone++ {
		p := &s.pieces[gone]
		k := min(n, p.live)
		n, p.live = n-k, p.live-k
		if p.live > 0 {
			break
		}
		if cap(p.buf) == pieceBytes {
			pool.Put((*[pieceBytes]byte)(p.buf[:pieceBytes]))
		}
	}
	left := copy(s.pieces, s.pieces[gone:])
	clear(s.pieces[left:])
	s.pieces = s.pieces[:left]
}

// Drop forgets everything. What is still in use stays valid.
func (s *Slab) Drop() { s.pieces = nil }
