package websocket

import "sync"

// Two sizes of buffer are shared by all connections: small ones for the usual
// batch, large ones for bursts in either direction. A connection holds one only
// while bytes are moving, so their number follows activity, not connections.
const (
	smallBytes = 4 << 10
	largeBytes = 64 << 10
)

var (
	smallPool = sync.Pool{New: func() any { return new([smallBytes]byte) }}
	largePool = sync.Pool{New: func() any { return new([largeBytes]byte) }}
)

// takeBuffer returns a pooled buffer of at least n bytes, or the largest there
// is. Return it with giveBuffer, in its full length.
func takeBuffer(n int) []byte {
	if n <= smallBytes {
		return smallPool.Get().(*[smallBytes]byte)[:]
	}
	return largePool.Get().(*[largeBytes]byte)[:]
}

func giveBuffer(b []byte) {
	if cap(b) == smallBytes {
		smallPool.Put((*[smallBytes]byte)(b[:smallBytes]))
		return
	}
	largePool.Put((*[largeBytes]byte)(b[:largeBytes]))
}

// messageBytes takes whole what windowed delivery calls a message of 256 KiB: it
// counts two for a character.
const messageBytes = 128 << 10

// messagePool holds large messages that were given back.
var messagePool = sync.Pool{New: func() any { return new([messageBytes]byte) }}
