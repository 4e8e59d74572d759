package policy

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/feature/tcp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/go-json-experiment/json/jsontext"
)

// Rules are a policy as it was read. They are never changed.
type Rules struct {
	principals map[host.Principal]*rule
	others     *rule // for those who are not named
}

// owner is the rule of host.Local where the file does not name it: a default is
// meant for the guests, and must not lock the owner out.
var owner = &rule{sessions: AccessAll, register: true}

// rule is what one principal may do.
type rule struct {
	sessions          Access
	register          bool
	see, notify, call []match   // beside its own services
	forward           tcp.Rules // nil: as the host allows
}

func (r *Rules) of(p host.Principal) *rule {
	if one := r.principals[p]; one != nil {
		return one
	}
	if p == host.Local {
		return owner
	}
	return r.others
}

// Allow implements host.Policy. Where a principal may have no sessions, it still
// sees the root channel and what belongs to no session.
func (r *Rules) Allow(p host.Principal, op host.Op, channel ahp.URI) bool {
	switch r.of(p).sessions {
	case AccessNone:
		return op == host.OpSee && !ofSession(channel)
	case AccessRead:
		return op == host.OpSee
	}
	return true
}

// ofSession reports whether a channel is one of those that sessions is about.
func ofSession(channel ahp.URI) bool {
	switch ahp.KindOf(channel) {
	case ahp.KindSession, ahp.KindAnnotations, ahp.KindChat, ahp.KindTerminal, ahp.KindChangeset, ahp.KindResourceWatch:
		return true
	}
	return false
}

// MayRegister implements the policy of client services.
func (r *Rules) MayRegister(owner host.Principal, _ jsontext.Value) bool { return r.of(owner).register }

// MaySee implements the policy of client services.
func (r *Rules) MaySee(observer, owner host.Principal, metadata jsontext.Value) bool {
	return observer == owner || anyOf(r.of(observer).see, owner, metadata)
}

// MayNotify implements the policy of client services.
func (r *Rules) MayNotify(sender, owner host.Principal, metadata jsontext.Value) bool {
	return sender == owner || anyOf(r.of(sender).notify, owner, metadata)
}

// MayCall implements the policy of client services.
func (r *Rules) MayCall(sender, owner host.Principal, metadata jsontext.Value) bool {
	return sender == owner || anyOf(r.of(sender).call, owner, metadata)
}

// Forward returns the destinations a principal may forward to; ok is false when
// the policy leaves that to the host.
func (r *Rules) Forward(p host.Principal) (destinations tcp.Rules, ok bool) {
	list := r.of(p).forward
	return list, list != nil
}
