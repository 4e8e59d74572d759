package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// Client is one logical client of one host, over as many connections as it
// takes. All its methods may be called concurrently.
type Client struct {
	opts             Options
	dial             DialFunc
	firstMustSucceed bool

	ctx    context.Context // the life of the client; its cause is ErrClosed
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // every goroutine of the client

	live atomic.Pointer[link] // link, unless the client is closed: set with the lock

	// mu guards everything below, the machines of all channels and the queues
	// of watchers included. It is held for no I/O, no callback and no decoding.
	mu            sync.Mutex
	closed        bool
	status        Status
	statusChanged broadcast
	link          *link // nil unless live
	known         bool  // the host has a lineage to reconnect to
	info          *ahp.InitializeResult
	channels      map[ahp.URI]*channel
	clientSeq     uint64 // the last one given to an action
	lastSeen      uint64 // the highest serverSeq received (AHP core, 8.1)
	unheard       int    // handshakes in a row that were lost before their answer
	apart         bool   // the next handshake names no channel: see apart.go
	pending       int    // actions without an outcome
	listeners     map[string][]*listener
	lists         map[*SessionList]struct{}
	registrations map[*Registration]struct{}
	credentials   map[string]*Credential // by resource; pushed on every connection
	asking        map[string]bool        // resources for which Options.Token runs
	stats         Stats
}

// Stats counts what is out of the ordinary.
type Stats struct {
	Connections    uint64 // handshakes completed
	Replays        uint64 // reconnects answered by replay
	Snapshots      uint64 // reconnects answered by snapshots
	Initializes    uint64 // handshakes that began a new lineage
	SlowReaders    uint64 // times a range over updates did not keep up
	Unroutable     uint64 // envelopes for channels nobody subscribes
	Malformed      uint64 // envelopes or states that could not be read
	QueueOverflows uint64 // messages refused because too much waited
	Unsent         uint64 // requests that were dropped before they were written
	Pending        int    // actions without an outcome now
}

func newClient(ctx context.Context, dial DialFunc, opts Options) *Client {
	c := &Client{
		opts: opts.withDefaults(), dial: dial,
		status:    Status{State: Connecting, Since: time.Now()},
		channels:  make(map[ahp.URI]*channel),
		listeners: make(map[string][]*listener),
		lists:     make(map[*SessionList]struct{}),

		registrations: make(map[*Registration]struct{}),
		credentials:   make(map[string]*Credential), asking: make(map[string]bool),
	}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return c
}

func (c *Client) start() { c.wg.Go(c.connectLoop) }

// ID is the client's id as it stands in the origin of its actions.
func (c *Client) ID() string { return c.opts.ClientID }

// HostInfo is what the host said of itself at the last initialize; nil before
// the first connection. It must not be modified.
func (c *Client) HostInfo() *ahp.InitializeResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.info
}

// Stats returns the counters.
func (c *Client) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Pending = c.pending
	return s
}

// Close ends the client and waits for its goroutines. Requests fail with a
// *LostError, actions that were sent with ErrUnknownOutcome, others with
// ErrNotSent; ranges over updates end with ErrClosed. What has not been written
// yet is not sent any more: wait for what matters first. It returns nil always.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.live.Store(nil)
	c.mu.Unlock()
	c.cancel(ErrClosed)
	c.wg.Wait()
	return nil
}

// goLocked starts a goroutine that Close waits for, unless the client is closed.
func (c *Client) goLocked(f func()) {
	if !c.closed {
		c.wg.Go(f)
	}
}

// connectLoop makes one connection after the other.
func (c *Client) connectLoop() {
	b := backoff{min: c.opts.BackoffMin, max: c.opts.BackoffMax}
	for {
		lived, err := c.connect()
		switch {
		case c.ctx.Err() != nil:
			c.finish(Status{State: Closed, Since: time.Now()}, ErrClosed)
			return
		case IsPermanent(err) || c.firstMustSucceed && lived == 0 && c.neverLive():
			c.finish(Status{State: GivenUp, Since: time.Now(), Err: err}, givenUp(err))
			return
		}
		if lived >= c.opts.HealthyAfter {
			b.reset()
		}
		wait := b.next()
		c.failed(err, wait)
		if !pause(c.ctx, wait) {
			c.finish(Status{State: Closed, Since: time.Now()}, ErrClosed)
			return
		}
		c.retrying()
	}
}

// connect makes one connection, serves it to its end and tells how long it was
// live.
func (c *Client) connect() (lived time.Duration, err error) {
	t, err := c.dial(c.ctx)
	if err != nil {
		return 0, err
	}
	l := newLink(c, t)
	err = l.serve()
	if !l.liveAt.IsZero() {
		lived = max(1, time.Since(l.liveAt))
	}
	return lived, err
}

func (c *Client) neverLive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats.Connections == 0
}

// failed notes a failed attempt or a lost connection, and when the next attempt
// begins.
func (c *Client) failed(err error, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lostLocked(err)
	s := c.status
	s.Attempts++
	s.Retry = time.Now().Add(wait)
	c.setStatusLocked(s)
	c.opts.Log.Debug("not connected", "attempts", s.Attempts, "retry_in", wait, "err", err)
}

func (c *Client) retrying() {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.status
	s.Retry = time.Time{}
	c.setStatusLocked(s)
}

// finish ends everything with a final status.
func (c *Client) finish(s Status, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setStatusLocked(s)
	for _, ch := range c.channels {
		c.goneLocked(ch, err)
	}
	for list := range c.lists {
		list.endLocked(err)
	}
	for r := range c.registrations {
		r.err = err
		r.changed.signal()
	}
}
