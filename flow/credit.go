package flow

import (
	"errors"
	"fmt"
)

// ErrBadRelease is a release of more than was received, or of a negative amount:
// a mistake of the consumer, never of the peer.
var ErrBadRelease = errors.New("flow: released what was not received")

// Credit is the receiver's end of one direction of a subscription. The zero
// Credit accepts nothing.
//
// A consumer may release in any order and in portions (a fragment moves into the
// reassembly buffer while an earlier message still waits; a socket takes half a
// message). The amount is what the budget is about, and the value on the wire is
// that amount rounded down to the end of a wire message, because the sender
// accepts no other (AHP core, 12.5).
type Credit struct {
	limits   Limits
	received int64
	released int64
	floor    int64 // the last end of a wire message within released
	credited int64 // the last value handed out by Take
	bounds   boundaries
}

// NewCredit returns an end that has received nothing, with the valid limits the
// peer was told. A reconnect begins a new one (AHP core, 12.6).
func NewCredit(limits Limits) Credit { return Credit{limits: limits} }

// Held returns the bytes received and not yet released.
func (c *Credit) Held() int64 { return c.received - c.released }

// Limits returns the limits the peer was told.
func (c *Credit) Limits() Limits { return c.limits }

// Receive counts one wire message of data as it arrives. A message above the
// frame limit, or begun while the window was full, is a Violation. The sender
// cannot have seen more credit than Take handed out, so a sender that keeps the
// rule is never accused.
func (c *Credit) Receive(size int64) error {
	if size <= 0 || !c.limits.Fits(size) {
		return violation(FrameTooLarge, size, c.limits.MaxFrameBytes)
	}
	if outstanding := c.received - c.credited; outstanding >= c.limits.WindowBytes {
		return violation(WindowExceeded, outstanding, c.limits.WindowBytes)
	}
	c.received += size
	c.bounds.push(size)
	return nil
}

// Release gives back n received bytes whose allocation the bounded consumer has
// given up: state reduced, bytes written or moved into another bounded buffer,
// an action rejected; not merely parsed or shown (AHP core, 12.5).
func (c *Credit) Release(n int64) error {
	if n < 0 || n > c.Held() {
		return fmt.Errorf("release %d of %d bytes: %w", n, c.Held(), ErrBadRelease)
	}
	c.released += n
	sum, at := c.bounds.fit(c.released - c.floor)
	c.bounds.dropTo(at)
	c.floor += sum
	return nil
}

// Take returns the cumulative value of the credit that is due now, and counts it
// as sent; ok is false if none is due. Credits are coalesced: one is due when a
// quarter of the window can be given back, and always when everything received
// was released, so that a sender which stops before its window is full (because
// the next message is large, say) does not wait for ever. Calling it once after
// several releases saves messages.
func (c *Credit) Take() (consumed int64, ok bool) {
	fresh := c.floor - c.credited
	if fresh <= 0 || c.Held() > 0 && fresh < c.quarter() {
		return 0, false
	}
	c.credited = c.floor
	return c.credited, true
}

// TakeQuarter is Take for a receiver that calls Take soon as well: a credit is due
// only when a quarter of the window can be given back. That suffices for a sender
// that waits because its window is full, which then has all of it outstanding.
func (c *Credit) TakeQuarter() (consumed int64, ok bool) {
	if c.floor-c.credited < c.quarter() {
		return 0, false
	}
	return c.Take()
}

// quarter of the window, rounded up, so that it is never zero.
func (c *Credit) quarter() int64 { return (c.limits.WindowBytes-1)/4 + 1 }
