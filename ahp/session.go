package ahp

import "github.com/go-json-experiment/json/jsontext"

// Lifecycles of a session.
const (
	LifecycleCreating = "creating"
	LifecycleReady    = "ready"
	LifecycleFailed   = "failed"
)

// ProjectInfo names the project a session belongs to.
type ProjectInfo struct {
	URI         URI            `json:"uri"`
	DisplayName string         `json:"displayName"`
	Extra       jsontext.Value `json:",embed"`
}

// AnnotationsSummary announces the annotations channel of a session.
type AnnotationsSummary struct {
	Resource        URI            `json:"resource"`
	AnnotationCount int64          `json:"annotationCount"`
	EntryCount      int64          `json:"entryCount"`
	Extra           jsontext.Value `json:",embed"`
}

// SessionOrigin says how a session came about, when not by a person.
type SessionOrigin struct {
	Kind       string         `json:"kind"`
	Automation *URI           `json:"automation,omitzero"`
	Run        *URI           `json:"run,omitzero"`
	Extra      jsontext.Value `json:",embed"`
}

// ToolAnnotations are MCP's hints about a tool.
type ToolAnnotations struct {
	Title           *string        `json:"title,omitzero"`
	ReadOnlyHint    *bool          `json:"readOnlyHint,omitzero"`
	DestructiveHint *bool          `json:"destructiveHint,omitzero"`
	IdempotentHint  *bool          `json:"idempotentHint,omitzero"`
	OpenWorldHint   *bool          `json:"openWorldHint,omitzero"`
	Extra           jsontext.Value `json:",embed"`
}

// ToolDefinition is a tool somebody offers. The schemas are JSON Schema and
// kept verbatim.
type ToolDefinition struct {
	Name         string           `json:"name"`
	Title        *string          `json:"title,omitzero"`
	Description  *string          `json:"description,omitzero"`
	InputSchema  jsontext.Value   `json:"inputSchema,omitzero"`
	OutputSchema jsontext.Value   `json:"outputSchema,omitzero"`
	Annotations  *ToolAnnotations `json:"annotations,omitzero"`
	Meta         jsontext.Value   `json:"_meta,omitzero"`
	Extra        jsontext.Value   `json:",embed"`
}

// SessionActiveClient is a client that takes part in a session.
type SessionActiveClient struct {
	ClientID       string           `json:"clientId"`
	DisplayName    *string          `json:"displayName,omitzero"`
	Tools          []ToolDefinition `json:"tools"`
	Customizations []Customization  `json:"customizations,omitzero"`
	Extra          jsontext.Value   `json:",embed"`
}

// Kinds of session input request.
const (
	InputKindChat            = "chatInput"
	InputKindConfirmation    = "toolConfirmation"
	InputKindClientExecution = "toolClientExecution"
	InputKindAuthentication  = "toolAuthentication"
)

// SessionInputRequest is something a session waits for.
type SessionInputRequest struct {
	ID       string            `json:"id"`
	Chat     URI               `json:"chat"`
	Kind     string            `json:"kind"`
	Request  *ChatInputRequest `json:"request,omitzero"`  // chatInput
	TurnID   *string           `json:"turnId,omitzero"`   // the tool kinds
	ClientID *string           `json:"clientId,omitzero"` // toolClientExecution
	ToolCall *ToolCall         `json:"toolCall,omitzero"` // the tool kinds
	Raw      jsontext.Value    `json:"-"`                 // an unknown variant, whole
	Extra    jsontext.Value    `json:",embed"`
}

var inputKinds = set(InputKindChat, InputKindConfirmation, InputKindClientExecution, InputKindAuthentication)

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (r *SessionInputRequest) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain SessionInputRequest
	return decodeUnion(dec, "kind", inputKinds, (*plain)(r), func(v string, raw jsontext.Value) {
		*r = SessionInputRequest{Kind: v, Raw: raw}
		r.ID, _ = memberString(raw, "id")
		r.Chat, _ = memberString(raw, "chat")
	})
}

// MarshalJSONTo implements json.MarshalerTo.
func (r SessionInputRequest) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain SessionInputRequest
	return encodeUnion(enc, r.Raw, plain(r))
}

// SessionState is the state of a session.
type SessionState struct {
	Provider           string                `json:"provider"`
	Title              string                `json:"title"`
	Status             Status                `json:"status"`
	Activity           *string               `json:"activity,omitzero"`
	Project            *ProjectInfo          `json:"project,omitzero"`
	WorkingDirectories []URI                 `json:"workingDirectories,omitzero"`
	Annotations        *AnnotationsSummary   `json:"annotations,omitzero"`
	Origin             *SessionOrigin        `json:"origin,omitzero"`
	Lifecycle          string                `json:"lifecycle"`
	CreationError      *ErrorInfo            `json:"creationError,omitzero"`
	ServerTools        []ToolDefinition      `json:"serverTools,omitzero"`
	ActiveClients      []SessionActiveClient `json:"activeClients"`
	Chats              []ChatSummary         `json:"chats"`
	DefaultChat        *URI                  `json:"defaultChat,omitzero"`
	Config             *ConfigState          `json:"config,omitzero"`
	Customizations     []Customization       `json:"customizations,omitzero"`
	Changesets         []Changeset           `json:"changesets,omitzero"`
	InputNeeded        []SessionInputRequest `json:"inputNeeded,omitzero"`
	Meta               jsontext.Value        `json:"_meta,omitzero"`
	Extra              jsontext.Value        `json:",embed"`
}

// SessionChatRef is the short form of a chat in a session summary.
type SessionChatRef struct {
	Resource      URI             `json:"resource"`
	Title         *string         `json:"title,omitzero"`
	Origin        *ChatOrigin     `json:"origin,omitzero"`
	Interactivity *string         `json:"interactivity,omitzero"`
	Status        *Status         `json:"status,omitzero"`
	Changes       *ChangesSummary `json:"changes,omitzero"`
	Extra         jsontext.Value  `json:",embed"`
}

// SessionSummary is a session in a list and in notifications.
type SessionSummary struct {
	Resource           URI                 `json:"resource"`
	Provider           string              `json:"provider"`
	Title              string              `json:"title"`
	Status             Status              `json:"status"`
	CreatedAt          string              `json:"createdAt"`  // ISO 8601
	ModifiedAt         string              `json:"modifiedAt"` // ISO 8601
	Activity           *string             `json:"activity,omitzero"`
	Project            *ProjectInfo        `json:"project,omitzero"`
	WorkingDirectories []URI               `json:"workingDirectories,omitzero"`
	Annotations        *AnnotationsSummary `json:"annotations,omitzero"`
	Origin             *SessionOrigin      `json:"origin,omitzero"`
	Changes            *ChangesSummary     `json:"changes,omitzero"`
	Chats              []SessionChatRef    `json:"chats,omitzero"`
	DefaultChat        *URI                `json:"defaultChat,omitzero"`
	Meta               jsontext.Value      `json:"_meta,omitzero"`
	Extra              jsontext.Value      `json:",embed"`
}

// SessionChanges is a partial SessionSummary: an absent member means
// unchanged. The identity members (resource, provider, createdAt) are ignored.
type SessionChanges struct {
	Title              *string             `json:"title,omitzero"`
	Status             *Status             `json:"status,omitzero"`
	ModifiedAt         *string             `json:"modifiedAt,omitzero"`
	Activity           *string             `json:"activity,omitzero"`
	Project            *ProjectInfo        `json:"project,omitzero"`
	WorkingDirectories []URI               `json:"workingDirectories,omitzero"`
	Annotations        *AnnotationsSummary `json:"annotations,omitzero"`
	Changes            *ChangesSummary     `json:"changes,omitzero"`
	Chats              []SessionChatRef    `json:"chats,omitzero"`
	DefaultChat        *URI                `json:"defaultChat,omitzero"`
	Meta               jsontext.Value      `json:"_meta,omitzero"`
	Extra              jsontext.Value      `json:",embed"`
}
