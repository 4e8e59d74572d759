package simnet

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// maxSegmentBytes is the most that arrives in one event.
	maxSegmentBytes = 16 << 10
	// segmentsPerSecond keeps a narrow link flowing evenly: a segment is no
	// larger than what the bandwidth carries in this part of a second.
	segmentsPerSecond = 100
)

// segmentKind says what a segment does when it arrives.
type segmentKind int

const (
	segmentData segmentKind = iota
	segmentFin              // the sender will send no more
	segmentRst              // the sender is gone
	segmentCut              // the link breaks here
)

// segment is what travels: data, or a mark in the stream.
type segment struct {
	kind  segmentKind
	at    time.Time // when it arrives, unless the link is stalled
	data  []byte
	alone bool // a Read must not join it with its neighbours
}

// pipe is one direction of a connection. The network's mutex guards it.
type pipe struct {
	link     *Link
	dir      Direction
	src, dst *Conn
	rng      *rand.Rand

	wire   []segment // sent, not yet arrived, ordered by at
	lastAt time.Time // arrival of the newest segment: order is kept
	timer  *time.Timer
	inbox  []segment // arrived data, not yet read
	held   int       // bytes in wire and inbox, bounded by the profile
	eof    bool      // segmentFin has arrived
}

func (p *pipe) profile() *Profile { return &p.link.profile[p.dir] }

func (p *pipe) stats() *DirectionStats { return p.link.stats.direction(p.dir) }

// acceptLocked sends as much of b as there is room for and says how much.
func (p *pipe) acceptLocked(b []byte) int {
	n := min(len(b), p.profile().bufferBytes()-p.held)
	left := &p.link.cutAfter[p.dir]
	if *left > 0 {
		n = int(min(int64(n), *left))
	}
	if n <= 0 {
		return 0
	}
	last := *left == int64(n)
	*left = max(0, *left-int64(n))
	p.sendDataLocked(slices.Clone(b[:n]))
	if last {
		p.sendLocked(segment{kind: segmentCut})
	}
	return n
}

// sendDataLocked puts data on the wire in pieces.
func (p *pipe) sendDataLocked(data []byte) {
	p.held += len(data)
	p.stats().Sent += int64(len(data))
	p.stats().InFlight += int64(len(data))
	for len(data) > 0 {
		k := p.pieceBytes(len(data))
		p.sendLocked(segment{kind: segmentData, data: data[:k], alone: p.profile().MaxPieceBytes > 0})
		data = data[k:]
	}
}

// pieceBytes chooses the size of the next piece of n bytes.
func (p *pipe) pieceBytes(n int) int {
	if most := p.profile().MaxPieceBytes; most > 0 {
		return min(n, 1+p.rng.IntN(most))
	}
	n = min(n, maxSegmentBytes)
	if rate := p.profile().BytesPerSecond; rate > 0 {
		n = int(min(int64(n), max(1, rate/segmentsPerSecond)))
	}
	return n
}

// sendLocked puts s on the wire; it may arrive before the call returns.
func (p *pipe) sendLocked(s segment) {
	s.at = p.arrivalLocked(s)
	p.lastAt = s.at
	p.wire = append(p.wire, s)
	p.deliverLocked()
}

// arrivalLocked says when s arrives if sent now.
func (p *pipe) arrivalLocked(s segment) time.Time {
	at := time.Now()
	if s.kind == segmentCut { // directly behind the byte before it
		return later(at, p.lastAt)
	}
	f := p.profile()
	if f.BytesPerSecond > 0 {
		at = later(at, p.link.busy[p.dir])
		at = at.Add(time.Duration(int64(len(s.data)) * int64(time.Second) / f.BytesPerSecond))
		p.link.busy[p.dir] = at
	}
	at = at.Add(f.Latency)
	if f.Jitter > 0 {
		at = at.Add(time.Duration(p.rng.Int64N(int64(f.Jitter) + 1)))
	}
	return later(at, p.lastAt)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// deliver runs on a timer's goroutine.
func (p *pipe) deliver() {
	p.link.net.mu.Lock()
	defer p.link.net.mu.Unlock()
	p.deliverLocked()
}

// deliverLocked lets arrive what is due and sets the timer for the rest.
func (p *pipe) deliverLocked() {
	for len(p.wire) > 0 && !p.link.stalled[p.dir] {
		if wait := time.Until(p.wire[0].at); wait > 0 {
			p.armLocked(wait)
			return
		}
		s := p.wire[0]
		p.wire[0] = segment{}
		p.wire = p.wire[1:]
		p.arriveLocked(s)
	}
}

func (p *pipe) armLocked(wait time.Duration) {
	if p.timer == nil {
		p.timer = time.AfterFunc(wait, p.deliver)
		return
	}
	p.timer.Reset(wait)
}

func (p *pipe) arriveLocked(s segment) {
	switch s.kind {
	case segmentData:
		p.arriveDataLocked(s)
	case segmentFin:
		p.eof = true
		p.dst.readable.Broadcast()
	case segmentRst:
		p.dst.breakLocked()
	case segmentCut:
		p.link.cutLocked()
	}
}

// arriveDataLocked stores data for the reader. A closed end has none: as with
// TCP the data is lost and the sender learns of it by a reset.
func (p *pipe) arriveDataLocked(s segment) {
	n := len(s.data)
	p.stats().InFlight -= int64(n)
	if p.dst.closed {
		p.stats().Lost += int64(n)
		p.releaseLocked(n)
		p.dst.out.sendLocked(segment{kind: segmentRst})
		return
	}
	p.stats().Delivered += int64(n)
	p.inbox = append(p.inbox, s)
	p.dst.readable.Broadcast()
}

// takeLocked moves arrived bytes into b and gives their room back.
func (p *pipe) takeLocked(b []byte) int {
	n := 0
	for n < len(b) && len(p.inbox) > 0 {
		s := &p.inbox[0]
		if s.alone && n > 0 {
			break
		}
		k := copy(b[n:], s.data)
		s.data = s.data[k:]
		n += k
		if len(s.data) > 0 {
			break
		}
		alone := s.alone
		*s = segment{}
		p.inbox = p.inbox[1:]
		if alone {
			break
		}
	}
	p.releaseLocked(n)
	return n
}

func (p *pipe) releaseLocked(n int) {
	p.held -= n
	p.src.writable.Broadcast()
}

// dropWireLocked loses what is on the way.
func (p *pipe) dropWireLocked() {
	for _, s := range p.wire {
		n := len(s.data)
		p.stats().InFlight -= int64(n)
		p.stats().Lost += int64(n)
		p.held -= n
	}
	p.wire = nil
	if p.timer != nil {
		p.timer.Stop()
	}
}

// dropInboxLocked forgets what the reader will never read.
func (p *pipe) dropInboxLocked() {
	n := 0
	for _, s := range p.inbox {
		n += len(s.data)
	}
	p.inbox = nil
	p.releaseLocked(n)
}
