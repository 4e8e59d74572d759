package reducer

import (
	"maps"

	"github.com/causeway-ahp/causeway/ahp"
)

// configured returns the configuration after a change: a shallow merge, or
// exactly the new values with replace. Without a configuration there is nothing
// to change (AHP channels, 4.29).
func configured(old *ahp.ConfigState, change *ahp.ConfigChange) *ahp.ConfigState {
	if old == nil {
		return nil
	}
	c := *old
	c.Values = maps.Clone(change.Config)
	if change.Replace == nil || !*change.Replace {
		c.Values = maps.Clone(old.Values)
		if c.Values == nil {
			c.Values = maps.Clone(change.Config)
		}
		maps.Copy(c.Values, change.Config)
	}
	return &c
}
