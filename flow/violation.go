package flow

import "fmt"

// Breach names a rule the peer broke. It ends the subscription, or the
// connection where no other end exists; nothing is dropped or cut to go on
// (AHP core, 12.4). It is an error to compare with errors.Is, and its text is
// fit to name a counter.
type Breach uint8

// The rules, all of AHP core, 12.
const (
	// LimitsInvalid is a window below MinWindowBytes or a frame limit below
	// MinFrameBytes (12.1).
	LimitsInvalid Breach = iota + 1
	// LimitsRaised is an accepted limit above the one offered (12.3).
	LimitsRaised
	// CreditNegative is a credit below zero (12.5).
	CreditNegative
	// CreditBeyondSent is a credit for more than was sent (12.5).
	CreditBeyondSent
	// CreditOffBoundary is a new credit that ends inside a wire message (12.5).
	CreditOffBoundary
	// FrameTooLarge is a data message above the frame limit (12.1).
	FrameTooLarge
	// WindowExceeded is a data message begun while the window was full (12.1).
	WindowExceeded
	// PieceEmpty is a frame without data (12.4).
	PieceEmpty
	// MessageTooLarge is a message in pieces above the receiver's ceiling (12.5).
	MessageTooLarge
	// MessageInterrupted is another data message between two pieces (12.4).
	MessageInterrupted
	// InnerFrame is a frame that came in frames (12.4).
	InnerFrame
	// InnerNotData is what is never framed, such as a credit, in frames (12.2).
	InnerNotData
	// InnerForeign is a message in the frames of another channel (12.4).
	InnerForeign
)

var breaches = [...]string{
	LimitsInvalid:      "limits invalid",
	LimitsRaised:       "limits raised",
	CreditNegative:     "credit negative",
	CreditBeyondSent:   "credit beyond sent",
	CreditOffBoundary:  "credit off boundary",
	FrameTooLarge:      "frame too large",
	WindowExceeded:     "window exceeded",
	PieceEmpty:         "piece empty",
	MessageTooLarge:    "message too large",
	MessageInterrupted: "message interrupted",
	InnerFrame:         "inner frame",
	InnerNotData:       "inner not data",
	InnerForeign:       "inner foreign",
}

// Error returns the name of the rule.
func (b Breach) Error() string {
	if int(b) < len(breaches) && breaches[b] != "" {
		return breaches[b]
	}
	return fmt.Sprintf("breach %d", uint8(b))
}

// Violation is a breach with the two numbers that show it. It holds nothing a
// peer wrote, so it may be logged.
type Violation struct {
	Breach Breach
	Got    int64 // what the peer did; 0 where the rule has no number
	Limit  int64 // what was allowed
}

// Error names the rule and both numbers.
func (v *Violation) Error() string {
	if v.Got == 0 && v.Limit == 0 {
		return "flow: " + v.Breach.Error()
	}
	return fmt.Sprintf("flow: %v: got %d, limit %d", v.Breach, v.Got, v.Limit)
}

// Unwrap returns the breach.
func (v *Violation) Unwrap() error { return v.Breach }

func violation(b Breach, got, limit int64) error {
	return &Violation{Breach: b, Got: got, Limit: limit}
}
