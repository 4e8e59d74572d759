package jsonrpc

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

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
