package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
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
			i = skipPlainBlocks(data, i)
		}
	}
	for i < len(data) && data[i] >= ' ' && data[i] < utf8.RuneSelf && data[i] != '"' && data[i] != '\\' {
		i++
	}
	return i
}

// skipPlainBlocks skips plain ASCII 32 bytes at a time. Long strings, base64
// above all, are worth the wider step; short ones lose by it.
func skipPlainBlocks(data []byte, i int) int {
	for len(data)-i >= 32 {
		b := data[i : i+32 : i+32]
		if special(binary.LittleEndian.Uint64(b))|special(binary.LittleEndian.Uint64(b[8:]))|
			special(binary.LittleEndian.Uint64(b[16:]))|special(binary.LittleEndian.Uint64(b[24:])) != 0 {
			break
		}
		i += 32
	}
	return i
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
	for i < len(data) {
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

func hasEscape(body []byte) bool { return bytes.IndexByte(body, '\\') >= 0 }

// What to do with a surrogate escape that has no partner.
type surrogates bool

const (
	keepSurrogates    surrogates = true  // three bytes that are not UTF-8; reversible
	replaceSurrogates surrogates = false // U+FFFD
)

// appendUnescaped appends the text that the valid string body stands for. For
// an invalid body the result is unspecified; it does not panic.
func appendUnescaped(dst, body []byte, mode surrogates) []byte {
	for {
		at := bytes.IndexByte(body, '\\')
		if at < 0 || at+1 >= len(body) {
			return append(dst, body...)
		}
		dst = append(dst, body[:at]...)
		if body[at+1] != 'u' {
			dst = append(dst, unescaped(body[at+1]))
			body = body[at+2:]
			continue
		}
		dst, body = appendCodeUnit(dst, body[at:], mode)
	}
}

// unescaped returns the byte that a one-letter escape stands for.
func unescaped(letter byte) byte {
	switch letter {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return letter
	}
}

// appendCodeUnit appends the character of the \u escape, or pair of escapes,
// at the start of body and returns what follows.
func appendCodeUnit(dst, body []byte, mode surrogates) (text, rest []byte) {
	first, ok := hex4(body, 2)
	if !ok {
		return dst, nil
	}
	rest = body[6:]
	if !utf16.IsSurrogate(first) {
		return utf8.AppendRune(dst, first), rest
	}
	if bytes.HasPrefix(rest, []byte(`\u`)) {
		second, _ := hex4(rest, 2)
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return utf8.AppendRune(dst, r), rest[6:]
		}
	}
	if mode == keepSurrogates {
		return append(dst, 0xE0|byte(first>>12), 0x80|byte(first>>6)&0xBF, 0x80|byte(first)&0xBF), rest
	}
	return utf8.AppendRune(dst, utf8.RuneError), rest
}

// appendQuoted appends s as a JSON string. A surrogate in the form of
// keepSurrogates becomes its escape again, other bytes that are not UTF-8
// become U+FFFD.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for len(s) > 0 {
		n := 0
		for n < len(s) && s[n] >= ' ' && s[n] < utf8.RuneSelf && s[n] != '"' && s[n] != '\\' {
			n++
		}
		dst = append(dst, s[:n]...)
		if s = s[n:]; len(s) > 0 {
			dst, s = appendSpecial(dst, s)
		}
	}
	return append(dst, '"')
}

// appendSpecial appends the first character of s, which is not plain ASCII,
// and returns what follows.
func appendSpecial(dst []byte, s string) (text []byte, rest string) {
	if s[0] < utf8.RuneSelf {
		return appendEscape(dst, rune(s[0])), s[1:]
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r != utf8.RuneError || size > 1:
		return append(dst, s[:size]...), s[size:]
	case isSurrogateBytes(s):
		return appendEscape(dst, 0xD000|rune(s[1]&0x3F)<<6|rune(s[2]&0x3F)), s[3:]
	default:
		return utf8.AppendRune(dst, utf8.RuneError), s[1:]
	}
}

// isSurrogateBytes reports whether s begins with a surrogate as appendCodeUnit
// writes it.
func isSurrogateBytes(s string) bool {
	return len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2] >= 0x80 && s[2] <= 0xBF
}

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
