package session

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/go-json-experiment/json/jsontext"
)

// audit is a journal store that follows every channel with the reducers and
// notes what must never happen: an action of the host that changes nothing, one
// of a turn that is not active, a turn that is lost.
type audit struct {
	mu     sync.Mutex
	states map[ahp.URI]any
	faults []string
	lax    bool
	// types counts the host's own actions by type.
	types map[string]int
}

func newAudit() *audit {
	return &audit{states: map[ahp.URI]any{ahp.RootURI: reducer.New(ahp.KindRoot)}, types: make(map[string]int)}
}

// Write implements journal.Store.
func (a *audit) Write(group []*journal.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range group {
		switch r.Kind {
		case journal.Created:
			a.created(r)
		case journal.Action:
			a.action(r)
		case journal.Removed:
			delete(a.states, r.Channel)
		}
	}
	return nil
}

// relax leaves out comparing states by value.
func (a *audit) relax() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lax = true
}

func (a *audit) Sync() error  { return nil }
func (a *audit) Close() error { return nil }

func (a *audit) fault(format string, args ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, args...))
}

func (a *audit) created(r *journal.Record) {
	state := reducer.New(ahp.KindOf(r.Channel))
	if err := ahp.Unmarshal(r.Body, state); err != nil {
		a.fault("first state of %s: %v", r.Channel, err)
	}
	a.states[r.Channel] = state
}

func (a *audit) action(r *journal.Record) {
	action, err := ahp.DecodeAction(r.Body)
	if err != nil {
		a.fault("%d: %v", r.Seq, err)
		return
	}
	before := a.states[r.Channel]
	if before == nil {
		a.fault("%d: %s on %s, which does not exist", r.Seq, r.Body, r.Channel)
		return
	}
	after := reducer.Apply(before, action)
	a.states[r.Channel] = after
	if chat, ok := before.(*ahp.ChatState); ok {
		a.turn(r, chat, action)
	}
	if r.Origin.ClientID == "" {
		a.types[action.ActionType()]++
		if after == before || !a.lax && bytes.Equal(canonical(before), canonical(after)) {
			a.fault("%d: the host's %s on %s changes nothing", r.Seq, r.Body, r.Channel)
		}
	}
}

// turn checks an action that names a turn.
func (a *audit) turn(r *journal.Record, s *ahp.ChatState, action ahp.Action) {
	raw, named := member(r.Body, "turnId")
	active := s.ActiveTurn != nil
	switch action.(type) {
	case *ahp.ChatTurnStarted:
		if active {
			a.fault("%d: turn %s erases %s", r.Seq, raw, s.ActiveTurn.ID)
		}
		return
	case *ahp.ChatTurnResume, *ahp.ChatTruncated:
		if active {
			a.fault("%d: %s while %s is active", r.Seq, r.Body, s.ActiveTurn.ID)
		}
		return
	}
	if named && (!active || s.ActiveTurn.ID != raw) {
		a.fault("%d: %s after the end of its turn", r.Seq, r.Body)
	}
}

func member(v jsontext.Value, name string) (string, bool) {
	var m map[string]jsontext.Value
	if ahp.Unmarshal(v, &m) != nil {
		return "", false
	}
	var s string
	err := ahp.Unmarshal(m[name], &s)
	return s, err == nil
}

func canonical(state any) []byte {
	v, err := ahp.Marshal(state)
	if err != nil {
		return nil
	}
	if v.Canonicalize() != nil {
		return nil
	}
	return v
}

// check reports the faults, turns left open, and channels whose history does not
// lead to their state.
func (a *audit) check(t *testing.T, h *host.Host) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.faults {
		t.Error(f)
	}
	for uri, state := range a.states {
		if chat, ok := state.(*ahp.ChatState); ok && chat.ActiveTurn != nil {
			t.Errorf("turn %s of %s never ended", chat.ActiveTurn.ID, uri)
		}
		if got, want := canonical(h.State(uri)), canonical(state); !bytes.Equal(got, want) {
			t.Errorf("state of %s\n%s\nits history says\n%s", uri, got, want)
		}
	}
}
