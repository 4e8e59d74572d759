package service

import (
	"slices"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// seenBy returns the catalogue as p sees it when it begins to look.
func (f *Feature) seenBy(p host.Principal) any {
	state := &ahp.ClientServicesState{Services: []ahp.ClientService{}}
	for _, s := range f.services.roll().order {
		if f.maySee(p, s) {
			state.Services = append(state.Services, s.entry())
		}
	}
	return state
}

func (f *Feature) maySee(p host.Principal, s *service) bool {
	return f.policy.MaySee(p, s.owner.Principal(), s.metadata)
}

// publish makes every catalogue agree with the registry and the policy about the
// services. It compares instead of announcing: an observer that came in between
// has the change in its snapshot, and two changes that cross end in what is true
// whichever is published first (R5).
func (f *Feature) publish(list []*service) {
	f.host.DecideEach(ahp.ClientServicesURI, func(p host.Principal, state any) (actions []ahp.Action) {
		now := f.services.roll()
		shown := state.(*ahp.ClientServicesState).Services
		for _, s := range list {
			is := slices.ContainsFunc(shown, func(x ahp.ClientService) bool { return x.ServiceID == s.id })
			should := now.byID[s.id] != nil && f.maySee(p, s)
			switch {
			case should && !is:
				actions = append(actions, &ahp.ClientServiceSet{Service: s.entry()})
			case is && !should:
				actions = append(actions, &ahp.ClientServiceRemoved{ServiceID: s.id})
			}
		}
		return actions
	})
}

// publishedAtOnce bounds the services compared in one step of the sequencer.
const publishedAtOnce = 64

// PolicyChanged makes the catalogues follow a policy that answers differently
// now (R6). It returns when they do.
func (f *Feature) PolicyChanged() {
	for list := range slices.Chunk(f.services.roll().order, publishedAtOnce) {
		f.publish(list)
	}
}
