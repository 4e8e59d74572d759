package acp

import "github.com/go-json-experiment/json/jsontext"

// protocolVersion is the only version of ACP spoken here.
const protocolVersion = 1

// Methods the agent serves.
const (
	methodInitialize      = "initialize"
	methodAuthenticate    = "authenticate"
	methodSessionNew      = "session/new"
	methodSessionLoad     = "session/load"
	methodSessionResume   = "session/resume"
	methodSessionClose    = "session/close"
	methodPrompt          = "session/prompt"
	methodCancel          = "session/cancel"
	methodSetMode         = "session/set_mode"
	methodSetConfigOption = "session/set_config_option"
	methodSetModel        = "session/set_model" // of an earlier draft, still alive
)

// Methods the client serves.
const (
	methodUpdate         = "session/update"
	methodPermission     = "session/request_permission"
	methodReadFile       = "fs/read_text_file"
	methodWriteFile      = "fs/write_text_file"
	methodTerminalCreate = "terminal/create"
	methodTerminalOutput = "terminal/output"
	methodTerminalWait   = "terminal/wait_for_exit"
	methodTerminalKill   = "terminal/kill"
	methodTerminalEnd    = "terminal/release"
	methodElicit         = "elicitation/create"
	methodCancelRequest  = "$/cancel_request" // both directions
)

// Error codes beyond those of JSON-RPC.
const (
	codeAuthRequired     = -32000
	codeResourceNotFound = -32002
)

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitzero"`
	Version string `json:"version"`
}

// flag is a capability that is present or absent.
type flag struct{}

type initializeParams struct {
	ProtocolVersion    int                `json:"protocolVersion"`
	ClientCapabilities clientCapabilities `json:"clientCapabilities"`
	ClientInfo         implementation     `json:"clientInfo"`
}

type clientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
	Session  struct {
		ConfigOptions struct {
			Boolean flag `json:"boolean"`
		} `json:"configOptions"`
	} `json:"session"`
	Elicitation struct {
		Form flag `json:"form"`
		URL  flag `json:"url"`
	} `json:"elicitation"`
}

type initializeResult struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities agentCapabilities `json:"agentCapabilities"`
	AuthMethods       []authMethod      `json:"authMethods"`
	AgentInfo         *implementation   `json:"agentInfo"`
}

type agentCapabilities struct {
	LoadSession        bool `json:"loadSession"`
	PromptCapabilities struct {
		Image           bool `json:"image"`
		Audio           bool `json:"audio"`
		EmbeddedContext bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	MCPCapabilities struct {
		HTTP bool `json:"http"`
		SSE  bool `json:"sse"`
	} `json:"mcpCapabilities"`
	SessionCapabilities struct {
		Resume                jsontext.Value `json:"resume"`
		Close                 jsontext.Value `json:"close"`
		AdditionalDirectories jsontext.Value `json:"additionalDirectories"`
	} `json:"sessionCapabilities"`
}

// has reports whether a capability is present: neither absent, null nor false.
func has(v jsontext.Value) bool {
	return len(v) > 0 && v.Kind() != jsontext.KindNull && v.Kind() != jsontext.KindFalse
}

type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
	Vars        []struct {
		Name     string `json:"name"`
		Optional bool   `json:"optional"`
	} `json:"vars"`
}

type authenticateParams struct {
	MethodID string `json:"methodId"`
}

// sessionParams open a session: new without an id, load and resume with one.
type sessionParams struct {
	SessionID             string      `json:"sessionId,omitzero"`
	Cwd                   string      `json:"cwd"`
	MCPServers            []mcpServer `json:"mcpServers"`
	AdditionalDirectories []string    `json:"additionalDirectories,omitzero"`
}

type sessionResult struct {
	SessionID     string         `json:"sessionId"`
	Modes         *modeState     `json:"modes"`
	Models        *modelState    `json:"models"` // of an earlier draft
	ConfigOptions []configOption `json:"configOptions"`
}

type sessionRef struct {
	SessionID string `json:"sessionId"`
}

type modeState struct {
	CurrentModeID  string `json:"currentModeId"`
	AvailableModes []struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"availableModes"`
}

type modelState struct {
	CurrentModelID  string `json:"currentModelId"`
	AvailableModels []struct {
		ModelID     string `json:"modelId"`
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"availableModels"`
}

// configOption is a select, flat or in groups, or a boolean. Another type is
// ignored.
type configOption struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Description  string         `json:"description,omitzero"`
	Category     string         `json:"category,omitzero"`
	Type         string         `json:"type"`
	CurrentValue jsontext.Value `json:"currentValue"`
	Options      []selectOption `json:"options,omitzero"`
}

// selectOption is a choice, or a group of them when Options is set.
type selectOption struct {
	Value       string         `json:"value,omitzero"`
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Group       string         `json:"group,omitzero"`
	Options     []selectOption `json:"options,omitzero"`
}

type setConfigParams struct {
	SessionID string         `json:"sessionId"`
	ConfigID  string         `json:"configId"`
	Type      string         `json:"type,omitzero"`
	Value     jsontext.Value `json:"value"`
}

type promptParams struct {
	SessionID string         `json:"sessionId"`
	Prompt    []contentBlock `json:"prompt"`
}

type promptResult struct {
	StopReason string      `json:"stopReason"`
	Usage      *tokenUsage `json:"usage"`
}

// Reasons for the end of a prompt.
const (
	stopEndTurn         = "end_turn"
	stopMaxTokens       = "max_tokens"
	stopMaxTurnRequests = "max_turn_requests"
	stopRefusal         = "refusal"
	stopCancelled       = "cancelled"
)

type tokenUsage struct {
	InputTokens      *float64 `json:"inputTokens"`
	OutputTokens     *float64 `json:"outputTokens"`
	CachedReadTokens *float64 `json:"cachedReadTokens"`
}

// contentBlock is a block of any type; Type says which members are used.
type contentBlock struct {
	Type        string            `json:"type"`
	Text        string            `json:"text,omitzero"`        // text
	Data        string            `json:"data,omitzero"`        // image, audio: base64
	MIMEType    string            `json:"mimeType,omitzero"`    // image, audio, resource_link
	URI         string            `json:"uri,omitzero"`         // resource_link, image
	Name        string            `json:"name,omitzero"`        // resource_link
	Title       string            `json:"title,omitzero"`       // resource_link
	Description string            `json:"description,omitzero"` // resource_link
	Size        *float64          `json:"size,omitzero"`        // resource_link, bytes
	Resource    *embeddedResource `json:"resource,omitzero"`    // resource
}

// Types of a content block.
const (
	blockText         = "text"
	blockImage        = "image"
	blockAudio        = "audio"
	blockResourceLink = "resource_link"
	blockResource     = "resource"
)

type embeddedResource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitzero"`
	Text     *string `json:"text,omitzero"`
	Blob     *string `json:"blob,omitzero"` // base64
}

// toolUpdate is a tool call or what changed of one: an absent member is
// unchanged, a list replaces.
type toolUpdate struct {
	ToolCallID string         `json:"toolCallId"`
	Name       *string        `json:"name"`
	Title      *string        `json:"title"`
	Kind       *string        `json:"kind"`
	Status     *string        `json:"status"`
	Content    []toolContent  `json:"content"`
	Locations  jsontext.Value `json:"locations"`
	RawInput   jsontext.Value `json:"rawInput"`
	RawOutput  jsontext.Value `json:"rawOutput"`
}

// Statuses of a tool call.
const (
	statusPending    = "pending"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusFailed     = "failed"
)

type toolContent struct {
	Type       string        `json:"type"`
	Content    *contentBlock `json:"content"`    // content
	Path       string        `json:"path"`       // diff
	OldText    *string       `json:"oldText"`    // diff
	NewText    string        `json:"newText"`    // diff
	TerminalID string        `json:"terminalId"` // terminal
}

// Types of tool content.
const (
	contentBlockType = "content"
	contentDiff      = "diff"
	contentTerminal  = "terminal"
)

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

type availableCommand struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Input       *struct {
		Hint string `json:"hint"`
	} `json:"input"`
}

type permissionParams struct {
	SessionID string             `json:"sessionId"`
	ToolCall  toolUpdate         `json:"toolCall"`
	Options   []permissionOption `json:"options"`
}

type permissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// Kinds of permission option.
const (
	allowOnce    = "allow_once"
	allowAlways  = "allow_always"
	rejectOnce   = "reject_once"
	rejectAlways = "reject_always"
)

type permissionResult struct {
	Outcome permissionOutcome `json:"outcome"`
}

type permissionOutcome struct {
	Outcome  string `json:"outcome"`
	OptionID string `json:"optionId,omitzero"`
}

// withdrawn is the outcome of a permission that nobody decided on.
var withdrawn = permissionResult{permissionOutcome{Outcome: "cancelled"}}
