package limit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Hits is the counter of a row that names no other: its label limit is the name.
const Hits = "causeway_limit_hits_total"

// Row is one limit.
type Row struct {
	Name string
	// Value points to where the limit stands: an *int, *int64 or *time.Duration.
	Value any
	Fixed bool // it cannot be set
	// Unit is what an integer counts, such as "sessions"; Bytes for memory.
	Unit string
	// Bounds says what is bounded, and Policy what happens at the bound.
	Bounds, Policy string
	// Counter is the metric that counts how often it happened, with its label if it has
	// one: "" for Hits.
	Counter string
	Field   string // that sets it in Go
	Source  string // of the rule, "own" without one
}

// Bytes is the unit of memory.
const Bytes = "bytes"

// Metric is the counter of the row as it stands in the metrics.
func (r *Row) Metric() string {
	if r.Counter != "" {
		return r.Counter
	}
	return fmt.Sprintf("%s{limit=%q}", Hits, r.Name)
}

// String is the value with its unit.
func (r *Row) String() string {
	if d, ok := r.Value.(*time.Duration); ok {
		return duration(*d)
	}
	n := r.integer()
	switch {
	case n < 0:
		return "off"
	case r.Unit == Bytes:
		return bytes(n)
	}
	return strconv.FormatInt(n, 10) + " " + r.Unit
}

func (r *Row) integer() int64 {
	switch v := r.Value.(type) {
	case *int:
		return int64(*v)
	case *int64:
		return *v
	}
	panic(fmt.Sprintf("limit: %s is a %T", r.Name, r.Value))
}

// duration is d without parts that are zero.
func duration(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// units of memory, the largest first.
var units = []struct {
	name string
	size int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

func bytes(n int64) string {
	for _, u := range units {
		if n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// Set fails for a limit that is fixed. It gives the limit a value that somebody wrote: a number, with KiB, MiB or GiB for
// memory, or a duration such as 30s. It must be above zero.
func (r *Row) Set(text string) error {
	if r.Fixed {
		return fmt.Errorf("%s is %s, always", r.Name, r)
	}
	if d, ok := r.Value.(*time.Duration); ok {
		v, err := time.ParseDuration(text)
		if err != nil || v <= 0 {
			return fmt.Errorf("%s is a duration above zero, such as %s, not %q", r.Name, r, text)
		}
		*d = v
		return nil
	}
	n, ok := r.parse(text)
	if !ok {
		return fmt.Errorf("%s is a number above zero, such as %s, not %q", r.Name, r.example(), text)
	}
	switch v := r.Value.(type) {
	case *int:
		*v = int(n)
	case *int64:
		*v = n
	}
	return nil
}

func (r *Row) example() string {
	if r.Unit == Bytes {
		return strings.ReplaceAll(strings.TrimSuffix(r.String(), " bytes"), " ", "")
	}
	return strconv.FormatInt(max(r.integer(), 1), 10)
}

func (r *Row) parse(text string) (n int64, ok bool) {
	factor := int64(1)
	if r.Unit == Bytes {
		for _, u := range units {
			if number, found := strings.CutSuffix(text, u.name); found {
				text, factor = strings.TrimSpace(number), u.size
				break
			}
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt/factor {
		return 0, false
	}
	return n * factor, true
}
