package flow

import "math"

// The least a peer may ask for (AHP core, 12.1).
const (
	MinWindowBytes = 1
	MinFrameBytes  = 1024
)

// Limits is what one end of a subscription is ready to receive, in the measure
// of Size (AHP core, 12.1). Each direction has its own.
type Limits struct {
	// WindowBytes is soft: a message may start below it, and then cross it.
	WindowBytes int64
	// MaxFrameBytes is hard: no wire message that carries data is larger.
	MaxFrameBytes int64
}

// Validate reports limits below what the protocol allows, as a Violation.
func (l Limits) Validate() error {
	if l.WindowBytes < MinWindowBytes {
		return violation(LimitsInvalid, l.WindowBytes, MinWindowBytes)
	}
	if l.MaxFrameBytes < MinFrameBytes {
		return violation(LimitsInvalid, l.MaxFrameBytes, MinFrameBytes)
	}
	return nil
}

// Fits reports whether a message of that size is sent whole (AHP core, 12.4).
func (l Limits) Fits(size int64) bool { return size <= l.MaxFrameBytes }

// Budget returns the most that can be outstanding, for which a receiver keeps
// room (AHP core, 12.1).
func (l Limits) Budget() int64 {
	if l.WindowBytes > math.MaxInt64-l.MaxFrameBytes {
		return math.MaxInt64
	}
	return l.WindowBytes + l.MaxFrameBytes - 1
}

// Lower answers an offer: each limit as offered, or own where that is lower
// (AHP core, 12.3). own must be valid, so the answer is. An invalid offer is a
// Violation.
//
// A sender bounds its own memory in the same way: it may always behave as if the
// peer had offered less.
func Lower(offer, own Limits) (Limits, error) {
	if err := offer.Validate(); err != nil {
		return Limits{}, err
	}
	return Limits{
		WindowBytes:   min(offer.WindowBytes, own.WindowBytes),
		MaxFrameBytes: min(offer.MaxFrameBytes, own.MaxFrameBytes),
	}, nil
}

// CheckAccepted reports, as a Violation, an answer that is invalid or above what
// was offered (AHP core, 12.3).
func CheckAccepted(offer, accepted Limits) error {
	if err := accepted.Validate(); err != nil {
		return err
	}
	if accepted.WindowBytes > offer.WindowBytes {
		return violation(LimitsRaised, accepted.WindowBytes, offer.WindowBytes)
	}
	if accepted.MaxFrameBytes > offer.MaxFrameBytes {
		return violation(LimitsRaised, accepted.MaxFrameBytes, offer.MaxFrameBytes)
	}
	return nil
}
