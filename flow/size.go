package flow

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const highBits = 0x8080808080808080

// Size returns what a message weighs in windows, credits and frame limits: two
// bytes for each UTF-16 code unit of its complete JSON text as sent, envelope
// and escapes included (AHP core, 12.1). msg is valid UTF-8, as every carrier
// demands; for other bytes the result means nothing.
func Size(msg []byte) int64 {
	return 2 * int64(units(msg))
}

// units counts UTF-16 code units: one for each character, and a second one for
// those beyond U+FFFF, which are the ones of four bytes in UTF-8.
func units(msg []byte) int {
	n := len(msg)
	for len(msg) >= 32 {
		a, b := binary.LittleEndian.Uint64(msg), binary.LittleEndian.Uint64(msg[8:])
		c, d := binary.LittleEndian.Uint64(msg[16:]), binary.LittleEndian.Uint64(msg[24:])
		if (a|b|c|d)&highBits != 0 {
			n += surplus(a) + surplus(b) + surplus(c) + surplus(d)
		}
		msg = msg[32:]
	}
	for len(msg) >= 8 {
		n += surplus(binary.LittleEndian.Uint64(msg))
		msg = msg[8:]
	}
	for _, b := range msg {
		n += surplus(uint64(b))
	}
	return n
}

// surplus is the difference between code units and bytes over eight bytes of
// text: one less for each continuation byte (10xxxxxx), one more for each that
// begins a character of four bytes (1111xxxx). Every bit is compared with its
// lower neighbours by shifting them onto the highest bit of the same byte.
func surplus(w uint64) int {
	continuation := w &^ (w << 1) & highBits
	fours := w & (w << 1) & (w << 2) & (w << 3) & highBits
	return bits.OnesCount64(fours) - bits.OnesCount64(continuation)
}

// Base64Payload returns how many raw bytes fit, as padded base64, into a message
// of at most maxFrame bytes that weighs envelope without them; zero if none do.
// A sender of bytes fills messages up to this instead of cutting larger ones
// (AHP core, 13 "Data"). Base64 needs no escapes, so the envelope is measured
// once with an empty string in its place, escapes of the URI included.
func Base64Payload(maxFrame, envelope int64) int {
	room := maxFrame/2 - envelope/2
	return int(min(max(room, 0), math.MaxInt32/2) / 4 * 3)
}
