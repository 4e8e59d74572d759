package ahp

import (
	"errors"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Part is a variant of a response part: *MarkdownPart, *ReasoningPart,
// *ToolCallPart, *ContentRefPart, *SystemNotificationPart, *InputRequestPart,
// *ErrorPart or *UnknownPart.
type Part interface {
	// Key is the part's id; "" for kinds without one.
	Key() string
	// PartKind is the wire name of the variant.
	PartKind() string
}

// ResponsePart is one part of what an agent answered. The zero value holds no
// part and is not legal on the wire.
type ResponsePart struct{ Part }

// Key implements Keyed.
func (p ResponsePart) Key() string {
	if p.Part == nil {
		return ""
	}
	return p.Part.Key()
}

// MarkdownPart is streamed text.
type MarkdownPart struct {
	ID      string         `json:"id"`
	Content Text           `json:"content"`
	Extra   jsontext.Value `json:",embed"`
}

// ReasoningPart is streamed thinking.
type ReasoningPart struct {
	ID      string         `json:"id"`
	Content Text           `json:"content"`
	Extra   jsontext.Value `json:",embed"`
}

// ToolCallPart is a tool call; its id is the call's.
type ToolCallPart struct {
	ToolCall *ToolCall      `json:"toolCall,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

// ContentRefPart points at content.
type ContentRefPart struct{ ContentRef }

// SystemNotificationPart is a notice of the host or the agent.
type SystemNotificationPart struct {
	Content StringOrMarkdown `json:"content"`
	Meta    jsontext.Value   `json:"_meta,omitzero"`
	Extra   jsontext.Value   `json:",embed"`
}

// InputRequestPart is a question to the user; without Response it is open.
type InputRequestPart struct {
	Request  *ChatInputRequest `json:"request,omitzero"`
	Response *string           `json:"response,omitzero"`
	Extra    jsontext.Value    `json:",embed"`
}

// ErrorPart is the error that ended a turn. Only chat/error appends one.
type ErrorPart struct {
	Error     ErrorInfo      `json:"error"`
	Resumable *bool          `json:"resumable,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// UnknownPart is a part of a kind this build does not know.
type UnknownPart struct {
	Kind string
	ID   string
	Raw  jsontext.Value
}

// Kinds of response part.
const (
	PartMarkdown           = "markdown"
	PartReasoning          = "reasoning"
	PartToolCall           = "toolCall"
	PartContentRef         = "contentRef"
	PartSystemNotification = "systemNotification"
	PartInputRequest       = "inputRequest"
	PartError              = "error"
)

// PartKind implements Part.
func (*MarkdownPart) PartKind() string { return PartMarkdown }

// PartKind implements Part.
func (*ReasoningPart) PartKind() string { return PartReasoning }

// PartKind implements Part.
func (*ToolCallPart) PartKind() string { return PartToolCall }

// PartKind implements Part.
func (*ContentRefPart) PartKind() string { return PartContentRef }

// PartKind implements Part.
func (*SystemNotificationPart) PartKind() string { return PartSystemNotification }

// PartKind implements Part.
func (*InputRequestPart) PartKind() string { return PartInputRequest }

// PartKind implements Part.
func (*ErrorPart) PartKind() string { return PartError }

// PartKind implements Part.
func (p *UnknownPart) PartKind() string { return p.Kind }

// Key implements Part.
func (p *MarkdownPart) Key() string { return p.ID }

// Key implements Part.
func (p *ReasoningPart) Key() string { return p.ID }

// Key implements Part.
func (p *ToolCallPart) Key() string {
	if p.ToolCall == nil {
		return ""
	}
	return p.ToolCall.ToolCallID
}

// Key implements Part.
func (p *ContentRefPart) Key() string { return "" }

// Key implements Part.
func (p *SystemNotificationPart) Key() string { return "" }

// Key implements Part. An input request is found by its request's id, which is
// no part id: deltas never reach it.
func (p *InputRequestPart) Key() string { return "" }

// Key implements Part.
func (p *ErrorPart) Key() string { return "" }

// Key implements Part.
func (p *UnknownPart) Key() string { return p.ID }

var newPart = map[string]func() Part{
	PartMarkdown:           func() Part { return new(MarkdownPart) },
	PartReasoning:          func() Part { return new(ReasoningPart) },
	PartToolCall:           func() Part { return new(ToolCallPart) },
	PartContentRef:         func() Part { return new(ContentRefPart) },
	PartSystemNotification: func() Part { return new(SystemNotificationPart) },
	PartInputRequest:       func() Part { return new(InputRequestPart) },
	PartError:              func() Part { return new(ErrorPart) },
}

var errNoPart = errors.New("response part is not an object")

// MarshalJSONTo implements json.MarshalerTo.
func (p ResponsePart) MarshalJSONTo(enc *jsontext.Encoder) error {
	switch part := p.Part.(type) {
	case nil:
		return errNoPart
	case *UnknownPart:
		return enc.WriteValue(part.Raw)
	}
	return encodeTagged(enc, "kind", p.PartKind(), p.Part)
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (p *ResponsePart) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if raw.Kind() != jsontext.KindBeginObject {
		return errNoPart // null included: a list of parts has no holes
	}
	kind, _ := memberString(raw, "kind")
	make, ok := newPart[kind]
	if !ok {
		id, _ := memberString(raw, "id")
		p.Part = &UnknownPart{Kind: kind, ID: id, Raw: raw.Clone()}
		return nil
	}
	p.Part = make()
	return decodeTagged(raw, "kind", p.Part, dec.Options())
}

// encodeTagged writes v, an object, with the member name first.
func encodeTagged(enc *jsontext.Encoder, name, value string, v any) error {
	body, err := json.Marshal(v, enc.Options())
	if err != nil {
		return err
	}
	return enc.WriteValue(tagged(name, value, body))
}

// tagged puts the member name in front of the object body. The name and the
// value are plain protocol words.
func tagged(name, value string, body jsontext.Value) jsontext.Value {
	out := make(jsontext.Value, 0, len(body)+len(name)+len(value)+8)
	out = append(out, '{', '"')
	out = append(out, name...)
	out = append(out, '"', ':')
	out, _ = jsontext.AppendQuote(out, value)
	if len(body) > 2 {
		out = append(out, ',')
	}
	return append(out, body[1:]...)
}

// decodeTagged decodes raw, an object, without its member name.
func decodeTagged(raw jsontext.Value, name string, v any, opts ...json.Options) error {
	rest := make(jsontext.Value, 1, len(raw))
	rest[0] = '{'
	jsonrpc.EachMember(raw, func(n []byte, val jsontext.Value) bool {
		if string(n) != name {
			rest = appendMember(rest, string(n), val)
		}
		return true
	})
	return json.Unmarshal(append(rest, '}'), v, opts...)
}

func appendMember(dst jsontext.Value, name string, val jsontext.Value) jsontext.Value {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	// An ill-formed name is quoted with U+FFFD in place of what is wrong.
	dst, _ = jsontext.AppendQuote(dst, name)
	return append(append(dst, ':'), val...)
}
