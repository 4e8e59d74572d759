package service

import (
	"github.com/causeway-ahp/causeway/host"
	"github.com/go-json-experiment/json/jsontext"
)

// Policy decides about client services (AHP core, 15.7). It is asked on every
// message, sometimes under the sequencer's lock: it answers from memory, is safe
// for concurrent use, and calls nobody. Metadata is what the owner wrote about
// the service; it may narrow what a principal may, never widen it (R22).
//
// When its answers change, whoever changed it calls [Feature.PolicyChanged].
type Policy interface {
	// MayRegister reports whether owner may offer a service.
	MayRegister(owner host.Principal, metadata jsontext.Value) bool
	// MaySee reports whether observer finds a service of owner in the catalogue.
	// Where it does not, neither of the two below is asked: the answer is no.
	MaySee(observer, owner host.Principal, metadata jsontext.Value) bool
	// MayNotify and MayCall report whether sender may notify and call it.
	MayNotify(sender, owner host.Principal, metadata jsontext.Value) bool
	MayCall(sender, owner host.Principal, metadata jsontext.Value) bool
}

// SamePrincipal is the policy of a host that was told nothing: what belongs to
// one principal trusts itself and nobody else.
type SamePrincipal struct{}

var _ Policy = SamePrincipal{}

// MayRegister implements Policy.
func (SamePrincipal) MayRegister(host.Principal, jsontext.Value) bool { return true }

// MaySee implements Policy.
func (SamePrincipal) MaySee(observer, owner host.Principal, _ jsontext.Value) bool {
	return observer == owner
}

// MayNotify implements Policy.
func (SamePrincipal) MayNotify(sender, owner host.Principal, _ jsontext.Value) bool {
	return sender == owner
}

// MayCall implements Policy.
func (SamePrincipal) MayCall(sender, owner host.Principal, _ jsontext.Value) bool {
	return sender == owner
}
