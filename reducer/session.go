package reducer

import (
	"slices"

	"github.com/causeway-ahp/causeway/ahp"
)

// Session reduces an action of a session channel (AHP channels, 2.2). It returns
// s itself if the action changes nothing. No session action sets InProgress,
// Idle or Error, and neither session/ready nor session/creationFailed touches
// the status (4.3).
func Session(s *ahp.SessionState, a ahp.Action) *ahp.SessionState {
	switch a := a.(type) {
	case *ahp.SessionChatAdded, *ahp.SessionChatRemoved, *ahp.SessionChatUpdated, *ahp.SessionChatsReordered:
		return sessionChats(s, a)
	case *ahp.SessionCustomizationToggled:
		return editCustomization(s, a.ID, a, toggle)
	case *ahp.SessionCustomizationRemoved:
		return removeCustomization(s, a.ID)
	case *ahp.SessionMCPServerStateChanged:
		return editCustomization(s, a.ID, mcpServer{a.State, a.Channel}, setMCPServer)
	case *ahp.SessionMCPServerStartRequested:
		return editCustomization(s, a.ID, mcpServer{state: ahp.MCPServerState{Kind: ahp.MCPStarting}}, setMCPServer)
	case *ahp.SessionMCPServerStopRequested:
		return editCustomization(s, a.ID, mcpServer{state: ahp.MCPServerState{Kind: ahp.MCPStopped}}, setMCPServer)
	case *ahp.SessionMCPServerBackgroundRequested:
		return editCustomization(s, a.ID, a, sendToBackground)
	}
	c := *s
	if !editSession(&c, a) {
		return s
	}
	return &c
}

// editSession changes c, a copy of the state, and reports whether it did.
func editSession(c *ahp.SessionState, a ahp.Action) (changed bool) {
	changed = true
	switch a := a.(type) {
	case *ahp.SessionReady:
		c.Lifecycle = ahp.LifecycleReady
	case *ahp.SessionCreationFailed:
		c.Lifecycle, c.CreationError = ahp.LifecycleFailed, &a.Error
	case *ahp.SessionDefaultChatChanged:
		c.DefaultChat = a.DefaultChat
	case *ahp.SessionTitleChanged:
		c.Title = a.Title
	case *ahp.SessionIsReadChanged:
		return editStatus(c, c.Status.With(ahp.StatusIsRead, a.IsRead))
	case *ahp.SessionIsArchivedChanged:
		return editStatus(c, c.Status.With(ahp.StatusIsArchived, a.IsArchived))
	case *ahp.SessionActivityChanged:
		c.Activity = a.Activity
	case *ahp.SessionChangesetsChanged:
		c.Changesets = a.Changesets
	case *ahp.SessionServerToolsChanged:
		c.ServerTools = listed(a.Tools)
	case *ahp.SessionActiveClientSet:
		c.ActiveClients = upsert(c.ActiveClients, a.ActiveClient, isClient(a.ActiveClient.ClientID))
	case *ahp.SessionActiveClientRemoved:
		c.ActiveClients, changed = without(c.ActiveClients, isClient(a.ClientID))
	case *ahp.SessionInputNeededSet:
		setInput(c, a.Request)
	case *ahp.SessionInputNeededRemoved:
		return removeInput(c, a.ID)
	case *ahp.SessionCustomizationsChanged:
		c.Customizations = listed(a.Customizations)
	case *ahp.SessionCustomizationUpdated:
		c.Customizations = upsert(c.Customizations, a.Customization, isCustomization(a.Customization.ID))
	case *ahp.SessionConfigChanged:
		c.Config = configured(c.Config, &a.ConfigChange)
		return c.Config != nil
	case *ahp.SessionMetaChanged:
		c.Meta = nil
		if given(a.Meta) {
			c.Meta = a.Meta
		}
	case *ahp.SessionWorkingDirectorySet:
		c.WorkingDirectories, changed = withDirectory(c.WorkingDirectories, a.Directory)
	case *ahp.SessionWorkingDirectoryRemoved:
		c.WorkingDirectories, changed = withoutDirectory(c.WorkingDirectories, a.Directory)
	case *ahp.SessionWorkingDirectoryReplaced:
		c.WorkingDirectories, changed = swapDirectory(c.WorkingDirectories, a.Directory, a.Replacement)
	default:
		return false
	}
	return changed
}

func editStatus(c *ahp.SessionState, status ahp.Status) (changed bool) {
	changed = status != c.Status
	c.Status = status
	return changed
}

// setInput adds or replaces something the session waits for.
func setInput(c *ahp.SessionState, r ahp.SessionInputRequest) {
	c.InputNeeded = upsert(c.InputNeeded, r, isInput(r.ID))
	c.Status = statusOfInput(c)
}

// removeInput removes it. The list is never kept empty (AHP channels, 4.27).
func removeInput(c *ahp.SessionState, id string) bool {
	rest, removed := without(c.InputNeeded, isInput(id))
	if !removed {
		return false
	}
	c.InputNeeded = present(rest)
	c.Status = statusOfInput(c)
	return true
}

// statusOfInput is the status that follows from the list: InputNeeded if the
// user is waited for, else without the bit that says so. A tool that a client
// executes is no question to the user (AHP channels, 2.2, since 0.8).
func statusOfInput(c *ahp.SessionState) ahp.Status {
	waits := slices.ContainsFunc(c.InputNeeded, func(r ahp.SessionInputRequest) bool {
		return r.Kind != ahp.InputKindClientExecution
	})
	if waits {
		return c.Status.WithActivity(ahp.StatusInputNeeded)
	}
	return c.Status.WithoutInput()
}

func isClient(id string) func(*ahp.SessionActiveClient) bool {
	return func(c *ahp.SessionActiveClient) bool { return c.ClientID == id }
}

func isInput(id string) func(*ahp.SessionInputRequest) bool {
	return func(r *ahp.SessionInputRequest) bool { return r.ID == id }
}
