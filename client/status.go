package client

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// State is the condition of a client's connection.
type State uint8

// The states of a connection.
const (
	// Connecting: the first connection is being made.
	Connecting State = iota
	// Live: the host answers; what is shown is current.
	Live
	// Reconnecting: the connection was lost. What is shown may be out of date.
	Reconnecting
	// GivenUp: no further attempt will be made. Final.
	GivenUp
	// Closed: the client was closed. Final.
	Closed
)

// String returns the name of the state.
func (s State) String() string {
	return [...]string{"connecting", "live", "reconnecting", "given up", "closed"}[s]
}

// Status tells the truth about a client's connection.
type Status struct {
	State State
	// Since is when the state began. While reconnecting, it is when the
	// connection was lost, however many attempts were made since.
	Since time.Time
	// Err is why: the loss or the last failed attempt while connecting or
	// reconnecting, the cause when given up. Nil when live.
	Err error
	// Attempts is how many attempts have failed since the state began.
	Attempts int
	// Retry is when the next attempt begins; zero while one is under way.
	Retry time.Time
}

// String describes the status in a few words for people.
func (s Status) String() string {
	if s.Err == nil {
		return s.State.String()
	}
	return fmt.Sprintf("%v: %v", s.State, s.Err)
}

// Status returns the state of the connection now.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Statuses yields the status now and then at every change, until ctx ends or
// after a final status. A reader that is slow misses what was in between, never
// the newest.
func (c *Client) Statuses(ctx context.Context) iter.Seq[Status] {
	return func(yield func(Status) bool) {
		for {
			c.mu.Lock()
			s, changed := c.status, c.statusChanged.wait()
			c.mu.Unlock()
			if !yield(s) || s.State >= GivenUp {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Ready waits until the connection is live. The error is that of ctx, or wraps
// ErrGivenUp or ErrClosed.
func (c *Client) Ready(ctx context.Context) error {
	for {
		c.mu.Lock()
		s, changed := c.status, c.statusChanged.wait()
		err := c.overLocked()
		c.mu.Unlock()
		if s.State == Live || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// overLocked is the error everything fails with once the client is over.
func (c *Client) overLocked() error {
	switch c.status.State {
	case GivenUp:
		return givenUp(c.status.Err)
	case Closed:
		return ErrClosed
	}
	return nil
}

func (c *Client) setStatusLocked(s Status) {
	if c.status.State >= GivenUp {
		return // final
	}
	c.status = s
	c.statusChanged.signal()
}

// lostLocked notes that the connection is gone or an attempt has failed.
func (c *Client) lostLocked(err error) {
	s := c.status
	if s.State == Live {
		s = Status{State: Reconnecting, Since: time.Now()}
	}
	s.Err = err
	c.setStatusLocked(s)
}

// broadcast wakes everybody who waits. The zero value is ready; its user holds a
// lock around all calls.
type broadcast struct{ ch chan struct{} }

// wait returns a channel that the next signal closes.
func (b *broadcast) wait() <-chan struct{} {
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) signal() {
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
