package ahp

import "github.com/go-json-experiment/json/jsontext"

// Types of customization.
const (
	CustomizationPlugin    = "plugin"
	CustomizationDirectory = "directory"
	CustomizationAgent     = "agent"
	CustomizationSkill     = "skill"
	CustomizationPrompt    = "prompt"
	CustomizationRule      = "rule"
	CustomizationHook      = "hook"
	CustomizationMCPServer = "mcpServer"
)

// Enablement switches a plugin or MCP server for one scope. A list of them is
// sorted from the specific to the global; the first one counts.
type Enablement struct {
	Kind    string         `json:"kind"` // session, workspace, global
	URI     *URI           `json:"uri,omitzero"`
	Enabled bool           `json:"enabled"`
	Extra   jsontext.Value `json:",embed"`
}

// CustomizationLoad is the load state of a plugin or directory.
type CustomizationLoad struct {
	Kind    string         `json:"kind"` // loading, loaded, degraded, error
	Message *string        `json:"message,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// Customization is something that shapes an agent. Type says which members
// are used.
type Customization struct {
	Type  string         `json:"type"`
	ID    string         `json:"id"`
	URI   URI            `json:"uri"`
	Name  string         `json:"name"`
	Icons []Icon         `json:"icons,omitzero"`
	Range *TextRange     `json:"range,omitzero"`
	Meta  jsontext.Value `json:"_meta,omitzero"`

	Enabled         *bool                   `json:"enabled,omitzero"`    // directories and children
	Enablement      []Enablement            `json:"enablement,omitzero"` // plugin, mcpServer
	ChildEnablement map[string][]Enablement `json:"childEnablement,omitzero"`
	ClientID        *string                 `json:"clientId,omitzero"`
	Load            *CustomizationLoad      `json:"load,omitzero"`
	Children        []Customization         `json:"children,omitzero"` // absent: not parsed yet
	Version         *string                 `json:"version,omitzero"`
	Nonce           *string                 `json:"nonce,omitzero"`
	Contents        *string                 `json:"contents,omitzero"` // directory
	Writable        *bool                   `json:"writable,omitzero"` // directory

	Description            *string  `json:"description,omitzero"`
	Model                  *string  `json:"model,omitzero"` // agent
	Tools                  []string `json:"tools,omitzero"` // agent; empty means no restriction
	DisableModelInvocation *bool    `json:"disableModelInvocation,omitzero"`
	DisableUserInvocation  *bool    `json:"disableUserInvocation,omitzero"`
	AlwaysApply            *bool    `json:"alwaysApply,omitzero"` // rule
	Globs                  []string `json:"globs,omitzero"`       // rule

	State   *MCPServerState `json:"state,omitzero"`   // mcpServer
	Channel *URI            `json:"channel,omitzero"` // mcpServer
	MCPApp  jsontext.Value  `json:"mcpApp,omitzero"`  // mcpServer

	Raw   jsontext.Value `json:"-"` // an unknown variant, whole
	Extra jsontext.Value `json:",embed"`
}

var customizationTypes = set(CustomizationPlugin, CustomizationDirectory, CustomizationAgent, CustomizationSkill,
	CustomizationPrompt, CustomizationRule, CustomizationHook, CustomizationMCPServer)

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *Customization) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain Customization
	return decodeUnion(dec, "type", customizationTypes, (*plain)(c), func(v string, raw jsontext.Value) {
		id, _ := memberString(raw, "id")
		*c = Customization{Type: v, ID: id, Raw: raw}
	})
}

// MarshalJSONTo implements json.MarshalerTo.
func (c Customization) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Customization
	return encodeUnion(enc, c.Raw, plain(c))
}

// Kinds of MCP server state.
const (
	MCPStarting     = "starting"
	MCPReady        = "ready"
	MCPAuthRequired = "authRequired"
	MCPError        = "error"
	MCPStopped      = "stopped"
)

// MCPServerState is the state of an MCP server. The members after Error are
// those of an MCPAuthRequirement, used with authRequired.
type MCPServerState struct {
	Kind     string     `json:"kind"`
	Blocking *bool      `json:"blocking,omitzero"` // starting
	Error    *ErrorInfo `json:"error,omitzero"`    // error

	Reason         *string                    `json:"reason,omitzero"`
	OAuthClient    *MCPOAuthClient            `json:"oauthClient,omitzero"`
	Resource       *ProtectedResourceMetadata `json:"resource,omitzero"`
	RequiredScopes []string                   `json:"requiredScopes,omitzero"`
	Description    *string                    `json:"description,omitzero"`

	Raw   jsontext.Value `json:"-"` // an unknown variant, whole
	Extra jsontext.Value `json:",embed"`
}

var mcpStates = set(MCPStarting, MCPReady, MCPAuthRequired, MCPError, MCPStopped)

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (s *MCPServerState) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain MCPServerState
	return decodeUnion(dec, "kind", mcpStates, (*plain)(s), func(v string, raw jsontext.Value) {
		*s = MCPServerState{Kind: v, Raw: raw}
	})
}

// MarshalJSONTo implements json.MarshalerTo.
func (s MCPServerState) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain MCPServerState
	return encodeUnion(enc, s.Raw, plain(s))
}

// MCPOAuthClient is the client registration to sign in with.
type MCPOAuthClient struct {
	ClientID     string         `json:"clientId"`
	ClientSecret *string        `json:"clientSecret,omitzero"`
	Extra        jsontext.Value `json:",embed"`
}

// MCPAuthRequirement says what a sign-in needs. It never holds a token.
type MCPAuthRequirement struct {
	Reason         string                     `json:"reason"` // required, expired, insufficientScope
	OAuthClient    *MCPOAuthClient            `json:"oauthClient,omitzero"`
	Resource       *ProtectedResourceMetadata `json:"resource,omitzero"`
	RequiredScopes []string                   `json:"requiredScopes,omitzero"`
	Description    *string                    `json:"description,omitzero"`
	Extra          jsontext.Value             `json:",embed"`
}
