// Package scale says how large the randomised tests of the module are to be, so
// that the same test is quick in an ordinary run and thorough at night. It is
// imported by tests only.
package scale

import (
	"os"
	"strconv"
)

// Variable is the environment variable that holds the scale, a positive number.
// 1 is the nightly size.
const Variable = "CAUSEWAY_SCALE"

// Default is the scale of an ordinary run.
const Default = 0.1

// Count returns how many cases a test should run that runs full ones at scale
// 1: at least one. A value of the variable that is no positive number panics, so
// that a misspelt nightly run is not taken for a passed one.
func Count(full int) int {
	return count(full, os.Getenv(Variable))
}

func count(full int, setting string) int {
	factor := Default
	if setting != "" {
		f, err := strconv.ParseFloat(setting, 64)
		if err != nil || !(f > 0) {
			panic("scale: " + Variable + " must be a positive number, not " + strconv.Quote(setting))
		}
		factor = f
	}
	return max(1, int(float64(full)*factor))
}
