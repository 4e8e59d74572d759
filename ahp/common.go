package ahp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// StringOrMarkdown is a plain string or a markdown text. The zero value is the
// empty plain string.
type StringOrMarkdown struct {
	Text     string
	Markdown bool
	// Extra holds unknown members of the markdown form.
	Extra jsontext.Value
}

// Plain returns a plain string.
func Plain(s string) StringOrMarkdown { return StringOrMarkdown{Text: s} }

// Markdown returns a markdown text.
func Markdown(s string) StringOrMarkdown { return StringOrMarkdown{Text: s, Markdown: true} }

type markdownForm struct {
	Markdown string         `json:"markdown"`
	Extra    jsontext.Value `json:",embed"`
}

// MarshalJSONTo implements json.MarshalerTo.
func (s StringOrMarkdown) MarshalJSONTo(enc *jsontext.Encoder) error {
	if s.Markdown {
		return json.MarshalEncode(enc, markdownForm{s.Text, s.Extra})
	}
	return enc.WriteToken(jsontext.String(s.Text))
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (s *StringOrMarkdown) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*s = StringOrMarkdown{}
	if dec.PeekKind() != '{' {
		return json.UnmarshalDecode(dec, &s.Text)
	}
	var m markdownForm
	if err := json.UnmarshalDecode(dec, &m); err != nil {
		return err
	}
	*s = StringOrMarkdown{Text: m.Markdown, Markdown: true, Extra: m.Extra}
	return nil
}

// Icon is an image that stands for something in a user interface.
type Icon struct {
	Src         URI            `json:"src"`
	ContentType *string        `json:"contentType,omitzero"`
	Sizes       []string       `json:"sizes,omitzero"`
	Theme       *string        `json:"theme,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// ProtectedResourceMetadata is RFC 9728 metadata, spelled as there, with AHP's
// own member required (absent counts as true).
type ProtectedResourceMetadata struct {
	Resource                 string         `json:"resource"`
	ResourceName             *string        `json:"resource_name,omitzero"`
	AuthorizationServers     []string       `json:"authorization_servers,omitzero"`
	JWKSURI                  *string        `json:"jwks_uri,omitzero"`
	ScopesSupported          []string       `json:"scopes_supported,omitzero"`
	BearerMethodsSupported   []string       `json:"bearer_methods_supported,omitzero"`
	SigningAlgValuesSupport  []string       `json:"resource_signing_alg_values_supported,omitzero"`
	ResourceDocumentation    *string        `json:"resource_documentation,omitzero"`
	ResourcePolicyURI        *string        `json:"resource_policy_uri,omitzero"`
	ResourceTermsOfServiceID *string        `json:"resource_tos_uri,omitzero"`
	Required                 *bool          `json:"required,omitzero"`
	Extra                    jsontext.Value `json:",embed"`
}

// ConfigPropertySchema describes one configuration property.
type ConfigPropertySchema struct {
	Type                 string                          `json:"type"`
	Title                string                          `json:"title"`
	Description          *string                         `json:"description,omitzero"`
	Default              jsontext.Value                  `json:"default,omitzero"`
	Enum                 []jsontext.Value                `json:"enum,omitzero"`
	EnumLabels           []string                        `json:"enumLabels,omitzero"`
	EnumDescriptions     []string                        `json:"enumDescriptions,omitzero"`
	ReadOnly             *bool                           `json:"readOnly,omitzero"`
	Items                *ConfigPropertySchema           `json:"items,omitzero"`
	MinItems             *int64                          `json:"minItems,omitzero"`
	MaxItems             *int64                          `json:"maxItems,omitzero"`
	Properties           map[string]ConfigPropertySchema `json:"properties,omitzero"`
	Required             []string                        `json:"required,omitzero"`
	AdditionalProperties *ConfigPropertySchema           `json:"additionalProperties,omitzero"`
	EnumDynamic          *bool                           `json:"enumDynamic,omitzero"`    // sessions only
	SessionMutable       *bool                           `json:"sessionMutable,omitzero"` // sessions only
	Extra                jsontext.Value                  `json:",embed"`
}

// ConfigSchema describes a set of configuration properties.
type ConfigSchema struct {
	Type       string                          `json:"type"` // always "object"
	Properties map[string]ConfigPropertySchema `json:"properties"`
	Required   []string                        `json:"required,omitzero"`
	Extra      jsontext.Value                  `json:",embed"`
}

// ConfigState is a schema with its values, on the root channel and in a session.
type ConfigState struct {
	Schema jsontext.Value            `json:"schema,omitzero"` // a ConfigSchema; kept verbatim
	Values map[string]jsontext.Value `json:"values"`
	Extra  jsontext.Value            `json:",embed"`
}

// TextPosition is a zero-based position; Character counts UTF-16 code units.
type TextPosition struct {
	Line      int64          `json:"line"`
	Character int64          `json:"character"`
	Extra     jsontext.Value `json:",embed"`
}

// TextRange is a range of text, its end exclusive.
type TextRange struct {
	Start TextPosition   `json:"start"`
	End   TextPosition   `json:"end"`
	Extra jsontext.Value `json:",embed"`
}

// TextSelection is a selected range.
type TextSelection struct {
	Range TextRange      `json:"range"`
	Extra jsontext.Value `json:",embed"`
}

// ContentFields are the members of a ContentRef, for the types that carry them
// beside their own.
type ContentFields struct {
	URI         URI      `json:"uri"`
	SizeHint    *float64 `json:"sizeHint,omitzero"` // bytes
	ContentType *string  `json:"contentType,omitzero"`
	Nonce       *string  `json:"nonce,omitzero"`
}

// ContentRef points at content that is fetched with resourceRead.
type ContentRef struct {
	ContentFields
	Extra jsontext.Value `json:",embed"`
}

// FileEditSide is one side of an edit.
type FileEditSide struct {
	URI     URI            `json:"uri"`
	Content ContentRef     `json:"content"`
	Extra   jsontext.Value `json:",embed"`
}

// FileEditStats counts changed lines.
type FileEditStats struct {
	Added   *int64         `json:"added,omitzero"`
	Removed *int64         `json:"removed,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// FileEdit is a change of a file: only After creates, only Before deletes, two
// different URIs rename.
type FileEdit struct {
	Before *FileEditSide  `json:"before,omitzero"`
	After  *FileEditSide  `json:"after,omitzero"`
	Diff   *FileEditStats `json:"diff,omitzero"`
	Extra  jsontext.Value `json:",embed"`
}

// FileEdits is a list of edits.
type FileEdits struct {
	Items []FileEdit     `json:"items"`
	Extra jsontext.Value `json:",embed"`
}

// UsageInfo is what a turn cost.
type UsageInfo struct {
	InputTokens     *float64       `json:"inputTokens,omitzero"`
	OutputTokens    *float64       `json:"outputTokens,omitzero"`
	Model           *string        `json:"model,omitzero"`
	CacheReadTokens *float64       `json:"cacheReadTokens,omitzero"`
	Meta            jsontext.Value `json:"_meta,omitzero"`
	Extra           jsontext.Value `json:",embed"`
}

// ErrorInfo is an error inside a state.
type ErrorInfo struct {
	ErrorType string         `json:"errorType"`
	Message   string         `json:"message"`
	Stack     *string        `json:"stack,omitzero"`
	Meta      jsontext.Value `json:"_meta,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// ChangesSummary counts changed lines and files.
type ChangesSummary struct {
	Additions *int64         `json:"additions,omitzero"`
	Deletions *int64         `json:"deletions,omitzero"`
	Files     *int64         `json:"files,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// ModelSelection is a model with its options.
type ModelSelection struct {
	ID     string                    `json:"id"`
	Config map[string]jsontext.Value `json:"config,omitzero"`
	Extra  jsontext.Value            `json:",embed"`
}

// AgentSelection names an agent customization.
type AgentSelection struct {
	URI   URI            `json:"uri"`
	Extra jsontext.Value `json:",embed"`
}

// Implementation identifies a program. It informs; behaviour must not depend on it.
type Implementation struct {
	Name    string         `json:"name"`
	Version *string        `json:"version,omitzero"`
	Title   *string        `json:"title,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}
