package ahp

import (
	"errors"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Keyed is an element of a List.
type Keyed interface {
	// Key returns the id under which List.Find finds the element; "" keeps it
	// out of the index. It must not change while the element is in a list.
	Key() string
}

// List is an immutable sequence of elements with ids, made for state that is
// changed one element at a time: turns, response parts and the like. No
// operation changes an older value. The zero List is absent, which is not the
// same as empty; a struct member tagged omitzero leaves it out.
//
// At, Set, Append and Find cost the logarithm of the length to base 32 or 8.
// Set on the index that was set last allocates nothing, and Find of its key
// does not touch the index: that is the path of a streamed delta.
//
// A List is a small value if T is a pointer or an interface: copy it freely.
// All methods may be called by any number of goroutines at once. Elements are
// shared between lists, so they must not be modified.
type List[T Keyed] struct {
	body *listBody[T] // nil when absent

	// The focus is the element that was set last. It stands here instead of in
	// body, where its index still holds an older element with the same key, and
	// moves into the body when another index is set.
	focus T
	at    int  // index of the focus; meaningless unless focused
	state byte // listFocused, listFirst
}

// Bits of List.state.
const (
	listFocused = 1 << iota // there is a focus
	listFirst               // and no element before it has its key
)

// NewList returns a present List of the items, which it copies.
func NewList[T Keyed](items ...T) List[T] {
	return List[T]{body: newListBody(items)}
}

// Len returns the number of elements.
func (x List[T]) Len() int {
	if x.body == nil {
		return 0
	}
	return x.body.count
}

// IsZero reports whether x is absent. NewList() is present.
func (x List[T]) IsZero() bool { return x.body == nil }

// At returns element i. Like a slice it panics if i is out of range.
func (x List[T]) At(i int) T {
	if x.isFocus(i) {
		return x.focus
	}
	x.check(i)
	return x.body.at(i)
}

// Find returns the index of the first element with the key. Nothing has the key
// "".
func (x List[T]) Find(key string) (i int, ok bool) {
	if x.state&listFirst != 0 && x.focus.Key() == key {
		return x.at, true
	}
	if x.body == nil {
		return 0, false
	}
	return x.body.keys.find(key)
}

// Set returns x with element i replaced by v. It panics if i is out of range.
// An element with another key than the one it replaces costs time in proportion
// to the length.
func (x List[T]) Set(i int, v T) List[T] {
	if x.isFocus(i) && x.focus.Key() == v.Key() {
		x.focus = v
		return x
	}
	return x.refocus(i, v)
}

// refocus moves the focus into the body and makes v, at i, the new one.
func (x List[T]) refocus(i int, v T) List[T] {
	x.check(i)
	key := v.Key()
	if key != x.At(i).Key() {
		items := x.items(x.Len())
		items[i] = v
		return NewList(items...)
	}
	y := List[T]{body: x.flushed(), focus: v, at: i, state: listFocused}
	if first, ok := y.body.keys.find(key); ok && first == i {
		y.state |= listFirst
	}
	return y
}

// flushed returns the body with the focus in it.
func (x List[T]) flushed() *listBody[T] {
	if x.state&listFocused == 0 {
		return x.body
	}
	return x.body.with(x.at, x.focus)
}

// Append returns x with v behind its last element. The result is present even
// if x is absent.
func (x List[T]) Append(v T) List[T] {
	if x.body == nil {
		return NewList(v)
	}
	x.body = x.body.push(v)
	return x
}

// Prepend returns a present list of the items followed by the elements of x. It
// costs time in proportion to the length of both.
func (x List[T]) Prepend(items ...T) List[T] {
	all := make([]T, 0, len(items)+x.Len())
	all = append(all, items...)
	for _, v := range x.All() {
		all = append(all, v)
	}
	return NewList(all...)
}

// Slice returns a present list of the elements from index from up to but not
// including index to, in time proportional to to. Like a slice expression it
// panics unless 0 <= from <= to <= x.Len().
func (x List[T]) Slice(from, to int) List[T] {
	return NewList(x.items(to)[from:]...)
}

// Truncate returns a present list of the first n elements. It panics unless
// 0 <= n <= x.Len().
func (x List[T]) Truncate(n int) List[T] {
	if x.body != nil && n == x.Len() {
		return x
	}
	return x.Slice(0, n)
}

// All ranges over the indexes and elements in order.
func (x List[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for base := 0; base < x.Len(); base += listWidth {
			for j, v := range x.body.leaf(base) {
				if x.isFocus(base + j) {
					v = x.focus
				}
				if !yield(base+j, v) {
					return
				}
			}
		}
	}
}

// items returns the first n elements in a new slice.
func (x List[T]) items(n int) []T {
	if n < 0 || n > x.Len() {
		panic(fmt.Sprintf("ahp: list of %d elements cut at %d", x.Len(), n))
	}
	items := make([]T, 0, n)
	for i, v := range x.All() {
		if i == n {
			break
		}
		items = append(items, v)
	}
	return items
}

func (x List[T]) isFocus(i int) bool {
	return i == x.at && x.state&listFocused != 0
}

func (x List[T]) check(i int) {
	if i < 0 || i >= x.Len() {
		panic(fmt.Sprintf("ahp: index %d of a list of %d elements", i, x.Len()))
	}
}

// MarshalJSONTo writes x as a JSON array, an absent list as [].
func (x List[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for i, v := range x.All() {
		if err := json.MarshalEncode(enc, v); err != nil {
			return fmt.Errorf("list element %d: %w", i, err)
		}
	}
	return enc.WriteToken(jsontext.EndArray)
}

var (
	errListNotArray    = errors.New("list is not a JSON array")
	errListNullElement = errors.New("list element is null")
)

// UnmarshalJSONFrom reads a JSON array; null makes x absent. An element may not
// be null, since a peer must not be able to plant a nil pointer in a list. After
// an error x is unchanged.
func (x *List[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch tok.Kind() {
	case jsontext.KindNull:
		*x = List[T]{}
		return nil
	case jsontext.KindBeginArray:
	default:
		return errListNotArray
	}
	items, err := listDecode[T](dec)
	if err != nil {
		return err
	}
	*x = NewList(items...)
	return nil
}

// listDecode reads the elements of an array up to and including its end.
func listDecode[T Keyed](dec *jsontext.Decoder) ([]T, error) {
	var items []T
	for {
		switch dec.PeekKind() {
		case jsontext.KindEndArray:
			_, err := dec.ReadToken()
			return items, err
		case jsontext.KindNull:
			return nil, errListNullElement
		}
		var v T
		if err := json.UnmarshalDecode(dec, &v); err != nil {
			return nil, err
		}
		items = append(items, v)
	}
}
