package notify

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options of an engine. Store, Secrets and Types are needed, the rest has
// defaults.
type Options struct {
	Store   Store // closed by whoever opened it, after the engine
	Secrets Secrets
	Types   []RouteType
	Limits  Limits
	Mask    MaskFunc // nil: only the patterns for credentials
	// Authorized is asked before each attempt; a principal that is not any more
	// gets nothing. nil: everybody is.
	Authorized func(principal string) bool
	// RequireCapability refuses a configuration of a client that did not declare
	// the capability (notifications, A-1).
	RequireCapability bool
	Log               *slog.Logger          // nil: none
	Metrics           prometheus.Registerer // nil: none
	Poll              time.Duration         // how often the store is looked at for what others left: 1 s
	// Lease is how long a process may be silent before the others on the store
	// take over what it had in work: 10 s. It is measured by their own clocks,
	// so a machine that slept takes nothing away from anybody.
	Lease  time.Duration
	Jitter func() float64 // in [0, 1); nil: random
}

// Engine is the notification engine of one process. All methods may be called
// concurrently.
type Engine struct {
	opts    Options
	limits  Limits
	store   Store
	types   map[string]RouteType
	log     *slog.Logger
	metrics *metrics
	owner   string // this engine's name among those on the store

	life context.Context // ends when attempts are to be given up
	stop context.CancelFunc
	work sync.WaitGroup // loops, attempts, verifications, alarms

	closing chan struct{} // closed when nothing new is admitted or started
	closed  sync.Once

	dispatch *dispatcher
	alarms   *alarms
	lost     lostOwners

	mu      sync.Mutex
	calls   map[string]*Call // running, admitted here
	failing error            // of the last commit, nil if it went well
}

// ErrClosed is returned by an engine that is shutting down.
var ErrClosed = errors.New("the notification engine is shutting down")

// New starts an engine. It ends with Shutdown, or at once when ctx ends; only
// Shutdown waits for its goroutines.
func New(ctx context.Context, o Options) (*Engine, error) {
	if o.Store == nil || o.Secrets == nil || len(o.Types) == 0 {
		return nil, errors.New("notify: Store, Secrets and Types are needed")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	def(&o.Poll, time.Second)
	def(&o.Lease, 10*time.Second)
	e := &Engine{
		opts: o, limits: o.Limits.withDefaults(), store: o.Store, log: o.Log, owner: newID(ownerPrefix),
		types: make(map[string]RouteType), calls: make(map[string]*Call), closing: make(chan struct{}),
	}
	for _, t := range o.Types {
		e.types[t.Name()] = t
	}
	e.life, e.stop = context.WithCancel(ctx)
	e.metrics = newMetrics(o.Metrics)
	e.dispatch = newDispatcher(e)
	e.alarms = newAlarms(e)
	if err := e.beat(e.life, 0); err != nil {
		e.stop()
		return nil, err
	}
	e.work.Go(e.dispatch.loop)
	e.work.Go(e.alarms.loop)
	e.work.Go(e.leaseLoop)
	e.work.Go(e.janitorLoop)
	return e, nil
}

// Shutdown stops admitting, waits for attempts in flight until ctx ends, ends
// the calls that are still running as interrupted, and leaves what is due to the
// next engine on the store.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.closed.Do(func() { close(e.closing) })
	e.dispatch.drain(ctx)
	e.stop()
	e.work.Wait()
	return e.release(context.WithoutCancel(ctx))
}

// Types are the route types a principal may use, of those the connection can
// carry; nil names all. They are what is advertised as supportedRouteTypes.
func (e *Engine) Types(principal string, of []string) []string {
	names := []string{}
	for _, t := range e.opts.Types {
		if t.Admits(principal) && (of == nil || slices.Contains(of, t.Name())) {
			names = append(names, t.Name())
		}
	}
	return names
}

// Health returns nil when the engine keeps its promises: commits succeed and
// nothing due is more than five minutes late.
func (e *Engine) Health(ctx context.Context) error {
	e.mu.Lock()
	err := e.failing
	e.mu.Unlock()
	if err != nil {
		return err
	}
	return e.overdue(ctx)
}

// update runs a transaction and remembers whether commits work.
func (e *Engine) update(ctx context.Context, fn func(Tx) error) error {
	var own error
	err := e.store.Update(ctx, func(tx Tx) error {
		own = fn(tx)
		return own
	})
	switch {
	case err == nil:
		e.healthy(nil)
	case own == nil && ctx.Err() == nil:
		e.metrics.commitFailures.Inc()
		e.log.Error("notification store refuses a commit; notifications cannot be promised until it does not", "err", err)
		e.healthy(err)
	}
	return err
}

func (e *Engine) healthy(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failing = err
}

func (e *Engine) isClosing() bool {
	select {
	case <-e.closing:
		return true
	default:
		return false
	}
}

func (e *Engine) authorized(principal string) bool {
	return e.opts.Authorized == nil || e.opts.Authorized(principal)
}
