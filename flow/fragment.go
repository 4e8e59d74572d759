package flow

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Errors of a message that cannot be cut into frames.
var (
	// ErrNoRoom is an envelope that leaves no room for a character, because the
	// frame limit is small and the URI of the channel is long.
	ErrNoRoom = errors.New("flow: no room in a frame")
	// ErrText is a message that is empty or not valid UTF-8.
	ErrText = errors.New("flow: not a text")
)

// Envelope is the text around the pieces of a message: Before is everything up
// to and including the quote that opens the piece, and what follows begins with
// the quote that closes it: After, or Last in the final frame. All three are
// valid UTF-8, with every escape the channel's URI needs already in place. It is
// made once for a subscription and only read.
type Envelope struct {
	Before, After, Last []byte
}

// Fragmenter cuts one serialized message into frames (AHP core, 12.4).
type Fragmenter struct {
	rest []byte
	env  Envelope
	room int // code units of escaped text in each frame
}

// NewFragmenter prepares to cut msg, which it reads until the last frame was
// appended. maxFrame is the receiver's limit for a frame's complete text. The
// shorter room of a final frame is used for all: that costs a few characters a
// frame and spares a second way to cut.
func NewFragmenter(msg []byte, env Envelope, maxFrame int64) (Fragmenter, error) {
	if len(msg) == 0 || !utf8.Valid(msg) {
		return Fragmenter{}, fmt.Errorf("cut a message of %d bytes: %w", len(msg), ErrText)
	}
	around := units(env.Before) + max(units(env.After), units(env.Last))
	room := min(maxFrame/2-int64(around), math.MaxInt32)
	if room < maxEscape {
		return Fragmenter{}, fmt.Errorf("cut into frames of %d bytes around %d: %w", maxFrame, 2*around, ErrNoRoom)
	}
	return Fragmenter{rest: msg, env: env, room: int(room)}, nil
}

// Done reports whether the final frame was appended.
func (f *Fragmenter) Done() bool { return len(f.rest) == 0 }

// AppendNext appends the complete text of the next frame to dst and returns the
// result with the frame's size, which is at most the limit. After the final
// frame it returns dst and zero.
func (f *Fragmenter) AppendNext(dst []byte) (out []byte, size int64) {
	if f.Done() {
		return dst, 0
	}
	start := len(dst)
	dst = append(dst, f.env.Before...)
	dst, n := appendEscaped(dst, f.rest, f.room)
	f.rest = f.rest[n:]
	if f.Done() {
		f.rest = nil
		dst = append(dst, f.env.Last...)
	} else {
		dst = append(dst, f.env.After...)
	}
	return dst, Size(dst[start:])
}
