package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Call is a call that was admitted here and runs. Its methods may be called
// concurrently.
type Call struct {
	e        *Engine
	id       string
	ack      Ack
	deadline time.Time
	expired  chan struct{}
	stream   stream

	mu     sync.Mutex
	silent bool
	ended  bool
	report Report
}

func newCall(e *Engine, rec *call) *Call {
	c := &Call{e: e, id: rec.ID, ack: rec.Ack, deadline: rec.Deadline, expired: make(chan struct{})}
	c.stream = newStream(c, rec)
	return c
}

// ID is the durable name of the call.
func (c *Call) ID() string { return c.id }

// Ack is what the caller is to be told before the tool starts.
func (c *Call) Ack() Ack { return c.ack }

// Deadline is when the engine ends the call as timed out.
func (c *Call) Deadline() time.Time { return c.deadline }

// Expired is closed when the deadline has passed and the engine has ended the
// call. The edge cancels the tool and answers a client that is still there with
// the report that Finish returns.
func (c *Call) Expired() <-chan struct{} { return c.expired }

// Detach says that the client has gone: nothing can be reported to it any more.
func (c *Call) Detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = true
}

// Attach says that the client is back, as on a stream that is resumed.
func (c *Call) Attach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = false
}

func (c *Call) isSilent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent
}

// Progress reports something the tool has said while it runs, any JSON value.
// Reports that follow one another too fast are folded, the newest wins.
func (c *Call) Progress(ctx context.Context, progress jsontext.Value) error {
	return c.stream.add(ctx, progress)
}

// Finish ends the call: commit 2, the outcome and its deliveries in one
// transaction. The response may be written when it has returned. When another
// terminal trigger was first, the report names that one and is marked Late. An
// error means that nothing was committed; Finish may be called again.
func (c *Call) Finish(ctx context.Context, end End) (Report, error) {
	if !end.Trigger.Terminal() {
		return Report{}, fmt.Errorf("%q does not end a call", end.Trigger)
	}
	end.Silent = end.Silent || c.isSilent()
	c.stream.stop()
	c.e.crash("before-finish")
	report, err := c.e.finish(ctx, c.id, end)
	if err != nil {
		return Report{}, fmt.Errorf("end call %s: %w", c.id, err)
	}
	c.e.crash("after-finish")
	c.settle(report)
	return report, nil
}

// Supersede closes the record of a call whose result asks for input: it fires
// nothing, the retry is a call of its own (notifications, 5.1).
func (c *Call) Supersede(ctx context.Context) error {
	c.stream.stop()
	err := c.e.update(ctx, func(tx Tx) error {
		rec, err := get[call](tx, Calls, c.id)
		if err != nil || rec.State != callRunning {
			return err
		}
		rec.State, rec.Owner, rec.Ended, rec.Deadline = callSuperseded, "", time.Now(), time.Time{}
		return putCall(tx, rec)
	})
	if err != nil {
		return fmt.Errorf("supersede call %s: %w", c.id, err)
	}
	c.settle(Report{Ack: c.ack})
	return nil
}

// Report is what became of the call; ok is false while it runs.
func (c *Call) Report() (r Report, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report, c.ended
}

// settle keeps the report of whoever ended the call. It reports whether this is
// the first that the edge can hear of it.
func (c *Call) settle(r Report) bool {
	c.e.alarms.clear(c.id)
	c.e.drop(c.id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.ended, c.report = true, r
	return true
}

// expire ends the call at its deadline (notifications, 5.2).
func (c *Call) expire(ctx context.Context) {
	c.stream.stop()
	end := endTimedOut()
	end.Silent = c.isSilent()
	report, err := c.e.finish(ctx, c.id, end)
	switch {
	case errors.Is(err, ErrNotFound):
		return
	case err != nil:
		c.e.log.Error("a deadline could not be committed; it is tried again", "call", c.id, "err", err)
		c.arm(time.Now().Add(time.Second))
		return
	}
	if c.settle(report) {
		close(c.expired)
	}
}

func (c *Call) arm(at time.Time) { c.e.alarms.set(c.id, at, c.expire) }

// adopt lets the engine look after a call.
func (e *Engine) adopt(c *Call) {
	e.mu.Lock()
	e.calls[c.id] = c
	e.mu.Unlock()
	c.arm(c.deadline)
}

func (e *Engine) drop(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.calls, id)
}
