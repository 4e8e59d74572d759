package agent

import (
	"context"
	"errors"
	"log/slog"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// Provider makes sessions of one kind of agent. Its methods may be called
// concurrently.
type Provider interface {
	// Describe says what the provider is. It is constant.
	Describe() Description
	// ResolveConfig returns the configuration properties a session in the
	// working directories would have, with the given values applied. It starts
	// nothing.
	ResolveConfig(ctx context.Context, dirs []ahp.URI, values map[string]jsontext.Value) (Config, error)
	// Open starts or reopens one session. Ctx lives as long as the agent may and
	// ends when the host gives up on it. The error is a *StartError, or wraps one,
	// when the agent could not be started.
	Open(ctx context.Context, spec Spec, host Host) (Session, error)
	// Close ends every session and waits for them.
	Close() error
}

// Preparer is a provider that learns from a running agent what its sessions can
// be told.
type Preparer interface {
	// Prepared reports whether ResolveConfig knows already.
	Prepared() bool
	// Prepare finds out, within a limit of its own. It may start an agent in the
	// working directories and with the tokens of spec, where nothing else counts,
	// which the Open that follows takes over. A failure is reported by that Open.
	Prepare(ctx context.Context, spec Spec)
}

// Description is what clients see of a provider, and what it can do.
type Description struct {
	Provider      string // id, such as "shell"
	DisplayName   string
	Description   string
	Models        []ahp.SessionModelInfo
	MultipleChats bool
	Steering      bool // Steer may be accepted during a turn
	ResumesTurns  bool // Prompt understands Prompt.Resume
	// Resources are what the agent wants bearer tokens for. Of one that is not
	// required the agent does without a token.
	Resources []ahp.ProtectedResourceMetadata
}

// Config is a set of properties and their values.
type Config struct {
	Schema ahp.ConfigSchema
	Values map[string]jsontext.Value
}

// Spec is everything a session needs to start.
type Spec struct {
	Session     ahp.URI
	Chat        ahp.URI
	Directories []ahp.URI // file URIs; the first is the working directory
	Config      map[string]jsontext.Value
	ResumeToken []byte // what an earlier Session returned, nil for a new one
	Turns       int    // turns the host already has
	// Tokens are for the resources of the description, by their identifiers; those
	// that are required are there. They must not be written anywhere.
	Tokens map[string]Token
}

// Token is a bearer token. Printed, it says that it is one and no more.
type Token string

// String implements fmt.Stringer.
func (Token) String() string { return "[token]" }

// GoString implements fmt.GoStringer.
func (Token) GoString() string { return "[token]" }

// MarshalText implements encoding.TextMarshaler.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// LogValue implements slog.LogValuer.
func (Token) LogValue() slog.Value { return slog.StringValue("[token]") }

// Session is one running agent for one chat.
type Session interface {
	// Prompt runs one turn and returns when the agent's own turn is over, and
	// after Close at the latest. A cancelled ctx means the caller gives up on the
	// agent altogether; an ordinary cancel is Cancel.
	Prompt(ctx context.Context, p Prompt) Outcome
	// Cancel asks the agent to stop the turn and returns at once. Another turn
	// or none is ignored.
	Cancel(turnID string)
	// Steer offers a message for the running turn and reports whether the agent
	// took it. It returns when ctx ends.
	Steer(ctx context.Context, m *ahp.Message) bool
	// SetConfig changes one value and returns those the agent has now.
	SetConfig(ctx context.Context, id string, value jsontext.Value) (map[string]jsontext.Value, error)
	// ResumeToken is what Spec.ResumeToken takes to reopen the session.
	ResumeToken() []byte
	// Done is closed when the agent is gone; Err then says why.
	Done() <-chan struct{}
	Err() error
	// Close ends the agent and everything it started, and waits for it. It is
	// idempotent.
	Close() error
}

// Prompt is the input of one turn.
type Prompt struct {
	TurnID  string
	Message *ahp.Message
	Resume  bool // the turn goes on after a resumable error
}

// Result is how an agent's turn ended.
type Result int

// Results of a turn.
const (
	Completed Result = iota
	Cancelled        // after Cancel
	Refused          // the agent would not answer; Err says more
	Truncated        // complete, but cut short; Notice says why
	Failed           // Err says why
)

// Outcome is what Prompt returns.
type Outcome struct {
	Result    Result
	Notice    string         // shown to the user with Truncated
	Err       *ahp.ErrorInfo // with Refused and Failed
	Resumable bool           // with Failed: Prompt.Resume may be tried
	Usage     *ahp.UsageInfo // may be nil
}

// Host is what a session calls back. Its methods may be called concurrently;
// the order between two calls is that of their starts only if the agent waits
// for the first to return.
type Host interface {
	// Emit hands over an event in order. It waits when the host is behind and
	// fails only when the session is being closed.
	Emit(ctx context.Context, e Event) error
	// Confirm asks whether a tool call may run and waits for the decision. The
	// call must have been started with ToolStarted.
	Confirm(ctx context.Context, c Confirmation) (Decision, error)
	// Ask puts questions to the user and waits for the answers.
	Ask(ctx context.Context, turnID string, r *ahp.ChatInputRequest) (Answers, error)
}

// Confirmation describes a tool call that needs consent.
type Confirmation struct {
	TurnID     string
	ToolCallID string
	Message    ahp.StringOrMarkdown // what will happen, in the present tense
	Title      *ahp.StringOrMarkdown
	Input      *ahp.ToolInput
	Editable   bool // an edited input will be honoured
	Edits      *ahp.FileEdits
	Options    []ahp.ConfirmationOption
}

// Decision is the answer to a Confirmation.
type Decision struct {
	Approved    bool
	Withdrawn   bool // the turn ended or was cancelled; nobody decided
	OptionID    string
	EditedInput *string
	Reason      string // denied or skipped, when not approved
}

// Answers is the answer to Ask.
type Answers struct {
	Response  string // ahp.InputAccept, InputDecline or InputCancel
	Withdrawn bool
	Values    map[string]ahp.ChatInputAnswer
}

// StartError says why a session could not be opened. Type becomes the
// errorType clients see.
type StartError struct {
	Type    string // such as "agentStartFailed", "authRequired"
	Message string // readable, without secrets
	Err     error
}

// Error implements error.
func (e *StartError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// ErrClosed is returned by Emit, Confirm and Ask when the session is closing.
var ErrClosed = errors.New("agent session is closing")
