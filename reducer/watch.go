package reducer

import "github.com/causeway-ahp/causeway/ahp"

// ResourceWatch returns s: no action changes the state of a watch. Its changes
// are read from the envelopes (AHP channels, 3.2).
func ResourceWatch(s *ahp.ResourceWatchState, _ ahp.Action) *ahp.ResourceWatchState { return s }
