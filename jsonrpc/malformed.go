package jsonrpc

import (
	"errors"
	"fmt"
	"time"
)

// A peer that sends MaxMalformed malformed messages within MalformedWindow is
// not speaking the protocol, and the connection should be closed.
const (
	MaxMalformed    = 10
	MalformedWindow = time.Minute
)

// malformedLimiter remembers when the last MaxMalformed came.
type malformedLimiter struct {
	times [MaxMalformed]time.Time
	next  int
}

// exceeded notes one malformed message and reports whether it is the one too
// many.
func (l *malformedLimiter) exceeded(now time.Time) bool {
	l.times[l.next] = now
	l.next = (l.next + 1) % MaxMalformed
	oldest := l.times[l.next]
	return !oldest.IsZero() && now.Sub(oldest) < MalformedWindow
}

// malformed answers a message that Scan refused with err. Every one is
// answered once, responses included, because a well-formed error never is; so
// two peers cannot keep each other busy. The answer names the id of a request.
// The id of a response is ours and would mean one of the peer's own requests
// to it, so null stands in its place, and the call it belongs to fails.
func (c *Conn) malformed(m Message, err error) error {
	c.stats.malformed.Add(1)
	answerTo := m.ID
	if m.Kind != KindRequest {
		answerTo = ID{}
		c.spoil(m.ID, err)
	}
	if err := c.respond(answerTo, nil, err); err != nil {
		return fmt.Errorf("send error: %w", err)
	}
	if errors.Is(err, ErrTooComplex) {
		return err
	}
	if c.garbage == nil {
		c.garbage = new(malformedLimiter)
	}
	if c.garbage.exceeded(time.Now()) {
		return fmt.Errorf("%w: %d within %v, the last: %w", ErrTooManyMalformed, MaxMalformed, MalformedWindow, err)
	}
	return nil
}

// spoil fails the call that a malformed response was meant for, so that its
// caller need not wait for a timeout. The reason becomes text: it is not an
// error the peer has sent.
func (c *Conn) spoil(id ID, reason error) {
	n, ok := id.looseNumber()
	if !ok {
		return
	}
	if p := c.take(n); p != nil {
		p.settle(nil, fmt.Errorf("%w to %s: %v", ErrBadResponse, p.method, reason))
	}
}
