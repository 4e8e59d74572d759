package ahp

import "github.com/go-json-experiment/json/jsontext"

// TerminalClaim says who owns a terminal.
type TerminalClaim struct {
	Kind       string         `json:"kind"` // client or session
	ClientID   *string        `json:"clientId,omitzero"`
	Session    *URI           `json:"session,omitzero"`
	Chat       *URI           `json:"chat,omitzero"`
	TurnID     *string        `json:"turnId,omitzero"`
	ToolCallID *string        `json:"toolCallId,omitzero"`
	Extra      jsontext.Value `json:",embed"`
}

// Statuses of a terminal.
const (
	TerminalRunning = "running"
	TerminalExited  = "exited"
)

// TerminalLifecycle tells whether the process runs.
type TerminalLifecycle struct {
	Status   string         `json:"status"`
	ExitCode *int64         `json:"exitCode,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

// TerminalInfo is a terminal in the root state.
type TerminalInfo struct {
	Resource  URI                `json:"resource"`
	Title     string             `json:"title"`
	Claim     TerminalClaim      `json:"claim"`
	Lifecycle *TerminalLifecycle `json:"lifecycle,omitzero"`
	Extra     jsontext.Value     `json:",embed"`
}

// Types of terminal content.
const (
	TerminalUnclassified = "unclassified"
	TerminalCommand      = "command"
)

// TerminalPart is a piece of a terminal's output.
type TerminalPart struct {
	Type        string         `json:"type"`
	Value       Text           `json:"value,omitzero"`       // unclassified
	CommandID   *string        `json:"commandId,omitzero"`   // command
	CommandLine *string        `json:"commandLine,omitzero"` // command
	Output      Text           `json:"output,omitzero"`      // command
	Timestamp   *float64       `json:"timestamp,omitzero"`   // command, unix milliseconds
	IsComplete  *bool          `json:"isComplete,omitzero"`  // command
	ExitCode    *int64         `json:"exitCode,omitzero"`    // command
	DurationMS  *float64       `json:"durationMs,omitzero"`  // command
	Raw         jsontext.Value `json:"-"`                    // an unknown variant, whole
	Extra       jsontext.Value `json:",embed"`
}

var terminalParts = set(TerminalUnclassified, TerminalCommand)

// Key implements Keyed.
func (p *TerminalPart) Key() string {
	if p.CommandID == nil {
		return ""
	}
	return *p.CommandID
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (p *TerminalPart) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain TerminalPart
	return decodeUnion(dec, "type", terminalParts, (*plain)(p), func(v string, raw jsontext.Value) {
		*p = TerminalPart{Type: v, Raw: raw}
	})
}

// MarshalJSONTo implements json.MarshalerTo.
func (p TerminalPart) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain TerminalPart
	return encodeUnion(enc, p.Raw, plain(p))
}

// TerminalState is the state of a terminal.
type TerminalState struct {
	Title                    string              `json:"title"`
	CWD                      *URI                `json:"cwd,omitzero"`
	Cols                     *int64              `json:"cols,omitzero"`
	Rows                     *int64              `json:"rows,omitzero"`
	Content                  List[*TerminalPart] `json:"content"`
	Lifecycle                *TerminalLifecycle  `json:"lifecycle,omitzero"`
	Claim                    TerminalClaim       `json:"claim"`
	SupportsCommandDetection *bool               `json:"supportsCommandDetection,omitzero"`
	IsPty                    *bool               `json:"isPty,omitzero"`
	Extra                    jsontext.Value      `json:",embed"`
}

// TerminalData appends output.
type TerminalData struct {
	ActionBase
	Data string `json:"data"`
}

// TerminalInput is typed into the terminal. It changes no state.
type TerminalInput struct {
	ActionBase
	Data string `json:"data"`
}

// TerminalResized sets the size in characters.
type TerminalResized struct {
	ActionBase
	Cols int64 `json:"cols"`
	Rows int64 `json:"rows"`
}

// TerminalClaimed changes the owner.
type TerminalClaimed struct {
	ActionBase
	Claim TerminalClaim `json:"claim"`
}

// TerminalTitleChanged sets the title.
type TerminalTitleChanged struct {
	ActionBase
	Title string `json:"title"`
}

// TerminalCWDChanged sets the working directory.
type TerminalCWDChanged struct {
	ActionBase
	CWD URI `json:"cwd"`
}

// TerminalExitedAction reports the end of the process.
type TerminalExitedAction struct {
	ActionBase
	ExitCode *int64 `json:"exitCode,omitzero"`
}

// TerminalCleared empties the content.
type TerminalCleared struct{ ActionBase }

// TerminalCommandDetectionAvailable says that commands are told apart.
type TerminalCommandDetectionAvailable struct{ ActionBase }

// TerminalCommandExecuted opens a command.
type TerminalCommandExecuted struct {
	ActionBase
	CommandID   string  `json:"commandId"`
	CommandLine string  `json:"commandLine"`
	Timestamp   float64 `json:"timestamp"` // unix milliseconds
}

// TerminalCommandFinished closes it.
type TerminalCommandFinished struct {
	ActionBase
	CommandID  string   `json:"commandId"`
	ExitCode   *int64   `json:"exitCode,omitzero"`
	DurationMS *float64 `json:"durationMs,omitzero"`
}
