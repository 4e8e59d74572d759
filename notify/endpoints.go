package notify

import (
	"crypto/sha256"
	"errors"
	"time"
)

// usedFor is how long an endpoint counts for the quota after it was used.
const usedFor = 24 * time.Hour

// endpointID names one principal's use of an endpoint. One proof and one
// disabling cover what the type says is its scope.
func (e *Engine) endpointID(principal string, r *Route) string {
	scope := r.Endpoint
	if v, ok := e.types[r.Type].(Verifier); ok {
		scope = v.Scope(r)
	}
	sum := sha256.Sum256([]byte(principal + "\x00" + r.Type + "\x00" + scope))
	return "ep_" + base32Lower.EncodeToString(sum[:])[:26]
}

// endpoints checks what is known of the endpoints of the accepted routes, and
// makes those that are new. It is part of the admitting transaction.
func (a *admission) endpoints(tx Tx, now time.Time) error {
	candidates := a.accepted
	kept := make([]Route, 0, len(candidates))
	for i := range candidates {
		reason, err := a.endpoint(tx, &candidates[i], now)
		if err != nil {
			return err
		}
		if reason != "" {
			a.reject(candidates[i].ID, reason)
			continue
		}
		kept = append(kept, candidates[i])
	}
	a.accepted = kept
	return a.anyLeft()
}

func (a *admission) endpoint(tx Tx, r *Route, now time.Time) (reason string, err error) {
	id := a.e.endpointID(a.caller.Principal, r)
	ep, err := get[endpoint](tx, Endpoints, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return a.newEndpoint(tx, id, r, now)
	case err != nil:
		return "", err
	case ep.State == endpointDisabled:
		return RouteDisabled, nil
	}
	v, verifies := a.e.types[r.Type].(Verifier)
	proven := !verifies || v.Proven(r)
	stale := ep.State == endpointFailed || ep.State == endpointVerified && ep.Proof == proofChallenge && now.After(ep.VerifiedTill)
	switch {
	case proven && (ep.State != endpointVerified || ep.Proof != proofRule):
		ep.State, ep.Proof, ep.Owner = endpointVerified, proofRule, ""
	case !proven && (stale || ep.State == endpointVerified && ep.Proof == proofRule):
		a.begin(ep, r)
	case now.Sub(ep.Used) < time.Hour:
		return "", nil // not worth a write
	}
	ep.Used = now
	return "", putEndpoint(tx, ep)
}

func (a *admission) newEndpoint(tx Tx, id string, r *Route, now time.Time) (reason string, err error) {
	p := a.caller.Principal
	n, err := tx.Count(Endpoints, Query{Where: []Cond{{ByPrincipal, p}}, DueAfter: now.Add(-usedFor), Limit: a.e.limits.Endpoints})
	if err != nil || n >= a.e.limits.Endpoints {
		return RouteQuota, err
	}
	t := a.e.types[r.Type]
	ep := &endpoint{
		ID: id, Principal: p, Type: r.Type, Endpoint: r.Endpoint, Shown: t.Show(r.Endpoint),
		State: endpointVerified, Proof: proofRule, Used: now, Created: now,
	}
	if v, ok := t.(Verifier); ok && !v.Proven(r) {
		unproven := []Cond{{ByPrincipal, p}, {ByParent, proofChallenge}}
		n, err := tx.Count(Endpoints, Query{Where: unproven, CreatedSince: now.Add(-time.Hour), Limit: a.e.limits.Verifications})
		if err != nil || n >= a.e.limits.Verifications {
			return RouteQuota, err
		}
		a.begin(ep, r)
	}
	return "", putEndpoint(tx, ep)
}

// begin makes an endpoint one that is being verified.
func (a *admission) begin(ep *endpoint, r *Route) {
	ep.State, ep.Proof, ep.Owner, ep.Route = endpointVerifying, proofChallenge, a.e.owner, *r
	a.verify = append(a.verify, ep.ID)
}

// What an endpoint's proof rests on.
const (
	proofRule      = "allowed"   // a rule of the operator
	proofChallenge = "challenge" // it echoed what it was sent
)
