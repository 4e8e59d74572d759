package session

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/reducer"
)

// Options of the feature. The zero value of a field means its default.
type Options struct {
	// Providers are the agents on offer; the first is the default. At least one
	// is needed.
	Providers []agent.Provider
	Log       *slog.Logger // never receives payloads
	// DefaultDirectory is the working directory of a session that names none.
	DefaultDirectory ahp.URI
	// DrainTimeout is how long an agent may ignore a cancel before it is ended
	// and opened anew. Default 10 s.
	DrainTimeout time.Duration
	// ClientGrace is how long a lost client stays an active client of its
	// sessions. Default 30 s.
	ClientGrace time.Duration
	// QueueLimit bounds the queued messages of a chat. Default 100.
	QueueLimit int
}

// Feature implements host.Feature.
type Feature struct {
	opts      Options
	log       *slog.Logger
	providers map[string]agent.Provider
	h         *host.Host

	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // everything the feature started

	// mu guards what follows. It is held for no call of another package.
	mu       sync.Mutex
	chats    map[ahp.URI]*driver
	stopping bool
	presence presence
}

var _ host.Feature = (*Feature)(nil)

// New makes the feature.
func New(opts Options) *Feature {
	if opts.DrainTimeout <= 0 {
		opts.DrainTimeout = 10 * time.Second
	}
	if opts.ClientGrace <= 0 {
		opts.ClientGrace = 30 * time.Second
	}
	if opts.QueueLimit <= 0 {
		opts.QueueLimit = 100
	}
	f := &Feature{
		opts: opts, log: opts.Log, providers: make(map[string]agent.Provider), chats: make(map[ahp.URI]*driver),
	}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	f.presence.init()
	return f
}

// Register implements host.Feature.
func (f *Feature) Register(r *host.Registry) error {
	if len(f.opts.Providers) == 0 {
		return errors.New("no agent provider is configured")
	}
	for _, p := range f.opts.Providers {
		id := p.Describe().Provider
		if _, ok := f.providers[id]; ok {
			return errors.New("agent provider " + id + " is configured twice")
		}
		f.providers[id] = p
	}
	err := errors.Join(
		r.Scheme(host.Scheme{
			Kind: ahp.KindSession, Class: host.Shared, Reduce: reducer.Apply, Validate: validateSession,
			HasEffect: hasSessionEffect, Effect: f.sessionEffect,
		}),
		r.Scheme(host.Scheme{
			Kind: ahp.KindChat, Class: host.Shared, Reduce: reducer.Apply, Validate: f.validateChat,
			HasEffect: hasChatEffect, Effect: f.chatEffect,
		}),
		r.Request(ahp.MethodCreateSession, f.createSession),
		r.Request(ahp.MethodDisposeSession, f.disposeSession),
		r.Request(ahp.MethodCreateChat, f.createChat),
		r.Request(ahp.MethodDisposeChat, f.disposeChat),
		r.Request(ahp.MethodResolveSessionConfig, f.resolveConfig),
		r.Request(ahp.MethodSessionConfigCompletions, f.noConfigCompletions),
		r.Request(ahp.MethodCompletions, f.completions),
	)
	r.Hooks(host.Hooks{Subscribed: f.subscribed, Unsubscribed: f.unsubscribed})
	return err
}

// Start implements host.Feature.
func (f *Feature) Start(ctx context.Context, h *host.Host) error {
	f.h = h
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	infos := make([]ahp.AgentInfo, 0, len(f.opts.Providers))
	for _, p := range f.opts.Providers {
		infos = append(infos, info(p.Describe()))
	}
	h.SetAgents(infos)
	return nil
}

func info(d agent.Description) ahp.AgentInfo {
	a := ahp.AgentInfo{Provider: d.Provider, DisplayName: d.DisplayName, Description: d.Description, Models: d.Models}
	if d.MultipleChats {
		a.Capabilities = &ahp.AgentCapabilities{MultipleChats: &ahp.MultipleChatsCapability{}}
	}
	return a
}

// errStopping is why turns end when the host does.
var errStopping = errors.New("the host is shutting down")

// Stop implements host.Feature: every turn is cancelled, every agent ended.
func (f *Feature) Stop(context.Context) error {
	f.mu.Lock()
	f.stopping = true
	drivers := make([]*driver, 0, len(f.chats))
	for _, d := range f.chats {
		drivers = append(drivers, d)
	}
	f.presence.stop()
	f.mu.Unlock()
	var closing sync.WaitGroup
	for _, d := range drivers {
		closing.Go(d.close)
	}
	closing.Wait()
	f.cancel(errStopping)
	f.wg.Wait()
	var errs []error
	for _, p := range f.opts.Providers {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// Busy reports whether any chat has work: a turn, or an agent that drains.
func (f *Feature) Busy() bool {
	f.mu.Lock()
	drivers := make([]*driver, 0, len(f.chats))
	for _, d := range f.chats {
		drivers = append(drivers, d)
	}
	f.mu.Unlock()
	for _, d := range drivers {
		if d.busy() {
			return true
		}
	}
	return false
}

// driver returns the driver of a chat, nil when the chat is gone.
func (f *Feature) driver(chat ahp.URI) *driver {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.chats[chat]
}

// addDriver registers the driver of a new chat; it is false when the host is
// stopping.
func (f *Feature) addDriver(d *driver) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopping {
		return false
	}
	f.chats[d.chat] = d
	return true
}

func (f *Feature) removeDriver(chat ahp.URI) *driver {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.chats[chat]
	delete(f.chats, chat)
	return d
}

// start runs work that Stop waits for; it is false when the host is stopping.
func (f *Feature) start(work func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopping {
		return false
	}
	f.wg.Go(work)
	return true
}
