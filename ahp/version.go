package ahp

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a protocol version. Versions have three non-negative integers
// without leading zeros and no other parts (AHP core, 4.2).
type Version struct{ Major, Minor, Patch int }

// Current is the canonical version this build keeps and reduces.
var Current = Version{1, 1, 0}

// SupportedRanges are the versions a client may offer, as SemVer ranges.
var SupportedRanges = []string{"^1.0.0", "^0.9.0", "^0.6.0", "^0.5.1"}

// ParseVersion parses a version string.
func ParseVersion(s string) (Version, error) {
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return Version{}, fmt.Errorf("version %q: want MAJOR.MINOR.PATCH", s)
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 31)
		if err != nil || len(p) > 1 && p[0] == '0' || p[0] == '+' {
			return Version{}, fmt.Errorf("version %q: %q is not a number without leading zeros", s, p)
		}
		n[i] = int(v)
	}
	return Version{n[0], n[1], n[2]}, nil
}

// String returns MAJOR.MINOR.PATCH.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool {
	if v.Major != w.Major {
		return v.Major < w.Major
	}
	if v.Minor != w.Minor {
		return v.Minor < w.Minor
	}
	return v.Patch < w.Patch
}

// InCaret reports whether v lies in the caret range of base: the same major,
// and for 0.x the same minor, and not older than base.
func (v Version) InCaret(base Version) bool {
	if v.Less(base) || v.Major != base.Major {
		return false
	}
	return v.Major > 0 || v.Minor == base.Minor
}

// baselines are the versions whose caret ranges are served.
var baselines = []Version{{1, 0, 0}, {0, 9, 0}, {0, 6, 0}, {0, 5, 1}}

// Negotiate picks the highest offered version that is served, whatever the
// order of the offer, and returns that very string. Malformed entries are
// skipped; valid tells whether any entry was well formed.
func Negotiate(offered []string) (chosen string, valid bool) {
	var best Version
	for _, s := range offered {
		v, err := ParseVersion(s)
		if err != nil {
			continue
		}
		valid = true
		if served(v) && (chosen == "" || best.Less(v)) {
			chosen, best = s, v
		}
	}
	return chosen, valid
}

func served(v Version) bool {
	for _, b := range baselines {
		if v.InCaret(b) {
			return true
		}
	}
	return false
}
