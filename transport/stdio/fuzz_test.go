package stdio

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/causeway-ahp/causeway/transport"
)

const fuzzLimit = 100

// FuzzStdioLines reads literal bytes and compares with a splitter that is too
// simple to be wrong, then writes what it read and reads it again.
func FuzzStdioLines(f *testing.F) {
	for _, s := range []string{
		"", "\n", "{}\n", "{}\r\n[]\n", "a\rb\n", "a\r\r\n", "cut", "\xc3\x28\n", "€\n",
		strings.Repeat("x", fuzzLimit) + "\r\n", strings.Repeat("x", fuzzLimit+1) + "\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > bufferBytes {
			return // a cut line this long may be called either too long or cut
		}
		want, wantEnd := simpleLines(in)
		c := New(iotest.HalfReader(bytes.NewReader(in)), io.Discard, Options{MaxMessageBytes: fuzzLimit})
		got, err := readAll(c)
		if !equal(got, want) || !errors.Is(err, wantEnd) {
			t.Fatalf("got %q, %v, want %q, %v", got, err, want, wantEnd)
		}
		var wire bytes.Buffer
		out := New(strings.NewReader(""), &wire, Options{})
		err = out.Write(got)
		if errors.Is(err, transport.ErrUnframeable) {
			return // such as a line that ended in two carriage returns
		}
		again, _ := readAll(New(&wire, io.Discard, Options{}))
		if err != nil || !equal(again, got) {
			t.Fatalf("round trip: got %q, %v, want %q", again, err, got)
		}
	})
}

func readAll(c *Conn) ([][]byte, error) {
	var msgs [][]byte
	for {
		m, err := c.Read()
		if err != nil {
			_ = c.Close(transport.CodeNormal, "")
			return msgs, err
		}
		msgs = append(msgs, m)
	}
}

func simpleLines(in []byte) (msgs [][]byte, end error) {
	lines := bytes.Split(in, []byte{'\n'})
	for i, m := range lines {
		last := i == len(lines)-1
		switch m = trim(m, last); {
		case last && len(m) == 0:
			return msgs, transport.ErrClosed
		case last:
			return msgs, io.ErrUnexpectedEOF
		case len(m) > fuzzLimit:
			return msgs, transport.ErrTooLarge
		case !utf8.Valid(m):
			return msgs, transport.ErrInvalidUTF8
		}
		msgs = append(msgs, m)
	}
	return msgs, nil
}

func trim(m []byte, last bool) []byte {
	if last {
		return m
	}
	return bytes.TrimSuffix(m, []byte{'\r'})
}

func equal(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}
