package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/reducer"
)

// Options of the feature. The zero value is complete.
type Options struct {
	Policy Policy // nil: SamePrincipal
	Limits Limits
	Log    *slog.Logger // never receives payloads; nil: discarded
}

// Feature is the relay of one host. Its methods may be called concurrently.
type Feature struct {
	policy  Policy
	limits  Limits
	log     *slog.Logger
	host    *host.Host
	metrics *metrics

	services registry

	// mu guards the tables below and the tables of calls of parties and
	// services. It is a leaf, and no notification takes it.
	mu       sync.Mutex
	parties  map[*host.Conn]*party
	inFlight int // calls without an answer
	lastCall uint64
	enrolled int // services registered or about to be
	stopped  bool
}

var _ host.Feature = (*Feature)(nil)

// New makes the feature.
func New(o Options) *Feature {
	f := &Feature{policy: o.Policy, limits: o.Limits.withDefaults(), log: o.Log, parties: make(map[*host.Conn]*party)}
	if f.policy == nil {
		f.policy = SamePrincipal{}
	}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	f.metrics = newMetrics(f)
	return f
}

// Register implements host.Feature.
func (f *Feature) Register(r *host.Registry) error {
	info, err := ahp.Marshal(f.limits.info())
	if err != nil {
		return fmt.Errorf("encode limits of client services: %w", err)
	}
	r.InitializeMember(ahp.MemberClientServices, info)
	r.Hooks(host.Hooks{Lost: f.lost})
	r.Limits(f.limits.Rows())
	return errors.Join(
		r.Scheme(host.Scheme{
			Kind: ahp.KindClientServices, Class: host.Volatile, Reduce: reducer.Apply, PerPrincipal: f.seenBy,
			Validate:  func(any, ahp.Action, host.Actor) string { return "the catalogue is kept by the host" },
			HasEffect: func(ahp.Action) bool { return false },
		}),
		r.UnroutedRequest(ahp.MethodRegisterService, f.register),
		r.UnroutedRequest(ahp.MethodUnregisterService, f.unregister),
		r.UnroutedRequest(ahp.MethodClientServiceRequest, f.call),
		r.UnroutedRequest(ahp.MethodClientServiceNotify, refuseNotify),
		r.Notification(ahp.MethodClientServiceNotify, f.sender),
	)
}

// Start implements host.Feature.
func (f *Feature) Start(_ context.Context, h *host.Host) error {
	f.host = h
	f.metrics.register(h.Metrics())
	return h.Create(ahp.ClientServicesURI, &ahp.ClientServicesState{}, "")
}

// Stop implements host.Feature: every call fails.
func (f *Feature) Stop(context.Context) error {
	f.mu.Lock()
	f.stopped = true
	var open []*call
	for _, p := range f.parties {
		for c := range p.calls {
			open = append(open, c)
		}
	}
	f.mu.Unlock()
	cancelAll(open, errStopping)
	return nil
}

// refuseNotify answers a notification that was sent as a request (R23).
func refuseNotify(_ context.Context, r *host.Request) jsonrpc.Reply {
	return jsonrpc.Reply{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s is a notification: send it without an id", r.Method)}
}

// party is what a connection takes part in. Feature.mu guards it.
type party struct {
	services []*service
	calls    map[*call]struct{} // those it has made
	meter    meter
}

// partyLocked returns the party of a connection, made when it does something for
// the first time.
func (f *Feature) partyLocked(c *host.Conn) *party {
	p := f.parties[c]
	if p == nil {
		p = &party{calls: make(map[*call]struct{})}
		f.parties[c] = p
	}
	return p
}

// lost ends what a connection took part in (R3, R4, R16).
func (f *Feature) lost(c *host.Conn) {
	f.mu.Lock()
	p := f.parties[c]
	delete(f.parties, c)
	if p == nil {
		f.mu.Unlock()
		return
	}
	var open []*call
	for made := range p.calls {
		open = append(open, made)
	}
	f.mu.Unlock()
	cancelAll(open, errCallerGone)
	f.remove(p.services)
}
