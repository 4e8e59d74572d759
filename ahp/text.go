package ahp

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// textMinChunk is the smallest buffer an append allocates, in bytes.
	textMinChunk = 64

	// textMaxChunk bounds the spare room allocated ahead of need, in bytes.
	// A single longer append gets a buffer of exactly its own size.
	textMaxChunk = 64 << 10

	// textCopyMax is the most an append copies of what is already there, in
	// bytes. Below it a tail is copied, so that forks taken in turns cannot
	// build long chains of tiny chunks; above it the new chunk is linked.
	textCopyMax = 512
)

// Text is an immutable string that is cheap to extend, made for streamed
// content: appending costs the length of what is appended, however long the
// text has become, and an older value never changes. The zero Text is absent,
// which is not the same as empty; a struct member tagged omitzero leaves it out.
//
// A Text is a small value: copy it freely. All methods may be called by any
// number of goroutines at once, Append included. Compare with Equal, never
// with ==.
type Text struct {
	last *textChunk // holds the end of the text; nil when absent
	n    int        // bytes in all chunks together
}

// textChunk is a buffer shared by every Text that descends from the one that
// allocated it. A Text sees the bytes below its own length only, and those were
// written before that Text existed, so readers need neither lock nor atomics.
type textChunk struct {
	prev  *textChunk // the text before this chunk; nil at the beginning
	start int        // bytes before this chunk, which also says where prev ends
	buf   []byte     // at full capacity; never reallocated

	// claimed is the number of bytes of buf that are taken. It only grows.
	// Whoever moves it from the end of his own text owns the room in between.
	claimed atomic.Int64
}

// textEmpty ends every present text of no bytes. It has no room to claim.
var textEmpty = new(textChunk)

// NewText returns a present Text that holds a copy of s, with no room to spare.
func NewText(s string) Text {
	if s == "" {
		return Text{last: textEmpty}
	}
	return textOwn([]byte(s), len(s))
}

// textOwn returns the text of the first n bytes of buf, which it keeps; the rest
// of buf is spare room.
func textOwn(buf []byte, n int) Text {
	c := &textChunk{buf: buf}
	c.claimed.Store(int64(n))
	return Text{last: c, n: n}
}

// Append returns t followed by s. The result is present even if t is absent and
// s empty. A rune may be split over two appends.
func (t Text) Append(s string) Text {
	if c := t.last; c != nil {
		used := t.n - c.start
		end := used + len(s)
		if end <= len(c.buf) && c.claimed.CompareAndSwap(int64(used), int64(end)) {
			copy(c.buf[used:end], s)
			return Text{last: c, n: t.n + len(s)}
		}
	}
	return t.extend(s)
}

// extend appends s in a new chunk, because the last one is full or its next
// byte belongs to another Text.
func (t Text) extend(s string) Text {
	if t.last == nil {
		t.last = textEmpty
	}
	if s == "" {
		return t
	}
	prev, tail := t.last, t.tail()
	if len(tail) > textCopyMax {
		tail = nil
	} else {
		prev = prev.prev
	}
	need := len(tail) + len(s)
	c := &textChunk{prev: prev, start: t.n - len(tail), buf: make([]byte, textRoom(t, need))}
	copy(c.buf[copy(c.buf, tail):], s)
	c.claimed.Store(int64(need))
	return Text{last: c, n: t.n + len(s)}
}

// textRoom returns the size of the chunk that continues t with need bytes. A
// text that filled its chunk doubles it. A fork may be short-lived and gets
// little, so that forking at every append stays cheap.
func textRoom(t Text, need int) int {
	room := need + textMinChunk
	if t.last.claimed.Load() == int64(t.n-t.last.start) {
		room = 2 * len(t.last.buf)
	}
	return max(need, textMinChunk, min(room, textMaxChunk))
}

// tail returns the bytes of t in its last chunk.
func (t Text) tail() []byte {
	return t.last.buf[:t.n-t.last.start]
}

// drop returns t without its last k bytes, which must all be in its last chunk.
func (t Text) drop(k int) Text {
	t.n -= k
	if t.n == t.last.start {
		t.last = t.last.prev
	}
	return t
}

// Len returns the length in bytes.
func (t Text) Len() int { return t.n }

// IsZero reports whether t is absent. NewText("") is present.
func (t Text) IsZero() bool { return t.last == nil }

// Equal reports whether both texts are absent, or both present with the same
// bytes. What they share in memory is not compared.
func (t Text) Equal(u Text) bool {
	if t.n != u.n || t.IsZero() != u.IsZero() {
		return false
	}
	for t.n > 0 && t.last != u.last {
		a, b := t.tail(), u.tail()
		k := min(len(a), len(b))
		if !bytes.Equal(a[len(a)-k:], b[len(b)-k:]) {
			return false
		}
		t, u = t.drop(k), u.drop(k)
	}
	return true
}

// String returns the whole text as a new string; an absent text is "".
func (t Text) String() string {
	var few [textFewPieces][]byte
	var b strings.Builder
	b.Grow(t.n)
	for _, piece := range t.pieces(few[:0]) {
		b.Write(piece)
	}
	return b.String()
}

// AppendTo appends the text to dst and returns the extended buffer.
func (t Text) AppendTo(dst []byte) []byte {
	var few [textFewPieces][]byte
	dst = slices.Grow(dst, t.n)
	for _, piece := range t.pieces(few[:0]) {
		dst = append(dst, piece...)
	}
	return dst
}

// textFewPieces is how many pieces a reader lists without allocating: enough
// for about 400 KB of text.
const textFewPieces = 12

// pieces appends the non-empty parts of the text to dst, in order. They are
// shared and must not be written to. A rune may begin in one and end in the next.
func (t Text) pieces(dst [][]byte) [][]byte {
	first := len(dst)
	for t.n > 0 {
		tail := t.tail()
		dst = append(dst, tail)
		t = t.drop(len(tail))
	}
	slices.Reverse(dst[first:])
	return dst
}

// MarshalJSONTo writes t as a JSON string, an absent text as "". Bytes that are
// not UTF-8 (a stream may end inside a rune) are written as U+FFFD: a state that
// was accepted can always be encoded.
//
// The text is joined first. Escaping chunk by chunk saves nothing, because the
// encoder reads and copies every raw value once more.
func (t Text) MarshalJSONTo(enc *jsontext.Encoder) error {
	s := t.String()
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // one U+FFFD for each byte that is wrong
	}
	return enc.WriteToken(jsontext.String(s))
}

var errTextNotString = errors.New("text is not a JSON string")

// UnmarshalJSONFrom reads a JSON string; null makes t absent. Where the decoder
// lets lone surrogates or invalid UTF-8 pass, they become U+FFFD.
func (t *Text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	val, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch val.Kind() {
	case 'n':
		*t = Text{}
	case '"':
		*t = textUnquote(val)
	default:
		return errTextNotString
	}
	return nil
}

// textUnquote returns the text of a string that the decoder has checked, so all
// that AppendUnquote can report is that it put U+FFFD somewhere.
func textUnquote(val jsontext.Value) Text {
	if len(val) == len(`""`) {
		return Text{last: textEmpty}
	}
	b, _ := jsontext.AppendUnquote(make([]byte, 0, len(val)), val)
	return textOwn(b[:cap(b)], len(b))
}
