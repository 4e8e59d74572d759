package shell

import (
	"errors"
	"strings"
	"sync"
	"unicode/utf8"
)

// Bounds of a command's output, in bytes.
const (
	MaxOutputBytes = 16 << 20 // read in total; then the command is ended
	KeptBytes      = 64 << 10 // kept of a finished call, from its end
	liveBytes      = 16 << 10 // shown of a running call, from its end
)

// errOverLimit ends the reading of a command that wrote too much.
var errOverLimit = errors.New("command wrote too much")

// capture keeps the end of what a command writes. One goroutine writes; reading
// may overlap.
type capture struct {
	limit   int64         // bytes taken in total
	keep    int           // bytes kept
	changed chan struct{} // holds a token when something came since it was taken
	over    chan struct{} // closed when the limit is passed

	mu    sync.Mutex
	tail  []byte // the last bytes, at least keep of them if there were so many
	total int64
}

func newCapture(limit int64, keep int) *capture {
	return &capture{limit: limit, keep: keep, changed: make(chan struct{}, 1), over: make(chan struct{})}
}

// Write implements io.Writer. It takes all it is given, or fails with
// errOverLimit after taking what the limit leaves; it is not called again then.
func (c *capture) Write(b []byte) (int, error) {
	n, err := c.take(b)
	select {
	case c.changed <- struct{}{}:
	default:
	}
	if err != nil {
		close(c.over)
	}
	return n, err
}

func (c *capture) take(b []byte) (n int, err error) {
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

// overLimit reports whether the command wrote more than the limit.
func (c *capture) overLimit() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// bytes returns a copy of the last size bytes, or fewer if fewer were kept, and
// how many came before them.
func (c *capture) bytes(size int) (raw []byte, before int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.tail[len(c.tail)-min(len(c.tail), c.keep, size):]
	return append(raw, end...), c.total - int64(len(end))
}

// live is the end of the output while more may come: a character of which only
// the beginning has arrived is held back.
func (c *capture) live(size int) string {
	raw, before := c.bytes(size)
	text, _ := lastText(wholeRunes(raw), before > 0, size)
	return text
}

// final is the end of the output as at most size bytes of text, and the number
// of output bytes left out before it.
func (c *capture) final(size int) (text string, omitted int64) {
	raw, before := c.bytes(size)
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
