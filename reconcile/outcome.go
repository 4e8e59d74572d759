package reconcile

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// Result is how a dispatch ended.
type Result uint8

// The ways a dispatch can end.
const (
	// Confirmed: the host applied it.
	Confirmed Result = iota + 1
	// Rejected: the host refused it and nothing changed.
	Rejected
	// Unknown: it was written, and no answer will come. The host may have
	// applied it; the confirmed state tells, where it can.
	Unknown
	// Unsent: it was never written. The host has not seen it and never will.
	Unsent
)

// String returns the name of the result.
func (r Result) String() string {
	switch r {
	case Confirmed:
		return "confirmed"
	case Rejected:
		return "rejected"
	case Unknown:
		return "unknown"
	case Unsent:
		return "unsent"
	}
	return "none"
}

// Outcome is the end of one own dispatch.
type Outcome struct {
	ClientSeq uint64
	Result    Result
	Reason    string // the host's text, for Rejected
}

// Kind says what an envelope turned out to be.
type Kind uint8

// The kinds of an envelope.
const (
	// Ignored: nothing to do, since its number is not above what was applied, or
	// since it rejects somebody else's action.
	Ignored Kind = iota
	// Own: the echo of a pending action.
	Own
	// Refused: the rejection of an own action.
	Refused
	// Foreign: an action of the host, of another client, or of this one that was
	// given up before. It is reduced; pending is rebased on it.
	Foreign
)

// String returns the name of the kind.
func (k Kind) String() string {
	return [...]string{"ignored", "own", "refused", "foreign"}[k]
}

// Envelope is what the machine needs of an action envelope (AHP core, 6.2).
type Envelope struct {
	ServerSeq uint64
	Action    ahp.Action
	Body      jsontext.Value // the action as it came; it may be nil
	Origin    ahp.Origin     // the zero value without one
	Rejected  bool
	Reason    string
}
