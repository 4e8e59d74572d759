package wiretrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/go-json-experiment/json/jsontext"
)

// value is a JSON value that keeps the order of members and the digits of
// numbers. Strings are decoded; all other scalars are kept as they are written.
type value struct {
	kind    jsontext.Kind
	text    string // of strings, numbers and literals
	members []member
	items   []value
}

type member struct {
	name  string
	value value
}

// parseValue reads exactly one value. Lone surrogate escapes, which JavaScript
// peers do send, are let through; duplicate names are not.
func parseValue(text []byte) (value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowInvalidUTF8(true))
	v, err := readValue(dec)
	if err != nil {
		return value{}, fmt.Errorf("parse json: %w", err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return value{}, errors.New("parse json: more than one value")
	}
	return v, nil
}

func readValue(dec *jsontext.Decoder) (value, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return value{}, err
	}
	v := value{kind: tok.Kind()}
	switch v.kind {
	case jsontext.KindBeginObject:
		err = readMembers(dec, &v)
	case jsontext.KindBeginArray:
		err = readItems(dec, &v)
	default:
		v.text = tok.String()
	}
	return v, err
}

func readMembers(dec *jsontext.Decoder, v *value) error {
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		m := member{name: name.String()}
		if m.value, err = readValue(dec); err != nil {
			return err
		}
		v.members = append(v.members, m)
	}
	_, err := dec.ReadToken()
	return err
}

func readItems(dec *jsontext.Decoder, v *value) error {
	for dec.PeekKind() != jsontext.KindEndArray {
		item, err := readValue(dec)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	_, err := dec.ReadToken()
	return err
}

// String returns the value as compact JSON.
func (v value) String() string { return string(v.appendTo(nil)) }

func (v value) appendTo(b []byte) []byte {
	switch v.kind {
	case jsontext.KindBeginObject:
		b = append(b, '{')
		for i, m := range v.members {
			b = appendComma(b, i)
			b = append(appendString(b, m.name), ':')
			b = m.value.appendTo(b)
		}
		return append(b, '}')
	case jsontext.KindBeginArray:
		b = append(b, '[')
		for i, item := range v.items {
			b = item.appendTo(appendComma(b, i))
		}
		return append(b, ']')
	case jsontext.KindString:
		return appendString(b, v.text)
	default:
		return append(b, v.text...)
	}
}

func appendComma(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return b
}

func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // its error only says that bytes were replaced
	return b
}

// find returns the member called name.
func (v value) find(name string) (value, bool) {
	for _, m := range v.members {
		if m.name == name {
			return m.value, true
		}
	}
	return value{}, false
}

// equal compares two values as JSON does, without placeholders.
func equal(a, b value) bool {
	if a.kind != b.kind || len(a.items) != len(b.items) || len(a.members) != len(b.members) {
		return false
	}
	for i := range a.items {
		if !equal(a.items[i], b.items[i]) {
			return false
		}
	}
	for _, m := range a.members {
		if other, ok := b.find(m.name); !ok || !equal(m.value, other) {
			return false
		}
	}
	return a.text == b.text || a.kind == jsontext.KindNumber && equalNumbers(a.text, b.text)
}

// Numbers beyond these bounds are not compared by value, since a large exponent
// would make the exact form enormous. They must be spelled alike.
const (
	maxNumberBytes = 40
	maxExponent    = 2000 // binary; a float64 reaches 1074
)

func equalNumbers(a, b string) bool {
	x, okX := parseNumber(a)
	y, okY := parseNumber(b)
	return okX && okY && x.Cmp(y) == 0
}

// parseNumber reads a number exactly, unless it is unreasonable.
func parseNumber(s string) (*big.Rat, bool) {
	if len(s) > maxNumberBytes {
		return nil, false
	}
	f, _, err := big.ParseFloat(s, 10, 64, big.ToNearestEven)
	if err != nil || f.MantExp(nil) > maxExponent || f.MantExp(nil) < -maxExponent {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}
