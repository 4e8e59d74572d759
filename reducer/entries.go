package reducer

import (
	"slices"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// upsert returns a copy of list with v in place of the first entry that is has,
// or behind the last: an upsert keeps the position (AHP channels, 4.19).
func upsert[T any](list []T, v T, is func(*T) bool) []T {
	if i := index(list, is); i >= 0 {
		return replaced(list, i, v)
	}
	return appended(list, v)
}

// appended returns a copy of list with v behind the last entry. It never uses
// spare room of list, which an older state may share.
func appended[T any](list []T, v T) []T {
	return slices.Concat(list, []T{v})
}

// replaced returns a copy of list with v as entry i.
func replaced[T any](list []T, i int, v T) []T {
	list = slices.Clone(list)
	list[i] = v
	return list
}

// without returns list without the entries that is has: list itself if there
// are none, and a present, empty list if nothing is left.
func without[T any](list []T, is func(*T) bool) (rest []T, removed bool) {
	if index(list, is) < 0 {
		return list, false
	}
	rest = make([]T, 0, len(list)-1)
	for i := range list {
		if !is(&list[i]) {
			rest = append(rest, list[i])
		}
	}
	return rest, true
}

// index is slices.IndexFunc without copying the entries, which are large.
func index[T any](list []T, is func(*T) bool) int {
	for i := range list {
		if is(&list[i]) {
			return i
		}
	}
	return -1
}

// present is list, but absent if it is empty.
func present[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// listed is list, but empty instead of absent: an action whose list is required
// stores one even if its sender left it out.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// given reports whether a free-form member was sent. An explicit null counts as
// absent, since none is ever kept for an optional member (AHP channels, 4.26).
func given(v jsontext.Value) bool {
	return len(v) > 0 && v.Kind() != jsontext.KindNull
}

// overlay returns an object with the members of both; those of top win. Either
// may be empty.
func overlay(base, top jsontext.Value) jsontext.Value {
	if len(base) == 0 || len(top) == 0 {
		return append(base[:len(base):len(base)], top...)
	}
	var all map[string]jsontext.Value
	for _, object := range []jsontext.Value{base, top} {
		if err := ahp.Unmarshal(object, &all); err != nil {
			return base // not an object: there is nothing to lay over
		}
	}
	merged, err := json.Marshal(all, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return base
	}
	return merged
}
