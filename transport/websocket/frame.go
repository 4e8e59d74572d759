package websocket

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"

	"github.com/gobwas/ws"
)

var errLengthBit = errors.New("length with its highest bit set")

const (
	finBit    = 0x80
	maskBit   = 0x80
	lengthMax = 0x7f
)

// headerSize returns how many bytes the header takes whose first two bytes are
// given.
func headerSize(second byte) int {
	n := 2
	switch second & lengthMax {
	case 126:
		n += 2
	case 127:
		n += 8
	}
	if second&maskBit != 0 {
		n += 4
	}
	return n
}

// parseHeader reads a whole header, headerSize bytes. ws.ReadHeader would do
// the same through an io.Reader, in two reads and an allocation.
func parseHeader(b []byte) (ws.Header, error) {
	h := ws.Header{
		Fin:    b[0]&finBit != 0,
		Rsv:    b[0] >> 4 & 7,
		OpCode: ws.OpCode(b[0] & 0x0f),
		Masked: b[1]&maskBit != 0,
		Length: int64(b[1] & lengthMax),
	}
	switch h.Length {
	case 126:
		h.Length = int64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		n := binary.BigEndian.Uint64(b[2:])
		if n>>63 != 0 {
			return h, errLengthBit
		}
		h.Length = int64(n)
	}
	if h.Masked {
		copy(h.Mask[:], b[len(b)-4:])
	}
	return h, nil
}

// appendHeader appends the header of a final frame.
func appendHeader(b []byte, op ws.OpCode, n int, mask *[4]byte) []byte {
	var bit byte
	if mask != nil {
		bit = maskBit
	}
	b = append(b, finBit|byte(op))
	switch {
	case n < 126:
		b = append(b, bit|byte(n))
	case n <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, bit|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, bit|127), uint64(n))
	}
	if mask != nil {
		b = append(b, mask[:]...)
	}
	return b
}

// cipherBlock is what ws.Cipher takes at a time; what is left over it takes byte by
// byte.
const cipherBlock = 16

// blocks is n, rounded up to whole blocks.
func blocks(n int) int { return (n + cipherBlock - 1) &^ (cipherBlock - 1) }

// cipher masks or unmasks b from its beginning, with the bytes behind it as far as they
// are needed to fill a block, if b has room for them.
func cipher(b []byte, mask [4]byte) {
	if n := blocks(len(b)); n <= cap(b) {
		b = b[:n]
	}
	ws.Cipher(b, mask, 0)
}

// newMask returns an unpredictable mask, as RFC 6455 section 5.3 demands. The
// generator behind rand.Uint32 is ChaCha8 with a seed from the system.
func newMask() (m [4]byte) {
	binary.NativeEndian.PutUint32(m[:], rand.Uint32())
	return m
}
