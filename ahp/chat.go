package ahp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kinds of chat origin.
const (
	ChatOriginUser     = "user"
	ChatOriginFork     = "fork"
	ChatOriginTool     = "tool"
	ChatOriginSideChat = "sideChat"
)

// ChatOrigin says how a chat came about.
type ChatOrigin struct {
	Kind       string         `json:"kind"`
	Chat       *URI           `json:"chat,omitzero"`       // fork, tool, sideChat
	TurnID     *string        `json:"turnId,omitzero"`     // fork, sideChat
	ToolCallID *string        `json:"toolCallId,omitzero"` // tool
	Selection  jsontext.Value `json:"selection,omitzero"`  // sideChat
	Extra      jsontext.Value `json:",embed"`
}

// ChatInfo are the members a chat shares with its entry in the session.
type ChatInfo struct {
	Resource           URI             `json:"resource"`
	Title              string          `json:"title"`
	Status             Status          `json:"status"`
	Activity           *string         `json:"activity,omitzero"`
	ModifiedAt         string          `json:"modifiedAt"` // ISO 8601, three fractional digits, Z
	Origin             *ChatOrigin     `json:"origin,omitzero"`
	Interactivity      *string         `json:"interactivity,omitzero"` // full, read-only, hidden
	WorkingDirectories []URI           `json:"workingDirectories,omitzero"`
	Changes            *ChangesSummary `json:"changes,omitzero"`
	Movable            *bool           `json:"movable,omitzero"`
}

// ChatSummary is the entry of a chat in its session.
type ChatSummary struct {
	ChatInfo
	Extra jsontext.Value `json:",embed"`
}

// ChatChanges is a partial ChatSummary: an absent member means unchanged
// (AHP channels, 4.28).
type ChatChanges struct {
	Resource           *URI            `json:"resource,omitzero"` // ignored by the reducer
	Title              *string         `json:"title,omitzero"`
	Status             *Status         `json:"status,omitzero"`
	Activity           *string         `json:"activity,omitzero"`
	ModifiedAt         *string         `json:"modifiedAt,omitzero"`
	Origin             *ChatOrigin     `json:"origin,omitzero"`
	Interactivity      *string         `json:"interactivity,omitzero"`
	WorkingDirectories []URI           `json:"workingDirectories,omitzero"`
	Changes            *ChangesSummary `json:"changes,omitzero"`
	Movable            *bool           `json:"movable,omitzero"`
	Extra              jsontext.Value  `json:",embed"`
}

// CanvasRef names a canvas of a chat.
type CanvasRef struct {
	Resource URI            `json:"resource"`
	Extra    jsontext.Value `json:",embed"`
}

// BackgroundWork is something that runs beside the turns of a chat.
type BackgroundWork struct {
	Kind      string         `json:"kind"`
	ID        string         `json:"id"`
	Label     string         `json:"label"`
	StartedAt string         `json:"startedAt"`
	Meta      jsontext.Value `json:"_meta,omitzero"`
	Command   *string        `json:"command,omitzero"`  // shell
	Terminal  *URI           `json:"terminal,omitzero"` // shell
	Chat      *URI           `json:"chat,omitzero"`     // subagent
	Raw       jsontext.Value `json:"-"`                 // an unknown variant, whole
	Extra     jsontext.Value `json:",embed"`
}

var workKinds = set("shell", "subagent")

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (w *BackgroundWork) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain BackgroundWork
	return decodeUnion(dec, "kind", workKinds, (*plain)(w), func(v string, raw jsontext.Value) {
		id, _ := memberString(raw, "id")
		*w = BackgroundWork{Kind: v, ID: id, Raw: raw}
	})
}

// MarshalJSONTo implements json.MarshalerTo.
func (w BackgroundWork) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain BackgroundWork
	return encodeUnion(enc, w.Raw, plain(w))
}

// How a turn ended.
const (
	TurnComplete  = "complete"
	TurnCancelled = "cancelled"
	TurnError     = "error"
)

// Turn is a finished turn. An error stands in its last part.
type Turn struct {
	ID            string             `json:"id"`
	StartedAt     *string            `json:"startedAt,omitzero"`
	Duration      *float64           `json:"duration,omitzero"` // milliseconds, never negative
	Message       *Message           `json:"message,omitzero"`
	ResponseParts List[ResponsePart] `json:"responseParts"`
	Usage         *UsageInfo         `json:"usage,omitzero"`
	State         string             `json:"state"`
	Extra         jsontext.Value     `json:",embed"`
}

// Key implements Keyed.
func (t *Turn) Key() string { return t.ID }

// ActiveTurn is the turn that runs.
type ActiveTurn struct {
	ID            string             `json:"id"`
	StartedAt     string             `json:"startedAt"`
	Message       *Message           `json:"message,omitzero"`
	ResponseParts List[ResponsePart] `json:"responseParts"`
	Usage         *UsageInfo         `json:"usage,omitzero"`
	Extra         jsontext.Value     `json:",embed"`
}

// ChatHeader are the members of a chat that streaming does not touch. They
// stand behind one pointer, which a reducer keeps unless it changes one of them:
// a delta copies little, and "did the summary change?" begins with a comparison
// of pointers.
type ChatHeader struct {
	ChatInfo
	TurnsNextCursor *string          `json:"turnsNextCursor,omitzero"`
	SteeringMessage *PendingMessage  `json:"steeringMessage,omitzero"`
	QueuedMessages  []PendingMessage `json:"queuedMessages,omitzero"`
	Draft           *Message         `json:"draft,omitzero"`
	Changesets      []Changeset      `json:"changesets,omitzero"`
	BackgroundWork  []BackgroundWork `json:"backgroundWork,omitzero"`
	Canvases        []CanvasRef      `json:"canvases,omitzero"`
	Meta            jsontext.Value   `json:"_meta,omitzero"`
}

// ChatState is the state of a chat. ChatHeader must not be nil.
type ChatState struct {
	*ChatHeader
	Turns      List[*Turn]    `json:"turns"` // oldest first
	ActiveTurn *ActiveTurn    `json:"activeTurn,omitzero"`
	Extra      jsontext.Value `json:",embed"`
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. ChatHeader is never nil
// afterwards, whatever was missing.
func (s *ChatState) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain ChatState
	*s = ChatState{}
	err := json.UnmarshalDecode(dec, (*plain)(s))
	if s.ChatHeader == nil { // no member of it was there, or all was null
		s.ChatHeader = new(ChatHeader)
	}
	return err
}

// Summary is the chat's entry for its session.
func (s *ChatState) Summary() ChatSummary { return ChatSummary{ChatInfo: s.ChatInfo} }

// ToolCallByID finds a tool call of the active turn, nil if there is none.
func (s *ChatState) ToolCallByID(turnID, toolCallID string) *ToolCall {
	if s.ActiveTurn == nil || s.ActiveTurn.ID != turnID {
		return nil
	}
	for _, p := range s.ActiveTurn.ResponseParts.All() {
		if t, ok := p.Part.(*ToolCallPart); ok && t.ToolCall != nil && t.ToolCall.ToolCallID == toolCallID {
			return t.ToolCall
		}
	}
	return nil
}
