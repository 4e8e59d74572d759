package main

import (
	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/feature/tcp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/policy"
)

var (
	_ service.Policy = (*policy.File)(nil)
	_ tcp.Access     = destinations{}
)

// destinations are what a principal may reach by the policy, or what everybody may
// where that says nothing.
type destinations struct {
	policy *policy.File
	others tcp.Rules
}

// Destinations implements tcp.Access.
func (d destinations) Destinations(p host.Principal) tcp.Rules {
	if rules, ok := d.policy.Forward(p); ok {
		return rules
	}
	return d.others
}

// policyChanged makes those who keep what the policy said ask again.
func (s *server) policyChanged() {
	s.services.PolicyChanged()
	s.forwards.PolicyChanged()
	s.host.PolicyChanged()
}

func (s *server) closePolicy() error {
	if s.policy == nil {
		return nil
	}
	return s.policy.Close()
}
