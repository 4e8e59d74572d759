package process

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLastText(t *testing.T) {
	tests := []struct {
		name    string
		raw     string
		severed bool
		size    int
		text    string
		cut     int
	}{
		{"whole", "abc", false, 10, "abc", 0},
		{"empty", "", false, 10, "", 0},
		{"cut at a rune", "aäö", false, 3, "ö", 3},
		{"cut exactly", "aäö", false, 4, "äö", 1},
		{"rest of a severed rune", "\xa4öx", true, 10, "öx", 1},
		{"a latin-1 byte is no rest", "\xa4öx", false, 10, "\ufffdöx", 0},
		{"invalid", "a\xffb", false, 10, "a\ufffdb", 0},
		{"invalid grows", "\xffb\xffb", false, 5, "b\ufffdb", 1},
		{"only continuations", "\x80\x80\x80\x80\x80", true, 30, "\ufffd", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, cut := lastText([]byte(tt.raw), tt.severed, tt.size)
			if text != tt.text || cut != tt.cut {
				t.Errorf("got %q cut %d, want %q cut %d", text, cut, tt.text, tt.cut)
			}
		})
	}
}

func TestWholeRunes(t *testing.T) {
	for raw, want := range map[string]string{
		"": "", "a": "a", "aä": "aä", "a\xc3": "a", "a\xe2\x82": "a", "a\xf0\x9f\x98": "a", "\xf0\x9f\x98\x80": "\xf0\x9f\x98\x80",
		"a\xff": "a\xff", "\x80\x80\x80\x80": "\x80\x80\x80\x80", "\xc3": "",
	} {
		if got := string(wholeRunes([]byte(raw))); got != want {
			t.Errorf("wholeRunes(%q) = %q, want %q", raw, got, want)
		}
	}
}

// TestCaptureModel compares with a Capture that keeps everything.
func TestCaptureModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 200).Draw(t, "limit")
		keep := rapid.IntRange(8, 40).Draw(t, "keep")
		c := NewCapture(limit, keep)
		var all []byte
		for !c.OverLimit() && rapid.Bool().Draw(t, "more") {
			piece := []byte(rapid.StringMatching(`([a-z]|[äöü]|€|😀){0,30}`).Draw(t, "piece"))
			if rapid.Bool().Draw(t, "noise") {
				piece = rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "bytes")
			}
			n, err := c.Write(piece)
			if over := int64(len(all)+len(piece)) > limit; over != errors.Is(err, errOverLimit) || over != c.OverLimit() {
				t.Fatalf("write of %d after %d: %v, over %v", len(piece), len(all), err, c.OverLimit())
			}
			all = append(all, piece[:n]...)
		}
		size := rapid.IntRange(4, keep).Draw(t, "size")
		text, omitted := c.Final(size)
		checkEnd(t, all, text, int(omitted), size)
		if live := c.Live(size); len(live) > size || !utf8.ValidString(live) {
			t.Fatalf("live %q of size %d", live, size)
		}
	})
}

func checkEnd(t *rapid.T, all []byte, text string, omitted, size int) {
	if int64(len(all)) < int64(omitted) || len(text) > size || !utf8.ValidString(text) {
		t.Fatalf("%d omitted of %d, text %q", omitted, len(all), text)
	}
	if want := strings.ToValidUTF8(string(all[omitted:]), "\ufffd"); text != want {
		t.Fatalf("text %q after %d omitted bytes, want %q", text, omitted, want)
	}
	if omitted > 0 && len(all)-omitted < (size-3)/3 {
		t.Fatalf("only %d of %d bytes kept", len(all)-omitted, size)
	}
}

func BenchmarkCapture(b *testing.B) {
	piece := bytes.Repeat([]byte("0123456789abcdef"), 2048)
	c := NewCapture(1<<62, 64<<10)
	b.SetBytes(int64(len(piece)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(piece); err != nil {
			b.Fatal(err)
		}
	}
}
