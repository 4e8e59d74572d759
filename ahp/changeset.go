package ahp

import "github.com/go-json-experiment/json/jsontext"

// ChangesetCapabilities tells what a changeset can do.
type ChangesetCapabilities struct {
	Review jsontext.Value `json:"review,omitzero"` // presence means support
	Extra  jsontext.Value `json:",embed"`
}

// Changeset is an entry of a changeset catalogue.
type Changeset struct {
	Label        string                 `json:"label"`
	URITemplate  string                 `json:"uriTemplate"`
	Description  *string                `json:"description,omitzero"`
	ChangeKind   string                 `json:"changeKind"` // an open set
	Capabilities *ChangesetCapabilities `json:"capabilities,omitzero"`
	Extra        jsontext.Value         `json:",embed"`
}

// Statuses of a changeset.
const (
	ChangesetComputing   = "computing"
	ChangesetRecomputing = "recomputing"
	ChangesetReady       = "ready"
	ChangesetError       = "error"
)

// ChangesetFile is a changed file.
type ChangesetFile struct {
	ID       string         `json:"id"`
	Edit     FileEdit       `json:"edit"`
	Reviewed *bool          `json:"reviewed,omitzero"`
	Meta     jsontext.Value `json:"_meta,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

// Statuses of a changeset operation.
const (
	OperationIdle     = "idle"
	OperationRunning  = "running"
	OperationError    = "error"
	OperationDisabled = "disabled"
)

// ChangesetOperation is something that can be done with a changeset.
type ChangesetOperation struct {
	ID           string            `json:"id"`
	Label        string            `json:"label"`
	Description  *string           `json:"description,omitzero"`
	Scopes       []string          `json:"scopes"`
	Confirmation *StringOrMarkdown `json:"confirmation,omitzero"`
	Icon         *string           `json:"icon,omitzero"`
	Group        *string           `json:"group,omitzero"`
	Status       string            `json:"status"`
	Error        *ErrorInfo        `json:"error,omitzero"`
	Extra        jsontext.Value    `json:",embed"`
}

// ChangesetState is the state of a changeset.
type ChangesetState struct {
	Status     string               `json:"status"`
	Error      *ErrorInfo           `json:"error,omitzero"`
	Files      []ChangesetFile      `json:"files"`
	Operations []ChangesetOperation `json:"operations,omitzero"`
	Extra      jsontext.Value       `json:",embed"`
}

// ChangesetOperationTarget is what an operation is applied to.
type ChangesetOperationTarget struct {
	Kind     string         `json:"kind"` // resource or range
	Resource URI            `json:"resource"`
	Side     *string        `json:"side,omitzero"` // before or after
	Range    *TextRange     `json:"range,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

// ChangesetStatusChanged sets the status; the error stays only with error.
type ChangesetStatusChanged struct {
	ActionBase
	Status string     `json:"status"`
	Error  *ErrorInfo `json:"error,omitzero"`
}

// ChangesetFileSet adds or replaces a file.
type ChangesetFileSet struct {
	ActionBase
	File ChangesetFile `json:"file"`
}

// ChangesetFileRemoved removes one.
type ChangesetFileRemoved struct {
	ActionBase
	FileID string `json:"fileId"`
}

// ChangesetFilesReviewChanged marks files as reviewed or not.
type ChangesetFilesReviewChanged struct {
	ActionBase
	Files    []string `json:"files"`
	Reviewed bool     `json:"reviewed"`
}

// ChangesetContentChanged replaces the files, and the operations if given.
type ChangesetContentChanged struct {
	ActionBase
	Files      []ChangesetFile      `json:"files"`
	Operations []ChangesetOperation `json:"operations,omitzero"`
}

// ChangesetOperationsChanged replaces or clears the operations.
type ChangesetOperationsChanged struct {
	ActionBase
	Operations []ChangesetOperation `json:"operations,omitzero"`
}

// ChangesetOperationStatusChanged sets the status of one operation.
type ChangesetOperationStatusChanged struct {
	ActionBase
	OperationID string     `json:"operationId"`
	Status      string     `json:"status"`
	Error       *ErrorInfo `json:"error,omitzero"`
}

// ChangesetCleared empties the files.
type ChangesetCleared struct{ ActionBase }
