package flow_test

import (
	"encoding/base64"
	"math"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/causeway-ahp/causeway/flow"
)

// hello is the example of the TCP page, which states its size.
const hello = `{"jsonrpc":"2.0","method":"tcp/data","params":{"channel":"ahp-tcp:/c1","data":"SGVsbG8="}}`

func TestSizeOfTheHelloMessage(t *testing.T) {
	if len(hello) != 90 {
		t.Fatalf("the example has %d characters, want 90", len(hello))
	}
	if got := flow.Size([]byte(hello)); got != 180 {
		t.Errorf("Size = %d, want 180", got)
	}
}

func TestSize(t *testing.T) {
	for name, c := range map[string]struct {
		msg   string
		units int64
	}{
		"empty":             {``, 0},
		"one byte each":     {`{}`, 2},
		"two bytes":         {`é`, 1},
		"three bytes":       {`世界`, 2},
		"last of three":     {"\uffff", 1},
		"first of four":     {"\U00010000", 2},
		"last of four":      {"\U0010ffff", 2},
		"a family":          {`👩‍👩‍👧`, 8},
		"escape counts six": {`\u0041`, 6},
		"escaped pair":      {`\ud83d\ude00`, 12},
		"mixed":             {`aé世😀`, 5},
	} {
		t.Run(name, func(t *testing.T) {
			if got := flow.Size([]byte(c.msg)); got != 2*c.units {
				t.Errorf("Size(%q) = %d, want %d", c.msg, got, 2*c.units)
			}
		})
	}
}

// Each kind of character crosses each border of the loops over 32 and 8 bytes.
func TestSizeAtEveryOffset(t *testing.T) {
	for _, char := range []string{"a", "\x00", "\x7f", "\u0080", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff"} {
		for before := range 70 {
			for _, after := range []int{0, 1, 7, 40} {
				msg := strings.Repeat("x", before) + char + strings.Repeat("y", after)
				if got, want := flow.Size([]byte(msg)), reference(msg); got != want {
					t.Fatalf("Size of %q after %d and before %d bytes = %d, want %d", char, before, after, got, want)
				}
			}
		}
	}
}

// reference is the definition, said with the standard library.
func reference(msg string) int64 { return 2 * int64(len(utf16.Encode([]rune(msg)))) }

func FuzzSize(f *testing.F) {
	for _, seed := range []string{hello, "", "é世😀", strings.Repeat("😀", 20), strings.Repeat("a", 31) + "世"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, msg string) {
		msg = strings.ToValidUTF8(msg, "\ufffd")
		if got, want := flow.Size([]byte(msg)), reference(msg); got != want {
			t.Errorf("Size(%q) = %d, want %d", msg, got, want)
		}
	})
}

// The formula of AHP core, 13: M/2 - (71 + c) characters, four for three bytes.
func TestBase64Payload(t *testing.T) {
	for _, c := range []struct {
		maxFrame int64
		uri      string
		want     int
	}{
		{1024, "ahp-tcp:/c1", (512 - 82) / 4 * 3},
		{1025, "ahp-tcp:/c1", (512 - 82) / 4 * 3},
		{16 << 10, "ahp-tcp:/c1", (8192 - 82) / 4 * 3},
		{256 << 10, "ahp-tcp:/0123456789abcdef", (131072 - 96) / 4 * 3},
		{1024, "ahp-tcp:/" + strings.Repeat("x", 428), 3},
		{1024, "ahp-tcp:/" + strings.Repeat("x", 429), 0},
		{1024, "ahp-tcp:/" + strings.Repeat("x", 2000), 0},
		{math.MaxInt64, "ahp-tcp:/c1", math.MaxInt32 / 2 / 4 * 3},
	} {
		got := flow.Base64Payload(c.maxFrame, flow.Size([]byte(tcpData(c.uri, nil))))
		if got != c.want {
			t.Errorf("Base64Payload(%d, c = %d) = %d, want %d", c.maxFrame, len(c.uri), got, c.want)
		}
	}
}

// What fits does fit, and three bytes more do not.
func TestBase64PayloadIsTight(t *testing.T) {
	const uri = "ahp-tcp:/c1"
	envelope := flow.Size([]byte(tcpData(uri, nil)))
	for maxFrame := int64(1024); maxFrame < 1064; maxFrame++ {
		n := flow.Base64Payload(maxFrame, envelope)
		if got := flow.Size([]byte(tcpData(uri, make([]byte, n)))); got > maxFrame {
			t.Errorf("%d bytes make a message of %d, limit %d", n, got, maxFrame)
		}
		if got := flow.Size([]byte(tcpData(uri, make([]byte, n+1)))); got <= maxFrame {
			t.Errorf("%d bytes would fit as well: %d, limit %d", n+1, got, maxFrame)
		}
	}
}

func tcpData(uri string, data []byte) string {
	return `{"jsonrpc":"2.0","method":"tcp/data","params":{"channel":"` + uri + `","data":"` +
		base64.StdEncoding.EncodeToString(data) + `"}}`
}
