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

// ToolContent replaces the output of a running call.
type ToolContent struct {
	TurnID, ToolCallID string
	Content            []ahp.ToolResultContent
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

func (Text) event()         {}
func (Thought) event()      {}
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
