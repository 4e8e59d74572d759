package flow

// Reassembler joins the pieces of one message at a time, for one direction of
// one subscription. Order is the transport's, so pieces carry no numbers, and
// only a final one completes a message (AHP core, 12.4). The zero Reassembler
// accepts nothing.
type Reassembler struct {
	ceiling int64
	buf     []byte
}

// NewReassembler returns an empty one that refuses messages of more than ceiling
// bytes of UTF-8. There is no negotiated limit for a complete message, so the
// ceiling is the receiver's own choice (AHP core, 12.5).
func NewReassembler(ceiling int64) Reassembler { return Reassembler{ceiling: ceiling} }

// Add takes the decoded text of one frame and returns the complete message with
// the final one, otherwise nil. piece is copied; the message is the caller's.
// Memory follows the bytes received. An empty piece, or one that would pass the
// ceiling, is a Violation: the subscription ends and Discard gives up the rest.
//
// Once Add has copied a piece, the frame's size may be released (AHP core, 12.5).
func (r *Reassembler) Add(piece []byte, final bool) (msg []byte, err error) {
	if len(piece) == 0 {
		return nil, violation(PieceEmpty, 0, 0)
	}
	if total := int64(len(r.buf)) + int64(len(piece)); total > r.ceiling {
		return nil, violation(MessageTooLarge, total, r.ceiling)
	}
	r.buf = append(r.buf, piece...)
	if !final {
		return nil, nil
	}
	msg, r.buf = r.buf, nil
	return msg, nil
}

// Whole must be asked when a data message arrives that is not a frame: between
// two pieces it is a Violation (AHP core, 12.4). Control passes at any time.
func (r *Reassembler) Whole() error {
	if len(r.buf) > 0 {
		return violation(MessageInterrupted, 0, 0)
	}
	return nil
}

// Buffered returns the bytes held of an incomplete message.
func (r *Reassembler) Buffered() int { return len(r.buf) }

// Discard forgets an incomplete message, as when the subscription ends or
// reconnects (AHP core, 12.6).
func (r *Reassembler) Discard() { r.buf = nil }

// Kind says what a message is to windowed delivery.
type Kind uint8

// The kinds (AHP core, 12.2).
const (
	// Data is a notification that is counted and may come in frames.
	Data Kind = iota + 1
	// Frame is a piece of a data message: counted, never itself in pieces.
	Frame
	// Control is everything else: not counted, never in frames.
	Control
)

// CheckInner tests a message that came in the frames of channel outer, once the
// caller has read its kind and its channel: it must be data of that very channel
// (AHP core, 12.4). Anything else is a Violation.
func CheckInner(outer string, kind Kind, inner string) error {
	switch {
	case kind == Frame:
		return violation(InnerFrame, 0, 0)
	case kind != Data:
		return violation(InnerNotData, 0, 0)
	case inner != outer:
		return violation(InnerForeign, 0, 0)
	}
	return nil
}
