package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Caller is who asks for notifications, as the transport authenticated it.
type Caller struct {
	Principal string   // "": anonymous
	Client    string   // what the client says of itself; decides nothing
	Types     []string // route types this connection can carry; nil: all
	// Private: nobody on the way can read what is sent (TLS, stdio, a Unix
	// socket). Only then may a configuration hold a secret itself.
	Private bool
	// Trusted: it is the operator, and an endpoint it names counts as allowed
	// and as proven.
	Trusted bool
	// Capability: the client declared notificationConfig.
	Capability bool
}

// Request is a call about to be made.
type Request struct {
	Caller
	RequestID jsontext.Value // as written: a JSON text or number
	Tool      string
	Server    string        // which server's tool it is, "" if there is one only
	Arguments []byte        // only their digest is kept
	Trace     string        // traceparent of the call, "" for none
	Timeout   time.Duration // the tool's own limit; 0: none
}

// DuplicateError means that the idempotency key was used before for the same
// tool and arguments: the call is not to be made again.
type DuplicateError struct{ Call Summary }

// Error implements error.
func (e *DuplicateError) Error() string {
	return "a call with this idempotency key was made before: " + e.Call.CallID
}

// Check reads a configuration and checks its shape and its route types
// (notifications, 4.3 steps 1 and 2). A refusal is a *ConfigError.
func (e *Engine) Check(raw []byte, c Caller) (*Config, error) {
	supported := e.Types(c.Principal, c.Types)
	refuse := func(err *ConfigError) error {
		err.Supported = supported
		e.metrics.configs.WithLabelValues(err.Reason).Inc()
		return err
	}
	if e.opts.RequireCapability && !c.Capability {
		return nil, refuse(&ConfigError{
			Code: CodeMissingCapability, Reason: ReasonNoCapability,
			Text: "declare the client capability notificationConfig first",
		})
	}
	config, err := ParseConfig(raw)
	if bad := (*ConfigError)(nil); errors.As(err, &bad) {
		return nil, refuse(bad)
	}
	var unsupported []string
	for _, r := range config.Routes {
		if !slices.Contains(supported, r.Type) && !slices.Contains(unsupported, r.Type) {
			unsupported = append(unsupported, r.Type)
		}
	}
	if len(unsupported) > 0 {
		return nil, refuse(&ConfigError{
			Code: CodeInvalidParams, Reason: ReasonUnsupportedType, Unsupported: unsupported,
			Text: fmt.Sprintf("route type %q is not supported here", unsupported[0]),
		})
	}
	return config, nil
}

// admission is a configuration on its way in.
type admission struct {
	e        *Engine
	caller   Caller
	config   *Config
	accepted []Route
	ack      Ack
	moved    []string // references of secrets that came inline
	verify   []string // endpoints to be verified
}

// Admit takes a call under its configuration: commit 1. When it returns, the
// call will end in one terminal trigger, whatever happens. The tool may be
// started once Ack has been sent. A refusal is a *ConfigError or a
// *DuplicateError, and nothing was kept.
func (e *Engine) Admit(ctx context.Context, config *Config, r Request) (*Call, error) {
	if e.isClosing() {
		return nil, ErrClosed
	}
	a := &admission{e: e, caller: r.Caller, config: config, ack: Ack{RequestID: r.RequestID}}
	if err := a.routes(ctx); err != nil {
		return nil, a.refused(ctx, err)
	}
	rec := a.record(&r)
	e.crash("before-admit")
	err := e.update(ctx, func(tx Tx) error { return a.commit(tx, rec, &r) })
	if err != nil {
		return nil, a.refused(ctx, err)
	}
	e.crash("after-admit")
	e.metrics.configs.WithLabelValues("accepted").Inc()
	c := newCall(e, rec)
	e.adopt(c)
	e.verifyAll(a.verify)
	return c, nil
}

// routes sorts the routes into accepted and refused (notifications, 4.3 step 4).
func (a *admission) routes(ctx context.Context) error {
	for _, r := range a.config.Routes {
		for _, name := range r.ignored {
			a.ack.Ignored = append(a.ack.Ignored, IgnoredTrigger{ID: r.ID, Trigger: name})
		}
		reason, err := a.route(ctx, &r)
		if err != nil {
			return err
		}
		if reason != "" {
			a.reject(r.ID, reason)
			continue
		}
		a.accepted = append(a.accepted, r)
	}
	return a.anyLeft()
}

func (a *admission) reject(id, reason string) {
	a.ack.Rejected = append(a.ack.Rejected, RejectedRoute{ID: id, Reason: reason})
}

// anyLeft refuses a configuration of which no route is left.
func (a *admission) anyLeft() error {
	if len(a.accepted) > 0 {
		return nil
	}
	reason := ReasonNoRoute
	if !slices.ContainsFunc(a.ack.Rejected, func(r RejectedRoute) bool { return r.Reason != RouteQuota }) {
		reason = ReasonQuota
	}
	return &ConfigError{
		Code: CodeInvalidParams, Reason: reason, Rejected: a.ack.Rejected,
		Text: fmt.Sprintf("none of the routes can be accepted; the first one: %s", a.ack.Rejected[0].Reason),
	}
}

// route checks one route without touching the network.
func (a *admission) route(ctx context.Context, r *Route) (reason string, err error) {
	t := a.e.types[r.Type]
	if len(r.Triggers) == 0 {
		return RouteNoKnownTrigger, nil
	}
	if reason := t.Validate(a.caller, r); reason != "" {
		return reason, nil
	}
	if len(r.inline) > 0 && !a.caller.Private {
		return RouteUnknownSecret, nil
	}
	return a.secrets(ctx, t, r)
}

// secrets makes sure that every reference of a route leads somewhere, and moves
// what came inline to the secret store before anything else is written.
func (a *admission) secrets(ctx context.Context, t RouteType, r *Route) (reason string, err error) {
	signer, signs := t.(Signer)
	key, inline := r.inline[""]
	if inline {
		if !signs || !signer.ValidKey(key) {
			return RouteUnknownSecret, nil
		}
		if r.SecretRef, err = a.move(ctx, key); err != nil {
			return "", err
		}
	}
	switch {
	case r.SecretRef != "" && !inline:
		s, err := a.e.secret(ctx, a.caller.Principal, r.SecretRef)
		if err != nil || !signs || !signer.ValidKey(s) {
			return RouteUnknownSecret, ignoreNoSecret(err)
		}
	case signs && r.SecretRef == "":
		if err := a.e.ensureKey(ctx, a.caller.Principal, signer, r); err != nil {
			return "", err
		}
	}
	r.Headers = slices.Clone(r.Headers)
	for i := range r.Headers {
		h := &r.Headers[i]
		if s, ok := r.inline[h.Name]; ok {
			if h.SecretRef, err = a.move(ctx, s); err != nil {
				return "", err
			}
		} else if _, err := a.e.secret(ctx, a.caller.Principal, h.SecretRef); err != nil {
			return RouteUnknownSecret, ignoreNoSecret(err)
		}
	}
	r.inline = nil
	return "", nil
}

func ignoreNoSecret(err error) error {
	if errors.Is(err, ErrNoSecret) {
		return nil
	}
	return err
}

func (a *admission) move(ctx context.Context, s Secret) (ref string, err error) {
	ref = newID(secretPrefix)
	if err := a.e.opts.Secrets.Put(ctx, a.caller.Principal, ref, s); err != nil {
		return "", fmt.Errorf("keep a secret: %w", err)
	}
	a.moved = append(a.moved, ref)
	return ref, nil
}

// refused undoes what an admission has put aside and completes its error.
func (a *admission) refused(ctx context.Context, err error) error {
	for _, ref := range a.moved {
		_ = a.e.opts.Secrets.Delete(ctx, a.caller.Principal, ref) // it stands for nothing now
	}
	var bad *ConfigError
	if errors.As(err, &bad) {
		bad.Supported = a.e.Types(a.caller.Principal, a.caller.Types)
		a.e.metrics.configs.WithLabelValues(bad.Reason).Inc()
		return err
	}
	var dup *DuplicateError
	if errors.As(err, &dup) {
		return err
	}
	return fmt.Errorf("admit a call: %w", err)
}

// record is the call as it will be stored.
func (a *admission) record(r *Request) *call {
	now := time.Now()
	timeout := a.e.limits.CallTimeout
	for _, t := range []time.Duration{r.Timeout, a.config.Options.Timeout} {
		if t > 0 {
			timeout = min(timeout, t)
		}
	}
	sum := sha256.Sum256(r.Arguments)
	return &call{
		ID: newID(callPrefix), Principal: r.Principal, Client: r.Client, RequestID: r.RequestID, Tool: r.Tool, Server: r.Server,
		Arguments: hex.EncodeToString(sum[:]), Trace: r.Trace, Configured: a.config.triggers(),
		MinGap: a.config.Options.MinInterval, State: callRunning, Owner: a.e.owner, Started: now, Deadline: now.Add(timeout),
		Key: idempotency(r.Principal, a.config.Options.IdempotencyKey),
	}
}

func idempotency(principal, key string) string {
	if key == "" {
		return ""
	}
	return "key\x00" + principal + "\x00" + key
}

// triggers are those that any route lists (notifications, A-12).
func (c *Config) triggers() []Trigger {
	var all []Trigger
	for _, r := range c.Routes {
		all = append(all, r.Triggers...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// commit is the transaction of Admit.
func (a *admission) commit(tx Tx, rec *call, r *Request) error {
	if err := a.duplicate(tx, rec); err != nil {
		return err
	}
	if err := a.e.quotas(tx, r.Principal); err != nil {
		return err
	}
	if err := a.endpoints(tx, rec.Started); err != nil {
		return err
	}
	a.ack.CallID = rec.ID
	a.ack.Accepted = ids(a.accepted)
	rec.Routes, rec.Ack = a.accepted, a.ack
	return putCall(tx, rec)
}

func ids(routes []Route) []string {
	list := make([]string, len(routes))
	for i := range routes {
		list[i] = routes[i].ID
	}
	return list
}

// duplicate looks for an earlier call of the same idempotency key.
func (a *admission) duplicate(tx Tx, rec *call) error {
	if rec.Key == "" {
		return nil
	}
	old, err := find[call](tx, Calls, Query{Where: []Cond{{ByKey, rec.Key}}, Limit: 1})
	if err != nil || len(old) == 0 {
		return err
	}
	if old[0].Tool != rec.Tool || old[0].Server != rec.Server || old[0].Arguments != rec.Arguments {
		return &ConfigError{
			Code: CodeInvalidParams, Reason: ReasonIdempotencyKey,
			Text: "this idempotencyKey was used for a call of another tool or with other arguments",
		}
	}
	s, err := old[0].summary(tx)
	if err != nil {
		return err
	}
	return &DuplicateError{Call: s}
}

// quotas refuses a principal that has too much in progress (notifications,
// 10.1).
func (e *Engine) quotas(tx Tx, principal string) error {
	over := func(t Table, state string, limit int, what string) error {
		n, err := tx.Count(t, Query{Where: []Cond{{ByPrincipal, principal}, {ByState, state}}, Limit: limit})
		if err == nil && n >= limit {
			err = &ConfigError{
				Code: CodeInvalidParams, Reason: ReasonQuota,
				Text: fmt.Sprintf("there are %d %s already; try again when some have ended", n, what),
			}
		}
		return err
	}
	if err := over(Calls, callRunning, e.limits.ActiveCalls, "calls with notifications"); err != nil {
		return err
	}
	return over(Deliveries, deliveryPending, e.limits.PendingItems, "notifications not yet delivered")
}
