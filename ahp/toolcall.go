package ahp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Statuses of a tool call (AHP channels, 2.3).
const (
	ToolStreaming                 = "streaming"
	ToolPendingConfirmation       = "pending-confirmation"
	ToolRunning                   = "running"
	ToolAuthRequired              = "auth-required"
	ToolPendingResultConfirmation = "pending-result-confirmation"
	ToolCompleted                 = "completed"
	ToolCancelled                 = "cancelled"
)

// Why a tool call runs.
const (
	ConfirmedNotNeeded  = "not-needed"
	ConfirmedUserAction = "user-action"
	ConfirmedSetting    = "setting"
)

// Why a tool call was cancelled. The set is closed.
const (
	ReasonDenied       = "denied"
	ReasonSkipped      = "skipped"
	ReasonResultDenied = "result-denied"
)

// ToolInput is the input of a tool call: inline text or a reference.
type ToolInput struct {
	Text string
	Ref  *ContentRef // set: the input is a reference and Text is empty
}

// InlineInput is an input given as text.
func InlineInput(s string) *ToolInput { return &ToolInput{Text: s} }

// MarshalJSONTo implements json.MarshalerTo.
func (t ToolInput) MarshalJSONTo(enc *jsontext.Encoder) error {
	if t.Ref != nil {
		return json.MarshalEncode(enc, t.Ref)
	}
	return enc.WriteToken(jsontext.String(t.Text))
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *ToolInput) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*t = ToolInput{}
	if dec.PeekKind() == '{' {
		return json.UnmarshalDecode(dec, &t.Ref)
	}
	return json.UnmarshalDecode(dec, &t.Text)
}

// Kinds of tool contributor.
const (
	ContributorClient = "client"
	ContributorMCP    = "mcp"
)

// ToolCallContributor says who brought the tool: a client or an MCP server.
type ToolCallContributor struct {
	Kind            string         `json:"kind"`
	ClientID        *string        `json:"clientId,omitzero"`
	CustomizationID *string        `json:"customizationId,omitzero"`
	Extra           jsontext.Value `json:",embed"`
}

// RiskAssessment is a judge's view of a tool call.
type RiskAssessment struct {
	Kind   string            `json:"kind"`
	Status string            `json:"status"` // loading or complete
	Reason *StringOrMarkdown `json:"reason,omitzero"`
	Safety *float64          `json:"safety,omitzero"` // 0 to 1
	Extra  jsontext.Value    `json:",embed"`
}

// Kinds of confirmation option.
const (
	OptionApprove = "approve"
	OptionDeny    = "deny"
)

// ConfirmationOption is one way to answer a waiting tool call.
type ConfirmationOption struct {
	ID    string         `json:"id"`
	Label string         `json:"label"`
	Kind  string         `json:"kind"`
	Group *int64         `json:"group,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// ToolError is the error of a failed tool result.
type ToolError struct {
	Message string         `json:"message"`
	Code    *string        `json:"code,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// ToolCallResult is how a tool call ended.
type ToolCallResult struct {
	Success           bool                `json:"success"`
	PastTenseMessage  StringOrMarkdown    `json:"pastTenseMessage"`
	Content           []ToolResultContent `json:"content,omitzero"`
	StructuredContent jsontext.Value      `json:"structuredContent,omitzero"`
	Error             *ToolError          `json:"error,omitzero"`
	Extra             jsontext.Value      `json:",embed"`
}

// ToolCall is a tool call in one of its statuses; Status says which members
// are used. A status this build does not know keeps the object in Raw beside
// the base members, so that the end of a turn can still cancel the call.
type ToolCall struct {
	Status      string               `json:"status"`
	ToolCallID  string               `json:"toolCallId"`
	ToolName    string               `json:"toolName"`
	DisplayName string               `json:"displayName"`
	Intention   *string              `json:"intention,omitzero"`
	Contributor *ToolCallContributor `json:"contributor,omitzero"`
	Meta        jsontext.Value       `json:"_meta,omitzero"`

	PartialInput      Text                 `json:"partialInput,omitzero"`      // streaming
	InvocationMessage *StringOrMarkdown    `json:"invocationMessage,omitzero"` // optional while streaming
	ToolInput         *ToolInput           `json:"toolInput,omitzero"`
	ConfirmationTitle *StringOrMarkdown    `json:"confirmationTitle,omitzero"` // pending-confirmation
	RiskAssessment    *RiskAssessment      `json:"riskAssessment,omitzero"`    // pending-confirmation
	Edits             *FileEdits           `json:"edits,omitzero"`             // pending-confirmation
	Editable          *bool                `json:"editable,omitzero"`          // pending-confirmation
	Options           []ConfirmationOption `json:"options,omitzero"`           // pending-confirmation
	Confirmed         *string              `json:"confirmed,omitzero"`         // running and later
	SelectedOption    *ConfirmationOption  `json:"selectedOption,omitzero"`    // running and later
	Auth              *MCPAuthRequirement  `json:"auth,omitzero"`              // auth-required
	Content           []ToolResultContent  `json:"content,omitzero"`           // running and later
	Success           *bool                `json:"success,omitzero"`           // result
	PastTenseMessage  *StringOrMarkdown    `json:"pastTenseMessage,omitzero"`  // result
	StructuredContent jsontext.Value       `json:"structuredContent,omitzero"` // result
	Error             *ToolError           `json:"error,omitzero"`             // result
	Reason            *string              `json:"reason,omitzero"`            // cancelled
	ReasonMessage     *StringOrMarkdown    `json:"reasonMessage,omitzero"`     // cancelled
	UserSuggestion    *Message             `json:"userSuggestion,omitzero"`    // cancelled

	Raw   jsontext.Value `json:"-"`
	Extra jsontext.Value `json:",embed"`
}

var toolStatuses = set(ToolStreaming, ToolPendingConfirmation, ToolRunning, ToolAuthRequired,
	ToolPendingResultConfirmation, ToolCompleted, ToolCancelled)

// Ended reports whether the call is completed or cancelled.
func (t *ToolCall) Ended() bool { return t.Status == ToolCompleted || t.Status == ToolCancelled }

// WaitsForUser reports whether the call waits for a decision or a sign-in.
func (t *ToolCall) WaitsForUser() bool {
	switch t.Status {
	case ToolPendingConfirmation, ToolPendingResultConfirmation, ToolAuthRequired:
		return true
	}
	return false
}

// Base returns a call with only the members every status has.
func (t *ToolCall) Base(status string) *ToolCall {
	return &ToolCall{
		Status: status, ToolCallID: t.ToolCallID, ToolName: t.ToolName, DisplayName: t.DisplayName,
		Intention: t.Intention, Contributor: t.Contributor, Meta: t.Meta,
	}
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *ToolCall) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain ToolCall
	return decodeUnion(dec, "status", toolStatuses, (*plain)(t), func(v string, raw jsontext.Value) {
		*t = ToolCall{Status: v, Raw: raw}
		t.ToolCallID, _ = memberString(raw, "toolCallId")
		t.ToolName, _ = memberString(raw, "toolName")
		t.DisplayName, _ = memberString(raw, "displayName")
		t.decodeBase(raw)
	})
}

// decodeBase reads the optional base members of an unknown status as far as
// they have the known form.
func (t *ToolCall) decodeBase(raw jsontext.Value) {
	var base struct {
		Intention         *string              `json:"intention"`
		Contributor       *ToolCallContributor `json:"contributor"`
		Meta              jsontext.Value       `json:"_meta"`
		InvocationMessage *StringOrMarkdown    `json:"invocationMessage"`
		ToolInput         *ToolInput           `json:"toolInput"`
	}
	if json.Unmarshal(raw, &base, decodeOptions) == nil {
		t.Intention, t.Contributor, t.Meta = base.Intention, base.Contributor, base.Meta
		t.InvocationMessage, t.ToolInput = base.InvocationMessage, base.ToolInput
	}
}

// MarshalJSONTo implements json.MarshalerTo.
func (t ToolCall) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain ToolCall
	return encodeUnion(enc, t.Raw, plain(t))
}

// Types of tool result content.
const (
	ContentText             = "text"
	ContentEmbeddedResource = "embeddedResource"
	ContentResource         = "resource"
	ContentFileEdit         = "fileEdit"
	ContentTerminal         = "terminal"
	ContentSubagent         = "subagent"
)

// TerminalResult is how the command of a terminal ended.
type TerminalResult struct {
	ExitCode  *int64         `json:"exitCode,omitzero"`
	Preview   *string        `json:"preview,omitzero"`
	Truncated *bool          `json:"truncated,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// ToolResultContent is one piece of a tool's output. Type says which members
// are used.
type ToolResultContent struct {
	Type        string          `json:"type"`
	Text        *string         `json:"text,omitzero"`        // text
	Data        *string         `json:"data,omitzero"`        // embeddedResource, base64
	ContentType *string         `json:"contentType,omitzero"` // embeddedResource, resource
	URI         *URI            `json:"uri,omitzero"`         // resource
	SizeHint    *float64        `json:"sizeHint,omitzero"`    // resource, bytes
	Nonce       *string         `json:"nonce,omitzero"`       // resource
	Before      *FileEditSide   `json:"before,omitzero"`      // fileEdit
	After       *FileEditSide   `json:"after,omitzero"`       // fileEdit
	Diff        *FileEditStats  `json:"diff,omitzero"`        // fileEdit
	Resource    *URI            `json:"resource,omitzero"`    // terminal, subagent
	Title       *string         `json:"title,omitzero"`       // terminal, subagent
	IsPty       *bool           `json:"isPty,omitzero"`       // terminal
	Result      *TerminalResult `json:"result,omitzero"`      // terminal
	AgentName   *string         `json:"agentName,omitzero"`   // subagent
	Description *string         `json:"description,omitzero"` // subagent
	Raw         jsontext.Value  `json:"-"`                    // an unknown variant, whole
	Extra       jsontext.Value  `json:",embed"`
}

var contentTypes = set(ContentText, ContentEmbeddedResource, ContentResource, ContentFileEdit, ContentTerminal, ContentSubagent)

// TextContent is a piece of plain output.
func TextContent(s string) ToolResultContent {
	return ToolResultContent{Type: ContentText, Text: &s}
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *ToolResultContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain ToolResultContent
	return decodeUnion(dec, "type", contentTypes, (*plain)(c), func(v string, raw jsontext.Value) {
		*c = ToolResultContent{Type: v, Raw: raw}
	})
}

// MarshalJSONTo implements json.MarshalerTo.
func (c ToolResultContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain ToolResultContent
	return encodeUnion(enc, c.Raw, plain(c))
}
