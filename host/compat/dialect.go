package compat

import "github.com/causeway-ahp/causeway/ahp"

// Dialect is a group of protocol versions that write everything alike. The zero
// value is the canonical one.
type Dialect uint8

// Dialects, the newest first (AHP core, 18).
const (
	Canonical Dialect = iota // 1.x
	V09                      // 0.9.x
	V06                      // 0.6.x
	V052                     // 0.5.2
	V051                     // 0.5.1

	Dialects = iota // how many there are
)

// newest is the newest version each dialect knows the words of.
var newest = [...]ahp.Version{
	Canonical: ahp.Current,
	V09:       {Major: 0, Minor: 9, Patch: 0},
	V06:       {Major: 0, Minor: 6, Patch: 0},
	V052:      {Major: 0, Minor: 5, Patch: 2},
	V051:      {Major: 0, Minor: 5, Patch: 1},
}

// String names the versions a dialect stands for, such as 0.9.x.
func (d Dialect) String() string { return names[d] }

var names = [...]string{Canonical: "1.x", V09: "0.9.x", V06: "0.6.x", V052: "0.5.2", V051: "0.5.1"}

// Of is the dialect of a version that was negotiated.
func Of(version string) Dialect {
	v, err := ahp.ParseVersion(version)
	if err != nil {
		return Canonical
	}
	for d, n := range newest {
		if Dialect(d) != Canonical && v.InCaret(n) {
			return Dialect(d)
		}
	}
	return Canonical
}

// knows reports whether the dialect has an action type. Types that nobody has
// listed are sent to everybody: clients skip what they do not know.
func (d Dialect) knows(action string) bool {
	if ahp.BelongsTo(action, ahp.KindClientServices) {
		return true // offered by a capability, whatever the version: who subscribes knows them
	}
	if d == Canonical {
		return true
	}
	since, err := ahp.ParseVersion(ahp.Since(action))
	return err != nil || !newest[d].Less(since)
}

// before07 reports whether the dialect is older than what 0.7 to 0.9 changed.
func (d Dialect) before07() bool { return d >= V06 }
