package flow

import (
	"encoding/binary"
	"math/bits"
)

const (
	lowBits = 0x0101010101010101
	hex     = "0123456789abcdef"
)

// maxEscape is the most code units one character becomes in a JSON string.
const maxEscape = 6

// appendEscaped appends the longest beginning of text whose JSON string is at
// most room code units long, whole characters and whole escapes only, and
// returns how many bytes of text that was. Only what JSON demands is escaped.
func appendEscaped(dst, text []byte, room int) (out []byte, n int) {
	for {
		run, cost := verbatim(text[n:], room)
		dst = append(dst, text[n:n+run]...)
		n += run
		room -= cost
		if n == len(text) {
			return dst, n
		}
		cost = escapeUnits(text[n])
		if cost == 1 || cost > room { // what needs no escape stopped for lack of room
			return dst, n
		}
		dst = appendEscape(dst, text[n])
		n++
		room -= cost
	}
}

// verbatim returns how many bytes from the start stand in a JSON string as they
// are, whole characters only, and the code units they take, at most room.
//
// A character is paid with its first byte and the others are free, so the walk
// never ends inside one and need not decode any. In particular it takes both
// halves of a surrogate pair or none (AHP core, 12.4).
func verbatim(text []byte, room int) (n, cost int) {
	for n+8 <= len(text) {
		w := binary.LittleEndian.Uint64(text[n:])
		k := bits.TrailingZeros64(special(w)) / 8 // 8 if there is none
		c := k + surplus(w&(1<<(8*k)-1))
		if cost+c > room {
			break
		}
		n += k
		cost += c
		if k < 8 {
			return n, cost
		}
	}
	for ; n < len(text); n++ {
		c := 1 + surplus(uint64(text[n]))
		if cost+c > room || escapeUnits(text[n]) > 1 {
			break
		}
		cost += c
	}
	return n, cost
}

// special marks bytes that need an escape. One above a marked byte may be marked
// wrongly, because the subtraction borrows; the lowest mark is right.
func special(w uint64) uint64 {
	quote := w ^ lowBits*'"'
	slash := w ^ lowBits*'\\'
	below := (w - lowBits*' ') | (quote - lowBits) | (slash - lowBits)
	return below &^ w & highBits
}

// escapeUnits is the length of what appendEscape appends, and 1 for a byte that
// stands as it is.
func escapeUnits(b byte) int {
	switch {
	case b == '"' || b == '\\' || b == '\n' || b == '\r' || b == '\t' || b == '\b' || b == '\f':
		return 2
	case b < ' ':
		return maxEscape
	}
	return 1
}

func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
}
