package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Eight bytes of a string are looked at in one step. Each test below leaves
// the top bit of a byte set where it hit; a borrow can set further bits only
// above a true hit, so the lowest one is exact.
const (
	ones  = 0x0101010101010101
	tops  = 0x8080808080808080
	quote = '"' * ones
	slash = '\\' * ones
	blank = ' ' * ones
)

// delimiters marks the quotes and backslashes in w.
func delimiters(w uint64) uint64 {
	q, s := w^quote, w^slash
	return ((q-ones)&^q | (s-ones)&^s) & tops
}

// special marks what ends a run of plain ASCII in w: delimiters, control
// characters and bytes from 0x80.
func special(w uint64) uint64 {
	return delimiters(w) | ((w-blank)|w)&tops
}

// plainEnd returns the index of the first byte at or after i that is not plain
// ASCII inside a string, or len(data).
func plainEnd(data []byte, i int) int {
	for long := i + 32; len(data)-i >= 8; {
		if m := special(binary.LittleEndian.Uint64(data[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		if i += 8; i == long {
			i = skipPlainRun(data, i)
		}
	}
	for i < len(data) && data[i] >= ' ' && data[i] < utf8.RuneSelf && data[i] != '"' && data[i] != '\\' {
		i++
	}
	return i
}

// The windows in which long strings, base64 above all, are looked at as a whole.
// They grow while nothing is found, so that what is read ahead in vain stays
// within a few times of what was used.
const (
	firstWindow = 256
	lastWindow  = 4096
)

// skipPlainRun skips plain ASCII, a window at a time, up to a quote or to a window
// that holds something else, which is left to be looked at byte by byte. The byte
// searches of the standard library take 32 bytes a step, and what is left to be
// looked at costs three operations a word instead of a dozen.
func skipPlainRun(data []byte, i int) int {
	for size := firstWindow; i < len(data); size = min(2*size, lastWindow) {
		w := data[i:min(i+size, len(data))]
		end := bytes.IndexByte(w, '"')
		if end >= 0 {
			w = w[:end]
		}
		if bytes.IndexByte(w, '\\') >= 0 || !printableASCII(w) {
			return i
		}
		if i += len(w); end >= 0 {
			return i
		}
	}
	return i
}

// printableASCII reports whether w holds neither control characters nor bytes from
// 0x80.
func printableASCII(w []byte) bool {
	for ; len(w) >= 32; w = w[32:] {
		a, b := binary.LittleEndian.Uint64(w), binary.LittleEndian.Uint64(w[8:])
		c, d := binary.LittleEndian.Uint64(w[16:]), binary.LittleEndian.Uint64(w[24:])
		if (a|(a-blank)|b|(b-blank)|c|(c-blank)|d|(d-blank))&tops != 0 {
			return false
		}
	}
	for ; len(w) >= 8; w = w[8:] {
		if a := binary.LittleEndian.Uint64(w); (a|(a-blank))&tops != 0 {
			return false
		}
	}
	for _, b := range w {
		if b < ' ' || b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// checkString validates a string whose first byte after the opening quote is
// at i and returns the index after the closing quote, or badSyntax. Any \u
// escape is allowed, lone surrogates too: JavaScript peers send them.
func checkString(data []byte, i int) int {
	for {
		i = plainEnd(data, i)
		if i >= len(data) {
			return badSyntax
		}
		switch b := data[i]; {
		case b == '"':
			return i + 1
		case b == '\\':
			if i = checkEscape(data, i+1); i < 0 {
				return badSyntax
			}
		case b < ' ':
			return badSyntax
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return badSyntax
			}
			i += size
		}
	}
}

// checkEscape validates what follows a backslash, at i, and returns the index
// after it, or badSyntax.
func checkEscape(data []byte, i int) int {
	if i >= len(data) {
		return badSyntax
	}
	switch data[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if _, ok := hex4(data, i+1); ok {
			return i + 5
		}
	}
	return badSyntax
}

// hex4 reads the four hexadecimal digits at i.
func hex4(data []byte, i int) (rune, bool) {
	if len(data)-i < 4 {
		return 0, false
	}
	var r rune
	for _, b := range data[i : i+4] {
		switch {
		case isDigit(b):
			r = r<<4 | rune(b-'0')
		case 'a' <= b|0x20 && b|0x20 <= 'f':
			r = r<<4 | rune(b|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// stringEnd is checkString for text that is known to be valid: it only looks
// for the closing quote.
func stringEnd(data []byte, i int) int {
	for long := i + 32; i < len(data); {
		if i >= long {
			return longStringEnd(data, i)
		}
		if len(data)-i >= 8 {
			m := delimiters(binary.LittleEndian.Uint64(data[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			i += 2
		default:
			i++
		}
	}
	return badSyntax
}

// longStringEnd is stringEnd by the searches of the standard library. The next
// quote is searched again only when an escape has used it up, so that however many
// escapes there are, no byte is looked at more than twice.
func longStringEnd(data []byte, i int) int {
	for i < len(data) {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return badSyntax
		}
		end := i + n
		for i <= end {
			escape := bytes.IndexByte(data[i:end], '\\')
			if escape < 0 {
				return end + 1
			}
			i += escape + 2
		}
	}
	return badSyntax
}
