package notify

import "slices"

// Vendor is the prefix of every name of ours in somebody else's name space:
// extensions, members of _meta, vendor triggers.
const Vendor = "io.github.causeway-ahp/"

// Trigger is what has happened to a call. The set is open (notifications, 2.4).
type Trigger string

// Triggers. The first four are terminal: exactly one of them ends a call.
const (
	Completed Trigger = "completed" // the call succeeded
	Failed    Trigger = "failed"    // it ended in an error, its tool's or ours
	TimedOut  Trigger = "timeout"   // its deadline passed first
	Cancelled Trigger = "cancelled" // somebody cancelled it
	Streaming Trigger = "streaming" // it reported progress or partial output

	InputRequired Trigger = Vendor + "input_required"
	AuthRequired  Trigger = Vendor + "auth_required"
)

var standardTriggers = []Trigger{Completed, Failed, TimedOut, Cancelled, Streaming}

// Terminal reports whether t ends a call.
func (t Trigger) Terminal() bool {
	return t == Completed || t == Failed || t == TimedOut || t == Cancelled
}

// Known reports whether t can fire here. A route may list others; they are
// ignored and reported.
func (t Trigger) Known() bool {
	return slices.Contains(standardTriggers, t) || t == InputRequired || t == AuthRequired
}

// SupportedTriggers are the triggers that are advertised.
func SupportedTriggers() []Trigger { return slices.Clone(standardTriggers) }
