package flow

import "encoding/binary"

// keepBytes is the buffer an empty list keeps. A larger one is given back, so
// that a burst of small messages does not weigh on a connection gone idle.
const keepBytes = 1024

// boundaries is the list of outstanding wire messages, oldest first, as their
// sizes in variable-length integers: exact, and small enough (doc.go) that
// neither merging nor a bound below the window's own is needed. A ring of
// numbers would take four to eight times as much.
type boundaries struct {
	buf  []byte
	head int // buf[:head] is used up
}

// push adds the newest message. Space used up in front is taken before the
// buffer grows, and moving costs no more than what was dropped since.
func (b *boundaries) push(size int64) {
	if b.head*2 >= len(b.buf) && len(b.buf)+binary.MaxVarintLen64 > cap(b.buf) {
		n := copy(b.buf, b.buf[b.head:])
		b.buf, b.head = b.buf[:n], 0
	}
	b.buf = binary.AppendUvarint(b.buf, uint64(size))
}

// fit returns how much the oldest messages weigh that fit into n together, and
// where the first one after them begins.
func (b *boundaries) fit(n int64) (sum int64, at int) {
	at = b.head
	for at < len(b.buf) {
		size, width := binary.Uvarint(b.buf[at:])
		if int64(size) > n-sum {
			break
		}
		sum += int64(size)
		at += width
	}
	return sum, at
}

// dropTo forgets the messages before a place that fit returned.
func (b *boundaries) dropTo(at int) {
	if at < len(b.buf) {
		b.head = at
		return
	}
	b.head = 0
	b.buf = b.buf[:0]
	if cap(b.buf) > keepBytes {
		b.buf = nil
	}
}
