package process

import (
	"errors"
	"strings"
	"sync"
	"unicode/utf8"
)

// errOverLimit ends the reading of a command that wrote too much.
var errOverLimit = errors.New("command wrote too much")

// Capture keeps the end of what a command writes. One goroutine writes; reading
// may overlap.
type Capture struct {
	Changed chan struct{} // holds a token when something came since it was taken
	Over    chan struct{} // closed when the limit is passed

	limit int64 // bytes taken in total
	keep  int   // bytes kept

	mu    sync.Mutex
	tail  []byte // the last bytes, at least keep of them if there were so many
	total int64
}

// NewCapture returns a capture that takes limit bytes in total and keeps at
// least the last keep of them.
func NewCapture(limit int64, keep int) *Capture {
	return &Capture{limit: limit, keep: keep, Changed: make(chan struct{}, 1), Over: make(chan struct{})}
}

// Write implements io.Writer. It takes all it is given, or fails with
// errOverLimit after taking what the limit leaves; it is not called again then.
func (c *Capture) Write(b []byte) (int, error) {
	n, err := c.take(b)
	select {
	case c.Changed <- struct{}{}:
	default:
	}
	if err != nil {
		close(c.Over)
	}
	return n, err
}

func (c *Capture) take(b []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := c.limit - c.total; int64(len(b)) > left {
		b, err = b[:left], errOverLimit
	}
	c.total += int64(len(b))
	c.tail = append(c.tail, b...)
	// Moving the end to the front only when half of the buffer is stale keeps
	// the cost per byte constant.
	if len(c.tail) > 2*c.keep {
		c.tail = c.tail[:copy(c.tail, c.tail[len(c.tail)-c.keep:])]
	}
	return len(b), err
}

// OverLimit reports whether the command wrote more than the limit.
func (c *Capture) OverLimit() bool {
	select {
	case <-c.Over:
		return true
	default:
		return false
	}
}

// Bytes returns a copy of the last size bytes, or fewer if fewer were kept, and
// how many came before them.
func (c *Capture) Bytes(size int) (raw []byte, before int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.tail[len(c.tail)-min(len(c.tail), c.keep, size):]
	return append(raw, end...), c.total - int64(len(end))
}

// Live is the end of the output while more may come: a character of which only
// the beginning has arrived is held back.
func (c *Capture) Live(size int) string {
	raw, before := c.Bytes(size)
	text, _ := lastText(wholeRunes(raw), before > 0, size)
	return text
}

// Final is the end of the output as at most size bytes of text, and the number
// of output bytes left out before it.
func (c *Capture) Final(size int) (text string, omitted int64) {
	raw, before := c.Bytes(size)
	text, cut := lastText(raw, before > 0, size)
	return text, before + int64(cut)
}

// lastText makes text of the end of raw: at most size bytes, U+FFFD in place of
// what is not UTF-8. It says how many bytes of raw were cut off the front; if
// some had been cut before, the text begins with a whole character.
func lastText(raw []byte, severed bool, size int) (text string, cut int) {
	if severed {
		cut = restOfRune(raw)
	}
	if utf8.Valid(raw[cut:]) && len(raw)-cut <= size {
		return string(raw[cut:]), cut
	}
	start := len(raw)
	for room := size; start > cut; {
		r, n := utf8.DecodeLastRune(raw[cut:start])
		if room -= utf8.RuneLen(r); room < 0 {
			break
		}
		start -= n
	}
	return strings.ToValidUTF8(string(raw[start:]), string(utf8.RuneError)), start
}

// wholeRunes cuts an incomplete character off the end.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if !utf8.RuneStart(b[i]) {
			continue
		}
		if !utf8.FullRune(b[i:]) {
			return b[:i]
		}
		break
	}
	return b
}

// restOfRune is the length of the rest of a character that begins before b.
func restOfRune(b []byte) int {
	for i := range min(len(b), utf8.UTFMax) {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return 0
}
