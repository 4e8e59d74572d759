package flow

import (
	"errors"
	"fmt"
)

// Errors of a sender that did not ask first. Nothing a peer sends causes them.
var (
	// ErrWindowFull is a charge while the window is full.
	ErrWindowFull = errors.New("flow: window is full")
	// ErrBadSize is a charge that is not positive or above the frame limit.
	ErrBadSize = errors.New("flow: not the size of a wire message")
)

// Window is the sender's end of one direction of a subscription. The zero Window
// lets nothing start.
type Window struct {
	limits   Limits
	sent     int64 // charged since the subscription or the reconnect began
	credited int64 // of these, released by the receiver as far as we were told
	bounds   boundaries
}

// NewWindow returns a window with nothing outstanding, for a receiver with these
// valid limits. A reconnect begins a new one (AHP core, 12.6).
func NewWindow(limits Limits) Window { return Window{limits: limits} }

// CanStart reports whether the next data message or frame may start. Its size
// does not matter: the one that starts below the window may cross it (AHP core,
// 12.1).
func (w *Window) CanStart() bool { return w.Outstanding() < w.limits.WindowBytes }

// Outstanding returns the bytes charged and not yet credited.
func (w *Window) Outstanding() int64 { return w.sent - w.credited }

// Sent returns the bytes charged so far.
func (w *Window) Sent() int64 { return w.sent }

// Limits returns the receiver's limits.
func (w *Window) Limits() Limits { return w.limits }

// Charge takes room for one wire message of that size, before it is queued (AHP
// core, 12.4). Messages go out in the order in which they were charged. An error
// means that it must not be sent.
func (w *Window) Charge(size int64) error {
	if size <= 0 || !w.limits.Fits(size) {
		return fmt.Errorf("charge %d bytes, frame limit %d: %w", size, w.limits.MaxFrameBytes, ErrBadSize)
	}
	if !w.CanStart() {
		return fmt.Errorf("charge %d bytes, outstanding %d of %d: %w", size, w.Outstanding(), w.limits.WindowBytes, ErrWindowFull)
	}
	w.sent += size
	w.bounds.push(size)
	return nil
}

// Credit believes the receiver that it released consumed bytes since the
// beginning, and returns how many of these are news. A value that is not above
// the last one is harmless; one beyond what was sent, or inside a wire message,
// is a Violation (AHP core, 12.5).
func (w *Window) Credit(consumed int64) (freed int64, err error) {
	switch {
	case consumed < 0:
		return 0, violation(CreditNegative, consumed, w.credited)
	case consumed <= w.credited:
		return 0, nil
	case consumed > w.sent:
		return 0, violation(CreditBeyondSent, consumed, w.sent)
	}
	freed, at := w.bounds.fit(consumed - w.credited)
	if w.credited+freed != consumed {
		return 0, violation(CreditOffBoundary, consumed, w.credited+freed)
	}
	w.bounds.dropTo(at)
	w.credited = consumed
	return freed, nil
}
