package ahp

import "github.com/go-json-experiment/json/jsontext"

// SessionReady ends the creation of a session.
type SessionReady struct{ ActionBase }

// SessionCreationFailed ends it with an error.
type SessionCreationFailed struct {
	ActionBase
	Error ErrorInfo `json:"error"`
}

// SessionChatAdded adds or replaces a chat.
type SessionChatAdded struct {
	ActionBase
	Summary ChatSummary `json:"summary"`
}

// SessionChatRemoved removes a chat.
type SessionChatRemoved struct {
	ActionBase
	Chat URI `json:"chat"`
}

// SessionChatUpdated merges changes into a chat's entry.
type SessionChatUpdated struct {
	ActionBase
	Chat    URI         `json:"chat"`
	Changes ChatChanges `json:"changes"`
}

// Places a chat can be moved to.
const (
	PlaceStart  = "start"
	PlaceEnd    = "end"
	PlaceBefore = "before"
	PlaceAfter  = "after"
)

// ChatDestination is where reordered chats go.
type ChatDestination struct {
	Kind   string         `json:"kind"`
	Anchor *URI           `json:"anchor,omitzero"`
	Extra  jsontext.Value `json:",embed"`
}

// SessionChatsReordered moves Chats to Destination; without one Chats is the
// front of the new order.
type SessionChatsReordered struct {
	ActionBase
	Chats       []URI            `json:"chats"`
	Destination *ChatDestination `json:"destination,omitzero"`
}

// SessionDefaultChatChanged sets or clears the default chat.
type SessionDefaultChatChanged struct {
	ActionBase
	DefaultChat *URI `json:"defaultChat,omitzero"`
}

// SessionTitleChanged sets the title.
type SessionTitleChanged struct {
	ActionBase
	Title string `json:"title"`
}

// SessionIsReadChanged sets or clears the read flag.
type SessionIsReadChanged struct {
	ActionBase
	IsRead bool `json:"isRead"`
}

// SessionIsArchivedChanged sets or clears the archived flag.
type SessionIsArchivedChanged struct {
	ActionBase
	IsArchived bool `json:"isArchived"`
}

// SessionActivityChanged sets or clears the activity text.
type SessionActivityChanged struct {
	ActionBase
	Activity *string `json:"activity,omitzero"`
}

// SessionChangesetsChanged replaces or clears the changeset catalogue.
type SessionChangesetsChanged struct {
	ActionBase
	Changesets []Changeset `json:"changesets,omitzero"`
}

// SessionServerToolsChanged replaces the host's tools.
type SessionServerToolsChanged struct {
	ActionBase
	Tools []ToolDefinition `json:"tools"`
}

// SessionActiveClientSet adds or replaces an active client.
type SessionActiveClientSet struct {
	ActionBase
	ActiveClient SessionActiveClient `json:"activeClient"`
}

// SessionActiveClientRemoved removes one.
type SessionActiveClientRemoved struct {
	ActionBase
	ClientID string `json:"clientId"`
}

// SessionInputNeededSet adds or replaces something the session waits for.
type SessionInputNeededSet struct {
	ActionBase
	Request SessionInputRequest `json:"request"`
}

// SessionInputNeededRemoved removes it.
type SessionInputNeededRemoved struct {
	ActionBase
	ID string `json:"id"`
}

// SessionCustomizationsChanged replaces all customizations.
type SessionCustomizationsChanged struct {
	ActionBase
	Customizations []Customization `json:"customizations"`
}

// SessionCustomizationToggled switches a customization. Enablement is the form
// since 0.9, Enabled the one before.
type SessionCustomizationToggled struct {
	ActionBase
	ID         string       `json:"id"`
	Enablement []Enablement `json:"enablement,omitzero"`
	Enabled    *bool        `json:"enabled,omitzero"`
}

// SessionCustomizationUpdated adds or replaces a top-level customization.
type SessionCustomizationUpdated struct {
	ActionBase
	Customization Customization `json:"customization"`
}

// SessionCustomizationRemoved removes one, top level or child.
type SessionCustomizationRemoved struct {
	ActionBase
	ID string `json:"id"`
}

// SessionMCPServerStateChanged reports the state of an MCP server.
type SessionMCPServerStateChanged struct {
	ActionBase
	ID      string         `json:"id"`
	State   MCPServerState `json:"state"`
	Channel *URI           `json:"channel,omitzero"`
}

// SessionMCPServerStartRequested asks to start an MCP server.
type SessionMCPServerStartRequested struct {
	ActionBase
	ID string `json:"id"`
}

// SessionMCPServerStopRequested asks to stop one.
type SessionMCPServerStopRequested struct {
	ActionBase
	ID string `json:"id"`
}

// SessionMCPServerBackgroundRequested stops waiting for a starting server.
type SessionMCPServerBackgroundRequested struct {
	ActionBase
	ID string `json:"id"`
}

// SessionConfigChanged merges configuration values, or replaces them all.
type SessionConfigChanged struct {
	ActionBase
	ConfigChange
}

// SessionMetaChanged replaces or clears _meta; the new value is the action's
// own Meta.
type SessionMetaChanged struct{ ActionBase }

// SessionWorkingDirectorySet adds a directory.
type SessionWorkingDirectorySet struct {
	ActionBase
	Directory URI `json:"directory"`
}

// SessionWorkingDirectoryRemoved removes one.
type SessionWorkingDirectoryRemoved struct {
	ActionBase
	Directory URI `json:"directory"`
}

// SessionWorkingDirectoryReplaced swaps one for another.
type SessionWorkingDirectoryReplaced struct {
	ActionBase
	Directory   URI `json:"directory"`
	Replacement URI `json:"replacement"`
}
