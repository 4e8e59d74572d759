package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/prometheus/client_golang/prometheus"
)

// Channels. That of logs has the lowest level in its name, as one of Levels.
const (
	LogsPrefix ahp.URI = ahp.OTLPPrefix + "/logs/"
	TracesURI  ahp.URI = ahp.OTLPPrefix + "/traces"
	MetricsURI ahp.URI = ahp.OTLPPrefix + "/metrics"
)

// Levels of logs, from the lowest.
var Levels = []string{"trace", "debug", "info", "warn", "error", "fatal"}

// Options of the feature. The zero value is complete.
type Options struct {
	// Version is that of the program, as it stands in what is sent.
	Version string
	// May says who may watch; nil: the local user.
	May func(p host.Principal) bool
	// Every is how often metrics are sent while somebody watches. Zero: 10 s.
	Every time.Duration
}

// Bounds of what waits to be sent.
const (
	maxWaiting = 1024                   // log records and spans; above it they are dropped
	gather     = 100 * time.Millisecond // how long one waits for others
)

// Feature implements host.Feature. It belongs last, so that it is told of what happens
// while the others stop.
type Feature struct {
	opts     Options
	resource resource
	host     *host.Host
	began    time.Time

	level   atomic.Int64 // the lowest slog level that is watched
	tracing atomic.Bool
	queue   chan any      // records and spans
	fresh   chan struct{} // a token: somebody new watches the metrics
	dropped *prometheus.CounterVec
	sent    *prometheus.CounterVec

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	spans spans

	mu       sync.Mutex
	watchers map[ahp.URI]map[*host.Conn]struct{}
}

var _ host.Feature = (*Feature)(nil)

// nobody is the level while no log is watched.
const nobody = math.MaxInt64

// New makes the feature.
func New(o Options) *Feature {
	if o.May == nil {
		o.May = func(p host.Principal) bool { return p == host.Local }
	}
	if o.Every <= 0 {
		o.Every = 10 * time.Second
	}
	f := &Feature{
		opts: o, began: time.Now(), queue: make(chan any, maxWaiting), fresh: make(chan struct{}, 1), watchers: make(map[ahp.URI]map[*host.Conn]struct{}),
		resource: resource{Attributes: []attribute{text("service.name", "causeway"), text("service.version", o.Version)}},
		dropped:  counter("telemetry_dropped_total", "Log records, spans and messages of telemetry that were dropped, because too much waited."),
		sent:     counter("telemetry_messages_total", "Messages of telemetry queued for their watchers."),
	}
	f.level.Store(nobody)
	return f
}

func counter(name, help string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "causeway", Name: name, Help: help}, []string{"signal"})
	for _, s := range []signal{logs, traces, metrics} {
		c.WithLabelValues(s.name)
	}
	return c
}

// Register implements host.Feature.
func (f *Feature) Register(r *host.Registry) error {
	channels, err := ahp.Marshal(struct {
		Logs    ahp.URI `json:"logs"`
		Metrics ahp.URI `json:"metrics"`
		Traces  ahp.URI `json:"traces"`
	}{LogsPrefix + "{level}", MetricsURI, TracesURI})
	if err != nil {
		return fmt.Errorf("encode the channels of telemetry: %w", err)
	}
	r.InitializeMember("telemetry", channels)
	r.Hooks(host.Hooks{Subscribed: f.subscribed, Unsubscribed: f.unsubscribed})
	r.Observe(host.Observer{Kind: ahp.KindChat, Wants: f.wants, Observe: f.observe})
	return r.Scheme(host.Scheme{
		Kind: ahp.KindOTLP, Class: host.Volatile, Stateless: true, May: f.opts.May,
		Reduce:    func(state any, _ ahp.Action) any { return state },
		Validate:  func(any, ahp.Action, host.Actor) string { return "telemetry takes no actions" },
		HasEffect: func(ahp.Action) bool { return false },
	})
}

// Start implements host.Feature.
func (f *Feature) Start(ctx context.Context, h *host.Host) error {
	f.host = h
	h.Metrics().MustRegister(f.dropped, f.sent)
	list := []ahp.URI{TracesURI, MetricsURI}
	for _, level := range Levels { // whose case does not matter
		list = append(list, LogsPrefix+level, LogsPrefix+strings.ToUpper(level))
	}
	var errs []error
	for _, uri := range list {
		errs = append(errs, h.Create(uri, &ahp.EmptyState{}, ""))
	}
	f.ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx))
	f.work.Go(f.loop)
	return errors.Join(errs...)
}

// Stop implements host.Feature.
func (f *Feature) Stop(context.Context) error {
	f.stop()
	f.work.Wait()
	return nil
}

func (f *Feature) subscribed(c *host.Conn, channel ahp.URI) { f.watch(c, channel, true) }

func (f *Feature) unsubscribed(c *host.Conn, channel ahp.URI) { f.watch(c, channel, false) }

func (f *Feature) watch(c *host.Conn, channel ahp.URI, on bool) {
	if ahp.KindOf(channel) != ahp.KindOTLP {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.watchers[channel]
	switch {
	case on && all == nil:
		f.watchers[channel] = map[*host.Conn]struct{}{c: {}}
	case on:
		all[c] = struct{}{}
	default:
		if delete(all, c); len(all) == 0 {
			delete(f.watchers, channel)
		}
	}
	lowest := int64(nobody)
	for uri := range f.watchers {
		if level, ok := levelOf(uri); ok {
			lowest = min(lowest, int64(level))
		}
	}
	if on && channel == MetricsURI {
		select {
		case f.fresh <- struct{}{}:
		default:
		}
	}
	f.level.Store(lowest)
	f.tracing.Store(len(f.watchers[TracesURI]) > 0)
}

// levelOf is the level a channel of logs begins with.
func levelOf(uri ahp.URI) (slog.Level, bool) {
	name, ok := strings.CutPrefix(uri, LogsPrefix)
	i := slices.Index(Levels, strings.ToLower(name))
	return slog.LevelDebug - 4 + slog.Level(4*i), ok && i >= 0
}

// watching returns who watches a channel.
func (f *Feature) watching(channel ahp.URI) []*host.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []*host.Conn
	for c := range f.watchers[channel] {
		list = append(list, c)
	}
	return list
}

// put queues a log record or a span; above the bound it is dropped.
func (f *Feature) put(s signal, item any) {
	select {
	case f.queue <- item:
	default:
		f.dropped.WithLabelValues(s.name).Inc()
	}
}

// loop sends what was queued, some at a time, and the metrics every now and then and
// when somebody begins to watch.
func (f *Feature) loop() {
	every := time.NewTicker(f.opts.Every)
	defer every.Stop()
	for {
		select {
		case item := <-f.queue:
			f.sendAll(f.others(item))
		case <-f.fresh:
			f.sendMetrics()
		case <-every.C:
			f.sendMetrics()
		case <-f.ctx.Done():
			return
		}
	}
}

// others adds what comes within a moment.
func (f *Feature) others(first any) []any {
	list := []any{first}
	wait := time.NewTimer(gather)
	defer wait.Stop()
	for len(list) < maxWaiting/4 {
		select {
		case item := <-f.queue:
			list = append(list, item)
		case <-wait.C:
			return list
		case <-f.ctx.Done():
			return list
		}
	}
	return list
}

func (f *Feature) sendAll(list []any) {
	var done []span
	var records []record
	for _, item := range list {
		switch item := item.(type) {
		case span:
			done = append(done, item)
		case record:
			records = append(records, item)
		}
	}
	f.sendLogs(records)
	if len(done) > 0 {
		f.send(traces, TracesURI, done)
	}
}

// send queues one message for everybody who watches a channel.
func (f *Feature) send(s signal, channel ahp.URI, items any) {
	conns := f.watching(channel)
	if len(conns) == 0 {
		return
	}
	payload, err := f.export(s, items)
	if err != nil { // numbers that JSON does not have are left out before
		f.dropped.WithLabelValues(s.name).Inc()
		return
	}
	head := []byte(`{"jsonrpc":"2.0","method":"` + s.method + `","params":{"channel":"` + channel + `","payload":`)
	for _, c := range conns {
		if c.Relay(head, payload, []byte("}}")) != nil {
			f.dropped.WithLabelValues(s.name).Inc()
			continue
		}
		f.sent.WithLabelValues(s.name).Inc()
	}
}
