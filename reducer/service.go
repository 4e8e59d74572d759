package reducer

import "github.com/causeway-ahp/causeway/ahp"

// ClientServices reduces an action of the catalogue (AHP core, 15.2). It returns
// s itself if the action changes nothing. Set is an upsert that keeps the place.
func ClientServices(s *ahp.ClientServicesState, a ahp.Action) *ahp.ClientServicesState {
	c := *s
	changed := true
	switch a := a.(type) {
	case *ahp.ClientServiceSet:
		c.Services = upsert(s.Services, a.Service, isService(a.Service.ServiceID))
	case *ahp.ClientServiceRemoved:
		c.Services, changed = without(s.Services, isService(a.ServiceID))
	default:
		changed = false
	}
	if !changed {
		return s
	}
	return &c
}

func isService(id string) func(*ahp.ClientService) bool {
	return func(s *ahp.ClientService) bool { return s.ServiceID == id }
}
