package ahp

import "github.com/go-json-experiment/json/jsontext"

// RootState is the state of ahp-root://.
type RootState struct {
	Agents         []AgentInfo    `json:"agents"`
	ActiveSessions *int64         `json:"activeSessions,omitzero"`
	Terminals      []TerminalInfo `json:"terminals,omitzero"`
	Config         *ConfigState   `json:"config,omitzero"`
	Meta           jsontext.Value `json:"_meta,omitzero"`
	Extra          jsontext.Value `json:",embed"`
}

// AgentInfo is an agent the host offers.
type AgentInfo struct {
	Provider           string                      `json:"provider"`
	DisplayName        string                      `json:"displayName"`
	Description        string                      `json:"description"`
	Models             []SessionModelInfo          `json:"models"`
	ProtectedResources []ProtectedResourceMetadata `json:"protectedResources,omitzero"`
	Customizations     []Customization             `json:"customizations,omitzero"`
	Capabilities       *AgentCapabilities          `json:"capabilities,omitzero"`
	Extra              jsontext.Value              `json:",embed"`
}

// AgentCapabilities tells what an agent can do; absent means it cannot.
type AgentCapabilities struct {
	MultipleChats              *MultipleChatsCapability              `json:"multipleChats,omitzero"`
	MultipleWorkingDirectories *MultipleWorkingDirectoriesCapability `json:"multipleWorkingDirectories,omitzero"`
	Extra                      jsontext.Value                        `json:",embed"`
}

// MultipleChatsCapability: createChat may add chats to a session.
type MultipleChatsCapability struct {
	Fork     *bool          `json:"fork,omitzero"`
	SideChat *bool          `json:"sideChat,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

// MultipleWorkingDirectoriesCapability: a session may have several directories.
type MultipleWorkingDirectoriesCapability struct {
	ImmutablePrimary   *bool          `json:"immutablePrimary,omitzero"`
	PrimaryReplacement *bool          `json:"primaryReplacement,omitzero"`
	Extra              jsontext.Value `json:",embed"`
}

// SessionModelInfo is a model of an agent. Limits count tokens.
type SessionModelInfo struct {
	ID               string         `json:"id"`
	Provider         string         `json:"provider"`
	Name             string         `json:"name"`
	MaxContextWindow *float64       `json:"maxContextWindow,omitzero"`
	MaxOutputTokens  *float64       `json:"maxOutputTokens,omitzero"`
	MaxPromptTokens  *float64       `json:"maxPromptTokens,omitzero"`
	SupportsVision   *bool          `json:"supportsVision,omitzero"`
	PolicyState      *string        `json:"policyState,omitzero"`
	ConfigSchema     *ConfigSchema  `json:"configSchema,omitzero"`
	Meta             jsontext.Value `json:"_meta,omitzero"`
	Extra            jsontext.Value `json:",embed"`
}

// RootAgentsChanged replaces the agents.
type RootAgentsChanged struct {
	ActionBase
	Agents []AgentInfo `json:"agents"`
}

// RootActiveSessionsChanged replaces the count of sessions.
type RootActiveSessionsChanged struct {
	ActionBase
	ActiveSessions int64 `json:"activeSessions"`
}

// RootTerminalsChanged replaces the list of terminals.
type RootTerminalsChanged struct {
	ActionBase
	Terminals []TerminalInfo `json:"terminals"`
}

// ConfigChange merges Config into the values, or replaces them all.
type ConfigChange struct {
	Config  map[string]jsontext.Value `json:"config"`
	Replace *bool                     `json:"replace,omitzero"`
}

// RootConfigChanged changes the host's configuration values.
type RootConfigChanged struct {
	ActionBase
	ConfigChange
}
