package ahp

import "github.com/go-json-experiment/json/jsontext"

// GlobList is a list of globs or relative paths.
type GlobList struct {
	Items []string       `json:"items"`
	Extra jsontext.Value `json:",embed"`
}

// ResourceWatchState is the state of a resource watch. It never changes.
type ResourceWatchState struct {
	Root      URI            `json:"root"`
	Recursive bool           `json:"recursive"`
	Excludes  *GlobList      `json:"excludes,omitzero"`
	Includes  *GlobList      `json:"includes,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// ResourceChange is one change a watch saw.
type ResourceChange struct {
	URI   URI            `json:"uri"`
	Type  string         `json:"type"` // added, updated, deleted
	Extra jsontext.Value `json:",embed"`
}

// ResourceChanges is a list of changes, never empty.
type ResourceChanges struct {
	Items []ResourceChange `json:"items"`
	Extra jsontext.Value   `json:",embed"`
}

// ResourceWatchChanged reports changes. It changes no state.
type ResourceWatchChanged struct {
	ActionBase
	Changes ResourceChanges `json:"changes"`
}

// EmptyState is the state of a channel that carries only notifications.
type EmptyState struct {
	Extra jsontext.Value `json:",embed"`
}
