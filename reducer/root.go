package reducer

import "github.com/causeway-ahp/causeway/ahp"

// Root reduces an action of the root channel (AHP channels, 2.1). It returns s
// itself if the action changes nothing.
func Root(s *ahp.RootState, a ahp.Action) *ahp.RootState {
	c := *s
	switch a := a.(type) {
	case *ahp.RootAgentsChanged:
		c.Agents = a.Agents
	case *ahp.RootActiveSessionsChanged:
		c.ActiveSessions = &a.ActiveSessions
	case *ahp.RootTerminalsChanged:
		c.Terminals = listed(a.Terminals)
	case *ahp.RootConfigChanged:
		if s.Config == nil {
			return s
		}
		c.Config = configured(s.Config, &a.ConfigChange)
	default:
		return s
	}
	return &c
}
