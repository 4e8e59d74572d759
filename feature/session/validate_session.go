package session

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/go-json-experiment/json/jsontext"
)

func validateSession(state any, a ahp.Action, by host.Actor) string {
	s := state.(*ahp.SessionState)
	switch a := a.(type) {
	case *ahp.SessionActiveClientSet:
		return when(a.ActiveClient.ClientID != by.ClientID, notYourself)
	case *ahp.SessionActiveClientRemoved:
		return when(a.ClientID != by.ClientID, notYourself)
	case *ahp.SessionConfigChanged:
		return validateConfig(s, a)
	case *ahp.SessionCustomizationToggled:
		return when(!hasCustomization(s, a.ID), "no such customization")
	case *ahp.SessionMCPServerStartRequested:
		return when(!hasCustomization(s, a.ID), noSuchServer)
	case *ahp.SessionMCPServerStopRequested:
		return when(!hasCustomization(s, a.ID), noSuchServer)
	case *ahp.SessionMCPServerBackgroundRequested:
		return when(!hasCustomization(s, a.ID), noSuchServer)
	case *ahp.SessionWorkingDirectorySet, *ahp.SessionWorkingDirectoryRemoved, *ahp.SessionWorkingDirectoryReplaced:
		return "the agent's working directories cannot be changed"
	}
	return ""
}

// Reasons that several validators give.
const (
	notYourself  = "a client may only speak for itself"
	noSuchServer = "no such MCP server"
)

func hasCustomization(s *ahp.SessionState, id string) bool {
	for i := range s.Customizations {
		if s.Customizations[i].ID == id {
			return true
		}
		for j := range s.Customizations[i].Children {
			if s.Customizations[i].Children[j].ID == id {
				return true
			}
		}
	}
	return false
}

// validateConfig refuses properties that are unknown or fixed once the session
// exists (AHP channels, 2.2). None can be taken away: the agent would go on with
// its value.
func validateConfig(s *ahp.SessionState, a *ahp.SessionConfigChanged) string {
	if s.Config == nil {
		return "the session has no configuration"
	}
	mutable, ok := mutableProperties(s.Config.Schema)
	if !ok {
		return "the session's configuration cannot be changed"
	}
	replace := a.Replace != nil && *a.Replace
	for name, v := range a.Config {
		if !mutable[name] && !(replace && sameJSON(v, s.Config.Values[name])) {
			return "property " + name + " cannot be changed"
		}
	}
	if !replace {
		return ""
	}
	for name := range s.Config.Values {
		if _, kept := a.Config[name]; !kept {
			return "property " + name + " cannot be removed"
		}
	}
	return ""
}

func mutableProperties(schema jsontext.Value) (map[string]bool, bool) {
	var c ahp.ConfigSchema
	if ahp.Unmarshal(schema, &c) != nil {
		return nil, false
	}
	mutable := make(map[string]bool)
	for name, p := range c.Properties {
		mutable[name] = p.SessionMutable != nil && *p.SessionMutable
	}
	return mutable, true
}
