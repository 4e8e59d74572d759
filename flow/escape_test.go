package flow

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// naive takes character after character, spelled by the JSON library.
func naive(text string, room int) (escaped string, n int) {
	var b strings.Builder
	for _, r := range text {
		quoted, err := jsontext.AppendQuote(nil, string(r))
		if err != nil {
			return "", -1
		}
		spelled := string(quoted[1 : len(quoted)-1])
		room -= len(utf16.Encode([]rune(spelled)))
		if room < 0 {
			break
		}
		b.WriteString(spelled)
		n += len(string(r))
	}
	return b.String(), n
}

func TestAppendEscapedTakesAllThatFits(t *testing.T) {
	chars := rapid.SampledFrom([]rune("aaaaaaaa z~\x7f\"\\\n\r\t\b\f\x00\x1f !#[]é\u0080\u07ff世\uffff\u2028😀\U0010ffff"))
	text := rapid.OneOf(rapid.StringOfN(chars, 0, 60, -1), rapid.StringN(0, 60, -1))
	rapid.Check(t, func(t *rapid.T) {
		s := strings.ToValidUTF8(text.Draw(t, "text"), "")
		room := rapid.IntRange(0, 100).Draw(t, "room")
		want, wantN := naive(s, room)
		got, n := appendEscaped([]byte("x"), []byte(s), room)
		if string(got) != "x"+want || n != wantN {
			t.Fatalf("got %q, %d, want %q, %d", got[1:], n, want, wantN)
		}
	})
}

// Each byte at each place of a word, beside each kind of neighbour.
func TestSpecialFindsTheFirst(t *testing.T) {
	for b := range 256 {
		for at := range 8 {
			for _, other := range []byte{'a', ' ', 0x7f, 0x80, 0xff, '#', '!', ']', '['} {
				word := uint64(0)
				for i := range 8 {
					c := other
					if i == at {
						c = byte(b)
					}
					word |= uint64(c) << (8 * i)
				}
				want := uint64(0)
				if escapeUnits(byte(b)) > 1 {
					want = 0x80 << (8 * at)
				}
				if got := special(word); got&-got != want {
					t.Fatalf("byte %#x at %d among %#x: lowest mark %#x, want %#x", b, at, other, got&-got, want)
				}
			}
		}
	}
}
