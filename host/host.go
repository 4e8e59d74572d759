package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"
)

// Options of a host. The zero value is a host with the default limits, one user
// and no log.
type Options struct {
	Features []Feature
	Policy   Policy // nil: AllowAll
	Limits   Limits
	// Store keeps what happens; nil: nothing does. One that is a
	// journal.Archive also gives the host its past. The host closes it.
	Store journal.Store
	// SyncEvery is how often the store is made to survive the loss of power.
	SyncEvery        time.Duration
	Retention        Retention
	Log              *slog.Logger // never receives payloads; nil: discarded
	Info             ahp.Implementation
	DefaultDirectory ahp.URI // where clients begin to browse files
}

// Host is an AHP host. Its methods may be called concurrently.
type Host struct {
	limits           Limits
	limitHits        *prometheus.CounterVec
	relayHits        relayHits
	policy           Policy
	log              *slog.Logger
	info             ahp.Implementation
	defaultDirectory ahp.URI
	features         []Feature
	registry         *Registry
	members          jsontext.Value // members of InitializeResult that features added
	metrics          *metrics
	traffic          *traffic
	began            time.Time
	journal          *journal.Journal
	retention        Retention
	store            journal.Store   // nil: nothing is stored
	archive          journal.Archive // nil: no channel outlives the process
	lost             []journal.Range // numbers shown to somebody, and lost with the power
	unfinished       []ahp.URI       // channels an earlier process left with open work
	cursors          cursors
	encodings        chan struct{} // a slot per snapshot being encoded
	cuts             cuts
	commits          commits
	observers        observers

	ctx      context.Context
	cancel   context.CancelCauseFunc
	wg       sync.WaitGroup // effects
	stopping chan struct{}  // closed when Shutdown begins

	seq      sequencer
	root     *channel
	lineages lineages // guarded by the sequencer's lock

	inspector   inspector
	healthyHold time.Duration // HealthyHold, but for tests

	// mu guards the set of connections and that of private channels. Only the
	// outbox of a connection may be locked inside (docs/LOCKS.md).
	mu        sync.Mutex
	conns     map[*Conn]struct{}
	private   map[ahp.URI]*Stream // every private channel, so that a URI is used once
	lastConn  uint64
	closing   bool
	drained   chan struct{} // closed when the last connection has gone
	idleSince time.Time
}

// New makes a host and starts its features. Shutdown ends it; ctx ending is
// not a shutdown, it only stops effects and features at once.
func New(ctx context.Context, opts Options) (*Host, error) {
	h := &Host{
		limits: opts.Limits.withDefaults(), policy: opts.Policy, log: opts.Log, info: opts.Info,
		defaultDirectory: opts.DefaultDirectory, features: opts.Features, registry: newRegistry(),
		metrics: newMetrics(), began: time.Now(), healthyHold: HealthyHold, conns: make(map[*Conn]struct{}), private: make(map[ahp.URI]*Stream), idleSince: time.Now(), stopping: make(chan struct{}),
	}
	if h.policy == nil {
		h.policy = AllowAll{}
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.seq.mu.began, h.seq.mu.holds = h.began, h.metrics.hold
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	h.cuts.maxBytes = h.limits.WindowTextBytes
	h.encodings = make(chan struct{}, h.limits.SnapshotEncodings)
	h.cursors.key = make([]byte, 32)
	rand.Read(h.cursors.key) // never fails (crypto/rand)
	h.lineages = newLineages(h.limits.ReconnectGrace, h.limits.RememberedClients)
	h.lineages.reached = h.LimitReached
	h.store, h.retention = opts.Store, opts.Retention
	past, err := h.recall(opts.Store)
	if err != nil {
		h.cancel(err)
		return nil, errors.Join(err, opts.Store.Close())
	}
	h.journal = journal.New(journal.Options{
		Store: opts.Store, RingRecords: h.limits.RingRecords, RingBytes: h.limits.RingBytes,
		Start: past.Seq, Oldest: past.Oldest, Newest: past.Newest, SyncEvery: opts.SyncEvery,
		Committed: func(seq uint64) { h.commits.committed(seq) },
		Wrote:     h.metrics.wrote,
		Failed: func(err error) {
			h.metrics.storeFailures.Inc()
			h.log.Error("the journal cannot be written; the host tries again", "err", err)
		},
	})
	h.commits.journal, h.commits.moved = h.journal, make(chan struct{})
	h.commits.overrun = (*Conn).overrun
	if err := h.start(past); err != nil {
		h.cancel(err)
		return nil, errors.Join(err, h.journal.Close())
	}
	return h, nil
}

// start registers and starts the features.
func (h *Host) start(past *journal.Recovery) error {
	if err := h.registerRoot(h.registry); err != nil {
		return err
	}
	for _, f := range h.features {
		if err := f.Register(h.registry); err != nil {
			return fmt.Errorf("register feature: %w", err)
		}
	}
	h.countLimits()
	h.traffic = newTraffic(h, h.registry)
	h.metrics.registry.MustRegister(h.traffic.in, h.traffic.out, newGauges(h))
	h.observers.list, h.observers.moved = h.registry.observers, make(chan struct{})
	if err := h.encodeMembers(); err != nil {
		return err
	}
	h.seq.channels, h.seq.sessions = make(map[ahp.URI]*channel), make(map[*channel]struct{})
	h.seq.dirty, h.seq.awake, h.seq.census = make(map[*channel]struct{}), make(map[*channel]struct{}), newCensus()
	if err := h.restore(past); err != nil {
		return err
	}
	for i, f := range h.features {
		if err := f.Start(h.ctx, h); err != nil {
			h.stopFeatures(h.ctx, h.features[:i])
			return fmt.Errorf("start feature: %w", err)
		}
	}
	h.startKeeper()
	h.startWatch(h.store)
	return nil
}

// encodeMembers encodes what features add to InitializeResult.
func (h *Host) encodeMembers() error {
	if len(h.registry.meta) > 0 {
		meta, err := ahp.Marshal(h.registry.meta)
		if err != nil {
			return fmt.Errorf("encode initialize _meta: %w", err)
		}
		h.registry.members["_meta"] = meta
	}
	if len(h.registry.members) == 0 {
		return nil
	}
	raw, err := ahp.Marshal(h.registry.members)
	if err != nil {
		return fmt.Errorf("encode initialize members: %w", err)
	}
	h.members = raw
	return nil
}

// Idle reports since when no connection is open; it is false while one is.
func (h *Host) Idle() (since time.Time, idle bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.idleSince, len(h.conns) == 0
}

// Seq is the last serverSeq given out.
func (h *Host) Seq() uint64 {
	h.seq.mu.Lock()
	defer h.seq.mu.Unlock()
	return h.seq.seq
}

// Shutdown ends the host: no new connections, features stop, outboxes drain
// within their limit, connections close, everything is waited for. When ctx
// ends first the rest is cut short; the error then says so.
func (h *Host) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if h.closing {
		h.mu.Unlock()
		return nil
	}
	h.closing = true
	close(h.stopping)
	drained := make(chan struct{})
	if len(h.conns) == 0 {
		close(drained)
	} else {
		h.drained = drained
	}
	conns := h.connsLocked()
	h.mu.Unlock()

	for _, c := range conns {
		c.deaf.Store(true)
	}
	h.stopFeatures(ctx, h.features)
	for _, c := range conns {
		c.failAfterFlush(CloseShutdown, nil)
	}
	err := h.drain(ctx, drained, conns)
	h.cancel(CloseShutdown)
	h.wg.Wait()
	h.keepAll(ctx)
	h.inspector.loops.wait()
	return errors.Join(err, h.journal.Close())
}

func (h *Host) connsLocked() []*Conn {
	list := make([]*Conn, 0, len(h.conns))
	for c := range h.conns {
		list = append(list, c)
	}
	return list
}

// drain waits for the connections to send what they have, and ends those that
// take too long.
func (h *Host) drain(ctx context.Context, drained chan struct{}, conns []*Conn) error {
	limit := time.NewTimer(h.limits.ShutdownFlush)
	defer limit.Stop()
	var err error
	select {
	case <-drained:
		return nil
	case <-limit.C:
		h.LimitReached(limitFlush)
	case <-ctx.Done():
		err = fmt.Errorf("shutdown was cut short: %w", context.Cause(ctx))
	}
	for _, c := range conns {
		c.fail(CloseShutdown, nil)
	}
	<-drained
	return err
}

func (h *Host) stopFeatures(ctx context.Context, features []Feature) {
	for i := len(features) - 1; i >= 0; i-- {
		if err := features[i].Stop(ctx); err != nil {
			h.log.Warn("stop feature", "err", err)
		}
	}
}

// mapError decides what of an error leaves the host: an error of the protocol
// as it is, anything else as an internal error with an id that the log knows.
func mapError(err error, log func() *slog.Logger) *ahp.Error {
	var wire *ahp.Error
	if errors.As(err, &wire) {
		return wire
	}
	id := rand.Text()[:8]
	log().Error("internal error", "id", id, "err", err)
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error; the host's log has it as %s", id)
}

func (h *Host) panicked(v any, stack []byte, log *slog.Logger) {
	h.metrics.panics.Inc()
	log.Error("panic in a handler", "panic", fmt.Sprint(v), "stack", string(stack))
}

// recovered contains a panic of a feature outside of a request.
func (h *Host) recovered(where string, channel ahp.URI) {
	if v := recover(); v != nil {
		h.metrics.panics.Inc()
		h.log.Error("panic", "in", where, "channel", channel, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	}
}
