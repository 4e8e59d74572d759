package agent

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// Event is something an agent did: one of the types below.
type Event interface{ event() }

// Text is a piece of the answer. Pieces that follow each other are one part.
type Text struct{ TurnID, Text string }

// Thought is a piece of reasoning.
type Thought struct{ TurnID, Text string }

// Break ends the part that Text or Thought goes to: what follows is another.
type Break struct{ TurnID string }

// Content is something else than text in the answer, such as an image.
type Content struct {
	TurnID string
	Ref    ahp.ContentRef
}

// ToolStarted announces a tool call. Its id is unique in the turn.
type ToolStarted struct {
	TurnID, ToolCallID    string
	ToolName, DisplayName string
	Intention             string // "" for none
	Meta                  jsontext.Value
}

// ToolRunning says that a call runs without having needed consent. After an
// approved Confirm it is not sent: the decision itself lets the call run.
type ToolRunning struct {
	TurnID, ToolCallID string
	Message            ahp.StringOrMarkdown // present tense
	Input              *ahp.ToolInput
	Confirmed          string // ahp.ConfirmedNotNeeded or ahp.ConfirmedSetting
}

// ToolContent replaces the output of a running call. Meta, if set, replaces what
// ToolStarted gave.
type ToolContent struct {
	TurnID, ToolCallID string
	Content            []ahp.ToolResultContent
	Meta               jsontext.Value
}

// ToolFinished ends a call that runs: after ToolRunning, or an approved Confirm.
type ToolFinished struct {
	TurnID, ToolCallID string
	Result             ahp.ToolCallResult
}

// Notice is a message of the system in the transcript.
type Notice struct {
	TurnID string
	Text   ahp.StringOrMarkdown
}

// Usage is what the turn cost so far.
type Usage struct {
	TurnID string
	Usage  *ahp.UsageInfo
}

// Activity is what the agent does right now; "" clears it. It belongs to the
// session, not to a turn.
type Activity struct{ Text string }

// Title is a title the agent chose. It belongs to the session.
type Title struct{ Title string }

// ConfigValues are values the agent changed by itself.
type ConfigValues struct{ Values map[string]jsontext.Value }

// Meta is something the agent tells about its session that has no place of its
// own. It becomes the member Name of the session's _meta.
type Meta struct {
	Name  string
	Value jsontext.Value // "" removes it
}

// Models are the models this kind of agent offers. They belong to the provider.
type Models struct{ Models []ahp.SessionModelInfo }

// Commands are the words that begin with a slash the agent understands now. They
// belong to the session.
type Commands struct{ Commands []Command }

// Command is one of them.
type Command struct {
	Name        string // without the slash
	Description string
	Hint        string // what may follow it, "" for nothing
}

func (Text) event()         {}
func (Thought) event()      {}
func (Break) event()        {}
func (Content) event()      {}
func (Meta) event()         {}
func (Models) event()       {}
func (Commands) event()     {}
func (ToolStarted) event()  {}
func (ToolRunning) event()  {}
func (ToolContent) event()  {}
func (ToolFinished) event() {}
func (Notice) event()       {}
func (Usage) event()        {}
func (Activity) event()     {}
func (Title) event()        {}
func (ConfigValues) event() {}

// TurnOf returns the turn an event belongs to, "" for session events.
func TurnOf(e Event) string {
	switch e := e.(type) {
	case Text:
		return e.TurnID
	case Thought:
		return e.TurnID
	case Break:
		return e.TurnID
	case Content:
		return e.TurnID
	case ToolStarted:
		return e.TurnID
	case ToolRunning:
		return e.TurnID
	case ToolContent:
		return e.TurnID
	case ToolFinished:
		return e.TurnID
	case Notice:
		return e.TurnID
	case Usage:
		return e.TurnID
	}
	return ""
}
