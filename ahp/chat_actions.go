package ahp

import "github.com/go-json-experiment/json/jsontext"

// ChatTurnStarted starts a turn. It is a no-op for a turn that is active or
// complete.
type ChatTurnStarted struct {
	ActionBase
	TurnID          string   `json:"turnId"`
	StartedAt       string   `json:"startedAt"`
	Message         *Message `json:"message,omitzero"`
	QueuedMessageID *string  `json:"queuedMessageId,omitzero"`
}

// ChatDelta appends text to a markdown part.
type ChatDelta struct {
	ActionBase
	TurnID  string `json:"turnId"`
	PartID  string `json:"partId"`
	Content string `json:"content"`
}

// ChatReasoning appends text to a reasoning part.
type ChatReasoning struct {
	ActionBase
	TurnID  string `json:"turnId"`
	PartID  string `json:"partId"`
	Content string `json:"content"`
}

// ChatResponsePart appends a part.
type ChatResponsePart struct {
	ActionBase
	TurnID string       `json:"turnId"`
	Part   ResponsePart `json:"part,omitzero"`
}

// ChatUsage replaces the usage of the active turn.
type ChatUsage struct {
	ActionBase
	TurnID string     `json:"turnId"`
	Usage  *UsageInfo `json:"usage,omitzero"`
}

// ChatTurnComplete ends the active turn.
type ChatTurnComplete struct {
	ActionBase
	TurnID   string  `json:"turnId"`
	Duration float64 `json:"duration"` // milliseconds
}

// ChatTurnCancelled aborts the active turn.
type ChatTurnCancelled struct {
	ActionBase
	TurnID   string  `json:"turnId"`
	Duration float64 `json:"duration"` // milliseconds
}

// ChatError ends the active turn with an error part.
type ChatError struct {
	ActionBase
	TurnID   string       `json:"turnId"`
	Duration float64      `json:"duration"` // milliseconds
	Part     ResponsePart `json:"part,omitzero"`
}

// ChatTurnResume takes the last turn up again after a resumable error.
type ChatTurnResume struct {
	ActionBase
	TurnID string `json:"turnId"`
}

// ChatActivityChanged sets or clears the activity text.
type ChatActivityChanged struct {
	ActionBase
	Activity *string `json:"activity,omitzero"`
}

// ToolCallRef names a tool call of the active turn.
type ToolCallRef struct {
	TurnID     string `json:"turnId"`
	ToolCallID string `json:"toolCallId"`
}

// ChatToolCallStart appends a tool call in streaming.
type ChatToolCallStart struct {
	ActionBase
	ToolCallRef
	ToolName    string               `json:"toolName"`
	DisplayName string               `json:"displayName"`
	Intention   *string              `json:"intention,omitzero"`
	Contributor *ToolCallContributor `json:"contributor,omitzero"`
}

// ChatToolCallDelta streams the input of a call.
type ChatToolCallDelta struct {
	ActionBase
	ToolCallRef
	Content           *string           `json:"content,omitzero"`
	InvocationMessage *StringOrMarkdown `json:"invocationMessage,omitzero"`
}

// ChatToolCallReady makes a call run, or wait for confirmation.
type ChatToolCallReady struct {
	ActionBase
	ToolCallRef
	InvocationMessage StringOrMarkdown     `json:"invocationMessage"`
	ToolInput         *ToolInput           `json:"toolInput,omitzero"`
	ConfirmationTitle *StringOrMarkdown    `json:"confirmationTitle,omitzero"`
	RiskAssessment    *RiskAssessment      `json:"riskAssessment,omitzero"`
	Edits             *FileEdits           `json:"edits,omitzero"`
	Editable          *bool                `json:"editable,omitzero"`
	Options           []ConfirmationOption `json:"options,omitzero"`
	Confirmed         *string              `json:"confirmed,omitzero"`
	Contributor       *ToolCallContributor `json:"contributor,omitzero"`
	Intention         *string              `json:"intention,omitzero"`
}

// ChatToolCallConfirmed answers a waiting call.
type ChatToolCallConfirmed struct {
	ActionBase
	ToolCallRef
	Approved         bool              `json:"approved"`
	Confirmed        *string           `json:"confirmed,omitzero"` // with approved
	EditedToolInput  *string           `json:"editedToolInput,omitzero"`
	SelectedOptionID *string           `json:"selectedOptionId,omitzero"`
	Reason           *string           `json:"reason,omitzero"` // without approved
	UserSuggestion   *Message          `json:"userSuggestion,omitzero"`
	ReasonMessage    *StringOrMarkdown `json:"reasonMessage,omitzero"`
}

// ChatToolCallComplete gives the result of a call.
type ChatToolCallComplete struct {
	ActionBase
	ToolCallRef
	Result                     ToolCallResult `json:"result"`
	RequiresResultConfirmation *bool          `json:"requiresResultConfirmation,omitzero"`
}

// ChatToolCallResultConfirmed answers a result that waits.
type ChatToolCallResultConfirmed struct {
	ActionBase
	ToolCallRef
	Approved bool `json:"approved"`
}

// ChatToolCallContentChanged replaces the output of a running call.
type ChatToolCallContentChanged struct {
	ActionBase
	ToolCallRef
	Content []ToolResultContent `json:"content"`
}

// ChatToolCallAuthRequired stops an MCP call for a sign-in.
type ChatToolCallAuthRequired struct {
	ActionBase
	ToolCallRef
	Auth *MCPAuthRequirement `json:"auth,omitzero"`
}

// ChatToolCallAuthResolved lets it run on.
type ChatToolCallAuthResolved struct {
	ActionBase
	ToolCallRef
}

// ChatTruncated drops turns after TurnID, all of them without one.
type ChatTruncated struct {
	ActionBase
	TurnID *string `json:"turnId,omitzero"`
}

// ChatTurnsLoaded puts older turns in front.
type ChatTurnsLoaded struct {
	ActionBase
	Turns           []*Turn `json:"turns"`
	TurnsNextCursor *string `json:"turnsNextCursor,omitzero"`
}

// Kinds of pending message. Anything but PendingSteering counts as queued.
const (
	PendingSteering = "steering"
	PendingQueued   = "queued"
)

// ChatPendingMessageSet puts a message into the queue or the steering slot.
type ChatPendingMessageSet struct {
	ActionBase
	Kind    string   `json:"kind"`
	ID      string   `json:"id"`
	Message *Message `json:"message,omitzero"`
}

// ChatPendingMessageRemoved takes it out again.
type ChatPendingMessageRemoved struct {
	ActionBase
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// ChatQueuedMessagesReordered orders the queue.
type ChatQueuedMessagesReordered struct {
	ActionBase
	Order []string `json:"order"`
}

// ChatDraftChanged sets or clears the shared draft.
type ChatDraftChanged struct {
	ActionBase
	Draft *Message `json:"draft,omitzero"`
}

// ChatInputRequested asks the user.
type ChatInputRequested struct {
	ActionBase
	Request *ChatInputRequest `json:"request,omitzero"`
}

// ChatInputAnswerChanged sets one answer, or deletes it without Answer.
type ChatInputAnswerChanged struct {
	ActionBase
	RequestID  string           `json:"requestId"`
	QuestionID string           `json:"questionId"`
	Answer     *ChatInputAnswer `json:"answer,omitzero"`
}

// ChatInputCompleted closes a request.
type ChatInputCompleted struct {
	ActionBase
	RequestID string                     `json:"requestId"`
	Response  string                     `json:"response"`
	Answers   map[string]ChatInputAnswer `json:"answers,omitzero"`
}

// ChatWorkingDirectorySet adds a directory.
type ChatWorkingDirectorySet struct {
	ActionBase
	Directory URI `json:"directory"`
}

// ChatWorkingDirectoryRemoved removes one.
type ChatWorkingDirectoryRemoved struct {
	ActionBase
	Directory URI `json:"directory"`
}

// ChatChangesetsChanged replaces or clears the chat's changesets.
type ChatChangesetsChanged struct {
	ActionBase
	Changesets []Changeset `json:"changesets,omitzero"`
}

// ChatBackgroundWorkSet adds or replaces a piece of background work.
type ChatBackgroundWorkSet struct {
	ActionBase
	Work BackgroundWork `json:"work"`
}

// ChatBackgroundWorkRemoved removes it.
type ChatBackgroundWorkRemoved struct {
	ActionBase
	ID string `json:"id"`
}

// ChatMovableChanged says whether the chat may be moved.
type ChatMovableChanged struct {
	ActionBase
	Movable bool `json:"movable"`
}

// ChatIsReadChanged sets or clears the read flag.
type ChatIsReadChanged struct {
	ActionBase
	IsRead bool `json:"isRead"`
}

// ChatIsArchivedChanged sets or clears the archived flag.
type ChatIsArchivedChanged struct {
	ActionBase
	IsArchived bool `json:"isArchived"`
}

// ChatCanvasesChanged replaces or clears the canvases.
type ChatCanvasesChanged struct {
	ActionBase
	Canvases []CanvasRef `json:"canvases,omitzero"`
}

// MetaOf is the _meta member an action carries, nil without one.
func MetaOf(a Action) jsontext.Value {
	if b, ok := a.(interface{ meta() jsontext.Value }); ok {
		return b.meta()
	}
	return nil
}
