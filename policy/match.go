package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// match is a grant in the form that is asked.
type match struct {
	owner string // a principal or "*"
	where []field
}

// field is a member that a service's metadata must have, with a value that is
// text, a number or a boolean.
type field struct {
	name  string
	value any // string, float64 or bool
}

func compileGrants(list []grant) ([]match, error) {
	out := make([]match, 0, len(list))
	for _, g := range list {
		if g.Owner == "" {
			return nil, errors.New(`an entry names no owner: write a principal or "*"`)
		}
		m := match{owner: g.Owner}
		for _, name := range slices.Sorted(maps.Keys(g.Where)) {
			value, ok := scalar(g.Where[name])
			if !ok {
				return nil, fmt.Errorf("where %s: only text, numbers and booleans can be compared", name)
			}
			m.where = append(m.where, field{name, value})
		}
		out = append(out, m)
	}
	return out, nil
}

func scalar(v any) (any, bool) {
	switch v := v.(type) {
	case string, bool, float64:
		return v, true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case int:
		return float64(v), true
	}
	return nil, false
}

// any reports whether an entry of the list covers a service.
func anyOf(list []match, owner host.Principal, metadata jsontext.Value) bool {
	for i := range list {
		if list[i].covers(owner, metadata) {
			return true
		}
	}
	return false
}

func (m *match) covers(owner host.Principal, metadata jsontext.Value) bool {
	if m.owner != "*" && m.owner != string(owner) {
		return false
	}
	for _, f := range m.where {
		if raw, ok := jsonrpc.Member(metadata, f.name); !ok || !f.equals(raw) {
			return false
		}
	}
	return true
}

func (f *field) equals(raw jsontext.Value) bool {
	switch want := f.value.(type) {
	case string:
		got, ok := jsonrpc.StringBytes(raw)
		return ok && string(got) == want
	case bool:
		return string(raw) == strconv.FormatBool(want)
	case float64:
		got, err := strconv.ParseFloat(string(raw), 64)
		return err == nil && got == want
	}
	return false
}
