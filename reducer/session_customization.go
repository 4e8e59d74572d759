package reducer

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

func isCustomization(id string) func(*ahp.Customization) bool {
	return func(c *ahp.Customization) bool { return c.ID == id }
}

// editCustomization lets edit change a copy of the customization id; edit
// reports whether it did. A top-level entry is preferred, even if edit then
// refuses it; of several containers with such a child the first is taken
// (AHP channels, 4.23 and 4.24).
func editCustomization[A any](s *ahp.SessionState, id string, a A, edit func(*ahp.Customization, A) bool) *ahp.SessionState {
	if i := index(s.Customizations, isCustomization(id)); i >= 0 {
		n := s.Customizations[i]
		if !edit(&n, a) {
			return s
		}
		return withCustomizations(s, replaced(s.Customizations, i, n))
	}
	for i := range s.Customizations {
		container := s.Customizations[i]
		j := index(container.Children, isCustomization(id))
		if j < 0 {
			continue
		}
		n := container.Children[j]
		if !edit(&n, a) {
			return s
		}
		container.Children = replaced(container.Children, j, n)
		return withCustomizations(s, replaced(s.Customizations, i, container))
	}
	return s
}

func withCustomizations(s *ahp.SessionState, list []ahp.Customization) *ahp.SessionState {
	c := *s
	c.Customizations = list
	return &c
}

// removeCustomization removes a top-level entry, or else the child from each
// container that holds it (AHP channels, 4.24).
func removeCustomization(s *ahp.SessionState, id string) *ahp.SessionState {
	if rest, removed := without(s.Customizations, isCustomization(id)); removed {
		return withCustomizations(s, rest)
	}
	list := s.Customizations
	changed := false
	for i := range s.Customizations {
		container := s.Customizations[i]
		rest, removed := without(container.Children, isCustomization(id))
		if !removed {
			continue
		}
		container.Children = rest
		list, changed = replaced(list, i, container), true
	}
	if !changed {
		return s
	}
	return withCustomizations(s, list)
}

// toggle switches a customization. Since 0.9 plugins and MCP servers take the
// whole list of scopes and everything else its first entry; the form before that
// writes the flag of whatever it names.
func toggle(c *ahp.Customization, a *ahp.SessionCustomizationToggled) bool {
	switch {
	case a.Enablement == nil && a.Enabled == nil:
		return false
	case a.Enablement == nil:
		setEnabled(c, *a.Enabled)
	case c.Type == ahp.CustomizationPlugin || c.Type == ahp.CustomizationMCPServer:
		c.Enablement = present(a.Enablement)
	default:
		setEnabled(c, len(a.Enablement) == 0 || a.Enablement[0].Enabled)
	}
	return true
}

// setEnabled writes the flag. Of a type this build does not know the object is
// kept whole, so there it is written into that.
func setEnabled(c *ahp.Customization, on bool) {
	if c.Raw == nil {
		c.Enabled = &on
		return
	}
	flag := `{"enabled":false}`
	if on {
		flag = `{"enabled":true}`
	}
	c.Raw = overlay(c.Raw, jsontext.Value(flag))
}

// mcpServer is what an action makes of an MCP server; without a channel the old
// one goes away.
type mcpServer struct {
	state   ahp.MCPServerState
	channel *ahp.URI
}

func setMCPServer(c *ahp.Customization, to mcpServer) bool {
	if c.Type != ahp.CustomizationMCPServer {
		return false
	}
	c.State, c.Channel = &to.state, to.channel
	return true
}

// sendToBackground ends the waiting for a server that starts.
func sendToBackground(c *ahp.Customization, _ *ahp.SessionMCPServerBackgroundRequested) bool {
	old := c.State
	if c.Type != ahp.CustomizationMCPServer || old == nil || old.Kind != ahp.MCPStarting {
		return false
	}
	if old.Blocking == nil || !*old.Blocking {
		return false
	}
	state := *old
	state.Blocking = new(false)
	c.State = &state
	return true
}
