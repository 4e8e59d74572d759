package ahp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kinds of message origin. Clients may only send OriginUser.
const (
	OriginUser               = "user"
	OriginAgent              = "agent"
	OriginTool               = "tool"
	OriginSystemNotification = "systemNotification"
	OriginAutomation         = "automation"
)

// MessageOrigin says who wrote a message.
type MessageOrigin struct {
	Kind  string         `json:"kind"`
	Extra jsontext.Value `json:",embed"`
}

// Message is what starts or steers a turn.
type Message struct {
	Text        string              `json:"text"`
	Origin      MessageOrigin       `json:"origin,omitzero"`
	Attachments []MessageAttachment `json:"attachments,omitzero"`
	Model       *ModelSelection     `json:"model,omitzero"`
	Agent       *AgentSelection     `json:"agent,omitzero"`
	Meta        jsontext.Value      `json:"_meta,omitzero"`
	Extra       jsontext.Value      `json:",embed"`
}

// UserMessage is a message a person typed.
func UserMessage(text string) *Message {
	return &Message{Text: text, Origin: MessageOrigin{Kind: OriginUser}}
}

// Kinds of attachment.
const (
	AttachmentSimple           = "simple"
	AttachmentEmbeddedResource = "embeddedResource"
	AttachmentResource         = "resource"
	AttachmentAnnotations      = "annotations"
	AttachmentChat             = "chat"
)

// MessageAttachment is something sent with a message. Type says which of the
// members after Meta are used.
type MessageAttachment struct {
	Type        string         `json:"type"`
	Label       string         `json:"label"`
	Range       *TextRange     `json:"range,omitzero"`
	DisplayKind *string        `json:"displayKind,omitzero"`
	Meta        jsontext.Value `json:"_meta,omitzero"`

	ModelRepresentation *string        `json:"modelRepresentation,omitzero"` // simple
	Data                *string        `json:"data,omitzero"`                // embeddedResource, base64
	Selection           *TextSelection `json:"selection,omitzero"`           // embeddedResource, resource
	URI                 *URI           `json:"uri,omitzero"`                 // resource
	SizeHint            *float64       `json:"sizeHint,omitzero"`            // resource
	ContentType         *string        `json:"contentType,omitzero"`         // embeddedResource, resource
	Nonce               *string        `json:"nonce,omitzero"`               // resource
	Resource            *URI           `json:"resource,omitzero"`            // annotations, chat
	AnnotationIDs       []string       `json:"annotationIds,omitzero"`       // annotations
	EndTurn             *string        `json:"endTurn,omitzero"`             // chat
	Raw                 jsontext.Value `json:"-"`                            // an unknown variant, whole
	Extra               jsontext.Value `json:",embed"`
}

var attachmentTypes = set(AttachmentSimple, AttachmentEmbeddedResource, AttachmentResource, AttachmentAnnotations, AttachmentChat)

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (a *MessageAttachment) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain MessageAttachment
	return decodeUnion(dec, "type", attachmentTypes, (*plain)(a), func(v string, raw jsontext.Value) {
		*a = MessageAttachment{Type: v, Raw: raw}
	})
}

// MarshalJSONTo implements json.MarshalerTo.
func (a MessageAttachment) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain MessageAttachment
	return encodeUnion(enc, a.Raw, plain(a))
}

// PendingMessage is a message that waits in a chat.
type PendingMessage struct {
	ID      string         `json:"id"`
	Message *Message       `json:"message,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// Kinds of question.
const (
	QuestionText         = "text"
	QuestionNumber       = "number"
	QuestionInteger      = "integer"
	QuestionBoolean      = "boolean"
	QuestionSingleSelect = "single-select"
	QuestionMultiSelect  = "multi-select"
)

// ChatInputOption is one choice of a select question.
type ChatInputOption struct {
	ID          string         `json:"id"`
	Label       string         `json:"label"`
	Description *string        `json:"description,omitzero"`
	Recommended *bool          `json:"recommended,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// ChatInputQuestion is one question of an input request.
type ChatInputQuestion struct {
	Kind         string            `json:"kind"`
	ID           string            `json:"id"`
	Title        *string           `json:"title,omitzero"`
	Message      string            `json:"message"`
	Required     *bool             `json:"required,omitzero"`
	Format       *string           `json:"format,omitzero"` // text
	Min          *float64          `json:"min,omitzero"`
	Max          *float64          `json:"max,omitzero"`
	DefaultValue jsontext.Value    `json:"defaultValue,omitzero"`
	Options      []ChatInputOption `json:"options,omitzero"`            // selects
	AllowFree    *bool             `json:"allowFreeformInput,omitzero"` // selects
	Raw          jsontext.Value    `json:"-"`                           // an unknown variant, whole
	Extra        jsontext.Value    `json:",embed"`
}

var questionKinds = set(QuestionText, QuestionNumber, QuestionInteger, QuestionBoolean, QuestionSingleSelect, QuestionMultiSelect)

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (q *ChatInputQuestion) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain ChatInputQuestion
	return decodeUnion(dec, "kind", questionKinds, (*plain)(q), func(v string, raw jsontext.Value) {
		id, _ := memberString(raw, "id")
		*q = ChatInputQuestion{Kind: v, ID: id, Raw: raw}
	})
}

// MarshalJSONTo implements json.MarshalerTo.
func (q ChatInputQuestion) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain ChatInputQuestion
	return encodeUnion(enc, q.Raw, plain(q))
}

// ChatInputRequest asks the user for something during a turn.
type ChatInputRequest struct {
	ID        string                     `json:"id"`
	Message   *string                    `json:"message,omitzero"`
	URL       *URI                       `json:"url,omitzero"`
	Questions []ChatInputQuestion        `json:"questions,omitzero"`
	Answers   map[string]ChatInputAnswer `json:"answers,omitzero"`
	Extra     jsontext.Value             `json:",embed"`
}

// States of an answer.
const (
	AnswerDraft     = "draft"
	AnswerSubmitted = "submitted"
	AnswerSkipped   = "skipped"
)

// ChatInputAnswer is the answer to one question. Value is an object
// {kind, value, freeformValues?}; it is kept as it stands, and ParseAnswer
// reads it.
type ChatInputAnswer struct {
	State          string         `json:"state"`
	Value          jsontext.Value `json:"value,omitzero"`
	FreeformValues []string       `json:"freeformValues,omitzero"`
	Extra          jsontext.Value `json:",embed"`
}

// AnswerValue is the decoded value of an answer. Kind is text, number,
// boolean, selected or selected-many.
type AnswerValue struct {
	Kind           string         `json:"kind"`
	Value          jsontext.Value `json:"value"`
	FreeformValues []string       `json:"freeformValues,omitzero"`
	Extra          jsontext.Value `json:",embed"`
}

// ParseAnswer decodes the value of an answer; ok is false when it has none or
// one of another form.
func ParseAnswer(a ChatInputAnswer) (v AnswerValue, ok bool) {
	if len(a.Value) == 0 {
		return v, false
	}
	if err := json.Unmarshal(a.Value, &v, decodeOptions); err != nil {
		return AnswerValue{}, false
	}
	return v, v.Kind != "" && len(v.Value) > 0
}

// Responses to an input request. The set is closed.
const (
	InputAccept  = "accept"
	InputDecline = "decline"
	InputCancel  = "cancel"
)
