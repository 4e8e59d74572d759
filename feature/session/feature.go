package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/prometheus/client_golang/prometheus"
)

// Options of the feature. The zero value of a field means its default.
type Options struct {
	// Providers are the agents on offer; the first is the default. At least one
	// is needed.
	Providers []agent.Provider
	Log       *slog.Logger // never receives payloads
	// DefaultDirectory is the working directory of a session that names none.
	DefaultDirectory ahp.URI
	Limits           Limits
}

// Limits are the bounds of sessions. The zero value of a field means its default.
type Limits struct {
	// DrainTimeout is how long an agent may ignore a cancel before it is ended
	// and opened anew. Default 10 s.
	DrainTimeout time.Duration
	// ClientGrace is how long a lost client stays an active client of its
	// sessions. Default 30 s.
	ClientGrace time.Duration
	// QueuedMessages bounds the queued messages of a chat. Default 100.
	QueuedMessages int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		DrainTimeout:   cmp.Or(l.DrainTimeout, DefaultLimits.DrainTimeout),
		ClientGrace:    cmp.Or(l.ClientGrace, DefaultLimits.ClientGrace),
		QueuedMessages: cmp.Or(l.QueuedMessages, DefaultLimits.QueuedMessages),
	}
}

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Feature implements host.Feature.
type Feature struct {
	opts      Options
	log       *slog.Logger
	providers map[string]agent.Provider
	count     *counters
	h         *host.Host

	ctx    context.Context
	cancel context.CancelCauseFunc

	roster      *roster
	presence    *presence
	credentials *credentials
	turns       *turnWatch
}

var _ host.Feature = (*Feature)(nil)

// New makes the feature.
func New(opts Options) *Feature {
	f := &Feature{opts: opts.withDefaults(), providers: make(map[string]agent.Provider), count: newCounters(), roster: newRoster()}
	f.log = f.opts.Log
	f.presence = newPresence(f)
	f.credentials = newCredentials(f)
	f.turns = newTurnWatch(f)
	return f
}

// Register implements host.Feature.
func (f *Feature) Register(r *host.Registry) error {
	if err := f.checkProviders(); err != nil {
		return err
	}
	r.Limits(f.opts.Limits.Rows())
	p := f.presence
	r.Hooks(host.Hooks{Subscribed: p.subscribed, Unsubscribed: p.unsubscribed, Lost: p.lost, Resumed: p.resumed, Removed: f.turns.removed})
	r.Hooks(host.Hooks{Lost: f.credentials.lost})
	r.Observe(f.turns.observer())
	return errors.Join(
		r.Scheme(host.Scheme{
			Kind: ahp.KindSession, Class: host.Shared, Durable: true, Open: sessionOpen,
			Reduce: reducer.Apply, Validate: validateSession,
			HasEffect: hasSessionEffect, Effect: f.sessionEffect,
		}),
		r.Scheme(host.Scheme{
			Kind: ahp.KindChat, Class: host.Shared, Durable: true, Open: chatOpen, Release: f.release,
			Reduce: reducer.Apply, Validate: f.validateChat,
			HasEffect: hasChatEffect, Effect: f.chatEffect,
		}),
		r.Request(ahp.MethodCreateSession, f.createSession),
		r.Request(ahp.MethodDisposeSession, f.disposeSession),
		r.Request(ahp.MethodCreateChat, f.createChat),
		r.Request(ahp.MethodDisposeChat, f.disposeChat),
		r.Request(ahp.MethodAuthenticate, f.credentials.authenticate),
		r.Request(ahp.MethodResolveSessionConfig, f.resolveConfig),
		r.Request(ahp.MethodSessionConfigCompletions, f.noConfigCompletions),
		r.Request(ahp.MethodCompletions, f.completions),
	)
}

func (f *Feature) checkProviders() error {
	if len(f.opts.Providers) == 0 {
		return errors.New("no agent provider is configured")
	}
	for _, p := range f.opts.Providers {
		about := p.Describe()
		id := about.Provider
		if _, ok := f.providers[id]; ok {
			return fmt.Errorf("agent provider %s is configured twice", id)
		}
		f.providers[id] = p
		f.credentials.offer(about.Resources)
	}
	return nil
}

// provider returns the provider with the id, the default one for none.
func (f *Feature) provider(id *string) (agent.Provider, error) {
	if id == nil {
		return f.opts.Providers[0], nil
	}
	if p := f.providers[*id]; p != nil {
		return p, nil
	}
	return nil, ahp.ErrProviderNotFound
}

// Start implements host.Feature.
func (f *Feature) Start(ctx context.Context, h *host.Host) error {
	f.h = h
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	if err := f.measure(h.Metrics()); err != nil {
		return fmt.Errorf("register counters: %w", err)
	}
	infos := make([]ahp.AgentInfo, 0, len(f.opts.Providers))
	for _, p := range f.opts.Providers {
		infos = append(infos, info(p.Describe()))
	}
	h.SetAgents(infos)
	f.closeOpen()
	return nil
}

// measure shows what operators want to know of agents and turns.
func (f *Feature) measure(r prometheus.Registerer) error {
	running := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "turns_running", Help: "Turns that have begun and not ended.",
	}, f.turns.running)
	return errors.Join(
		f.count.register(r, slices.Collect(maps.Keys(f.providers))), r.Register(newAgentGauge(f)), r.Register(running),
	)
}

func info(d agent.Description) ahp.AgentInfo {
	a := ahp.AgentInfo{Provider: d.Provider, DisplayName: d.DisplayName, Description: d.Description, Models: d.Models, ProtectedResources: d.Resources}
	if d.MultipleChats {
		a.Capabilities = &ahp.AgentCapabilities{MultipleChats: &ahp.MultipleChatsCapability{}}
	}
	return a
}

// errStopping is why turns end, and requests are refused, when the host ends.
var errStopping = jsonrpc.Errorf(jsonrpc.CodeInternal, "the host is shutting down")

// Stop implements host.Feature: every turn is cancelled, every agent ended.
func (f *Feature) Stop(context.Context) error {
	f.presence.stop()
	f.credentials.stop()
	f.roster.stop()
	f.cancel(errStopping)
	var errs []error
	for _, p := range f.opts.Providers {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// Busy reports whether there is work: a turn, an agent that drains or one that
// is being opened.
func (f *Feature) Busy() bool {
	for _, d := range f.roster.all() {
		if d.busy() {
			return true
		}
	}
	return false
}
