package reducer

import (
	"fmt"
	"iter"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// Apply reduces a with the reducer of the state's type, which must be one that
// New returns. The result has the same type; it is state itself if nothing
// changed, also for a state of another type (AHP channels, 1.2).
func Apply(state any, a ahp.Action) any {
	switch s := state.(type) {
	case *ahp.ChatState:
		return Chat(s, a)
	case *ahp.SessionState:
		return Session(s, a)
	case *ahp.TerminalState:
		return Terminal(s, a)
	case *ahp.RootState:
		return Root(s, a)
	case *ahp.ChangesetState:
		return Changeset(s, a)
	case *ahp.AnnotationsState:
		return Annotations(s, a)
	case *ahp.ResourceWatchState:
		return ResourceWatch(s, a)
	case *ahp.ClientServicesState:
		return ClientServices(s, a)
	}
	return state
}

// Fold reduces the actions in turn. It comes to the same as Apply for each of
// them, only cheaper, since nobody sees the states in between; the result may be
// a copy where Apply would return state itself.
func Fold(state any, actions iter.Seq[ahp.Action]) any {
	if s, ok := state.(*ahp.ChatState); ok {
		return foldChat(s, actions)
	}
	for a := range actions {
		state = Apply(state, a)
	}
	return state
}

// New returns the state of a new channel, a pointer that belongs to the caller.
// A kind without a reducer has an *ahp.EmptyState.
func New(kind ahp.Kind) any {
	state := blank(kind)
	switch s := state.(type) {
	case *ahp.SessionState:
		s.Status, s.Lifecycle = ahp.StatusIdle, ahp.LifecycleCreating
	case *ahp.ChatState:
		s.ChatHeader = &ahp.ChatHeader{ChatInfo: ahp.ChatInfo{Status: ahp.StatusIdle}}
		s.Turns = ahp.NewList[*ahp.Turn]()
	case *ahp.TerminalState:
		s.Content = ahp.NewList[*ahp.TerminalPart]()
		s.Lifecycle = &ahp.TerminalLifecycle{Status: ahp.TerminalRunning}
	case *ahp.ChangesetState:
		s.Status = ahp.ChangesetComputing
	}
	return state
}

// Decode decodes the state of a channel, such as that of a snapshot. The result
// has the type that New returns for the kind. Missing members are no error: the
// states of older peers and of test data are often minimal.
func Decode(kind ahp.Kind, raw jsontext.Value) (any, error) {
	if raw.Kind() != jsontext.KindBeginObject {
		return nil, fmt.Errorf("decode state of kind %q: not an object", kind)
	}
	state := blank(kind)
	if err := ahp.Unmarshal(raw, state); err != nil {
		return nil, fmt.Errorf("decode state of kind %q: %w", kind, err)
	}
	return state, nil
}

// blank returns the zero state of a kind. Decode begins with it, so that a
// default of New never stands in for a member the peer left out.
func blank(kind ahp.Kind) any {
	switch kind {
	case ahp.KindRoot:
		return new(ahp.RootState)
	case ahp.KindSession:
		return new(ahp.SessionState)
	case ahp.KindChat:
		return new(ahp.ChatState)
	case ahp.KindTerminal:
		return new(ahp.TerminalState)
	case ahp.KindChangeset:
		return new(ahp.ChangesetState)
	case ahp.KindAnnotations:
		return new(ahp.AnnotationsState)
	case ahp.KindResourceWatch:
		return new(ahp.ResourceWatchState)
	case ahp.KindClientServices:
		return new(ahp.ClientServicesState)
	}
	return new(ahp.EmptyState)
}
