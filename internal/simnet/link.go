package simnet

import (
	"sync"
	"time"
)

// Direction is one of the two ways over a link.
type Direction int

const (
	// Up leads from the end that dialled to the listener.
	Up Direction = iota
	// Down leads from the listener to the end that dialled.
	Down
)

// String returns "up" or "down".
func (d Direction) String() string { return [...]string{"up", "down"}[d] }

// directions reads an optional list: none means both.
func directions(ds []Direction) []Direction {
	if len(ds) == 0 {
		return []Direction{Up, Down}
	}
	return ds
}

// DefaultBufferBytes is the buffer of a direction whose profile names none.
const DefaultBufferBytes = 64 << 10

// Profile says how one direction of a link carries bytes. The zero value is
// instant, of unlimited bandwidth, with a buffer of [DefaultBufferBytes].
type Profile struct {
	// Latency is the time a byte travels.
	Latency time.Duration
	// Jitter adds a random time between zero and itself to each piece. Order is
	// kept: a piece that would overtake arrives together with the one before.
	Jitter time.Duration
	// BytesPerSecond is shared by all connections of the link; 0 is unlimited.
	BytesPerSecond int64
	// BufferBytes bounds, per connection, what was written and not yet read.
	// When it is full, Write waits. 0 means DefaultBufferBytes.
	BufferBytes int
	// MaxPieceBytes splits what is written into random pieces of one to this
	// many bytes; a Read returns bytes of one piece only. 0 does not split.
	MaxPieceBytes int
}

func (p *Profile) bufferBytes() int {
	if p.BufferBytes > 0 {
		return p.BufferBytes
	}
	return DefaultBufferBytes
}

// Link is the way from one dialling name to one address, with all connections
// on it. All methods may be called at any time and take effect at once; what is
// already on its way keeps its time of arrival.
type Link struct {
	net *Network
	key linkKey

	// Guarded by net.mu. Arrays are indexed by Direction.
	profile  [2]Profile
	stalled  [2]bool
	busy     [2]time.Time // until when the bandwidth is taken
	cutAfter [2]int64     // bytes still to pass before the cut; 0 is no cut
	refuse   bool
	dialing  []*dial
	open     []*Conn // dialling ends of connections that can still change
	ordinal  int64
	stats    Stats
}

// Stats counts what happened on a link since it was made.
type Stats struct {
	Dials   int64 // attempts to connect
	Refused int64 // attempts answered with a refusal
	Open    int   // connections neither reset nor closed by both ends
	Cut     int64 // connections ended by Cut or CutAfter
	Up      DirectionStats
	Down    DirectionStats
}

// DirectionStats counts bytes of one direction; Sent is the sum of the others.
type DirectionStats struct {
	Sent      int64 // accepted from Write
	Delivered int64 // arrived in the receiver's buffer, read or not
	Lost      int64 // on the way when the connection broke, or met a closed end
	InFlight  int64 // on the way now
	// FullBuffer counts the times a Write had to wait for room.
	FullBuffer int64
}

func (s *Stats) direction(d Direction) *DirectionStats {
	if d == Up {
		return &s.Up
	}
	return &s.Down
}

// lock takes the network's mutex and lets arrive what is due, so that a call
// never races with a timer of the same instant.
func (k *Link) lock() *sync.Mutex {
	k.net.mu.Lock()
	k.deliverLocked()
	k.answerDialsLocked()
	return &k.net.mu
}

// Stats returns the counters as they are now.
func (k *Link) Stats() Stats {
	defer k.lock().Unlock()
	s := k.stats
	s.Open = len(k.open)
	return s
}

// Set gives p to the directions named, or to both.
func (k *Link) Set(p Profile, ds ...Direction) {
	defer k.lock().Unlock()
	for _, d := range directions(ds) {
		k.profile[d] = p
	}
	k.wakeWritersLocked() // there may be more room now
}

// Refuse makes the link answer attempts to connect with a refusal, or ends that.
// Connections that exist are not touched.
func (k *Link) Refuse(refuse bool) {
	defer k.lock().Unlock()
	k.refuse = refuse
}

// Stall makes the directions named, or both, a black hole: nothing arrives, not
// even the end of a stream, and nobody is told. Writers go on until the buffer
// is full. Dialling needs both directions.
func (k *Link) Stall(ds ...Direction) {
	defer k.lock().Unlock()
	for _, d := range directions(ds) {
		k.stalled[d] = true
	}
}

// Resume ends a stall of the directions named, or of both. What is overdue
// arrives at once.
func (k *Link) Resume(ds ...Direction) {
	defer k.lock().Unlock()
	for _, d := range directions(ds) {
		k.stalled[d] = false
	}
	k.deliverLocked()
	k.answerDialsLocked()
}

func (k *Link) deliverLocked() {
	for _, c := range k.openLocked() {
		c.out.deliverLocked()
		c.in.deliverLocked()
	}
}

// Cut breaks every connection of the link now, stalled or not: what is on the
// way is lost, and both ends get syscall.ECONNRESET once they have read what
// had arrived. The link itself stays: dialling again works.
func (k *Link) Cut() {
	defer k.lock().Unlock()
	k.cutLocked()
}

func (k *Link) cutLocked() {
	k.cutAfter = [2]int64{}
	for _, c := range k.openLocked() {
		k.stats.Cut++
		c.breakLocked()
		c.peer.breakLocked()
	}
}

// CutAfter cuts the link behind the next bytes that enter it in direction d, so
// that a message is torn at a known place: exactly that many bytes arrive, and
// then the effect is that of [Link.Cut]. Bytes already on their way are not
// counted and arrive as well. A later call for d replaces an earlier one whose
// bytes have not all been written; bytes <= 0 cuts now.
func (k *Link) CutAfter(d Direction, bytes int64) {
	defer k.lock().Unlock()
	if bytes <= 0 {
		k.cutLocked()
		return
	}
	k.cutAfter[d] = bytes
}

// openLocked returns a copy: what is done to a connection may take it off.
func (k *Link) openLocked() []*Conn { return append([]*Conn(nil), k.open...) }

func (k *Link) wakeWritersLocked() {
	for _, c := range k.open {
		c.writable.Broadcast()
		c.peer.writable.Broadcast()
	}
}
