package measure

import (
	"strconv"
	"strings"
)

// Goal is what a figure should reach, as people write it: "<= 5 us" speaks of the
// value, ">= 1.3 x" and ">= 1.0 x ssh" of the ratio to the peer of the figure. The
// unit is for the reader: it is the figure's. "" is no goal.
type Goal string

// Verdict says whether a goal is met.
type Verdict string

// Verdicts.
const (
	Met    Verdict = "met"
	Missed Verdict = "missed"
	Open   Verdict = "" // there is no goal, or no peer to compare with
)

// bound is a goal taken apart.
type bound struct {
	atMost bool
	value  float64
	times  bool // of the ratio
}

// parse is false for what is no goal.
func (g Goal) parse() (b bound, ok bool) {
	words := strings.Fields(string(g))
	if len(words) < 2 || words[0] != "<=" && words[0] != ">=" {
		return bound{}, false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(words[1], ",", ""), 64)
	if err != nil {
		return bound{}, false
	}
	return bound{atMost: words[0] == "<=", value: v, times: len(words) > 2 && words[2] == "x"}, true
}

// Verdict compares the figure with its goal.
func (f *Figure) Verdict() Verdict {
	b, ok := f.Goal.parse()
	if !ok || b.times && f.Ratio == 0 {
		return Open
	}
	got := f.Value
	if b.times {
		got = f.Ratio
	}
	if b.atMost && got <= b.value || !b.atMost && got >= b.value {
		return Met
	}
	return Missed
}
