package jsonrpc

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxIDBytes bounds the JSON spelling of an id. An id is kept for as long as
// its request runs, so its size is not left to the peer.
const MaxIDBytes = 1024

type idKind uint8

const (
	idAbsent  idKind = iota
	idNumber         // num
	idLiteral        // text: an integer literal outside the range of num
	idString         // text: the decoded string
)

// ID identifies a request within one direction of one connection. It is a
// JSON integer of any size or a JSON string; 1 and "1" are different ids.
// Values are comparable, and equal exactly when the ids are the same JSON
// value, however a string was escaped. The zero ID means "absent" and is
// spelled null.
//
// No id ever passes through a float, so those above 2^53 stay apart.
type ID struct {
	// text holds lone surrogates in the three-byte form that UTF-8 forbids, so
	// that two ids differing only in them stay different.
	text string
	num  uint64
	kind idKind
}

// NumberID returns the id spelled as the decimal digits of n.
func NumberID(n uint64) ID { return ID{num: n, kind: idNumber} }

// ParseID reads an id from exactly one JSON value without surrounding space.
// Strings and integer literals up to [MaxIDBytes] are ids; anything else,
// fractions, exponents and null included, is an [ErrInvalidRequest]
// (AHP core, 2: accept strings too and echo the id exactly as received).
func ParseID(raw []byte) (ID, error) {
	switch {
	case len(raw) == 0:
		return ID{}, invalid("id is empty")
	case len(raw) > MaxIDBytes:
		return ID{}, invalid("id is too long")
	case raw[0] == '"':
		return parseStringID(raw)
	default:
		return parseIntegerID(raw)
	}
}

func parseStringID(raw []byte) (ID, error) {
	if checkString(raw, 1) != len(raw) {
		return ID{}, invalid("id is not a valid string")
	}
	body := raw[1 : len(raw)-1]
	if !hasEscape(body) {
		return ID{text: string(body), kind: idString}, nil
	}
	return ID{text: string(appendUnescaped(nil, body, keepSurrogates)), kind: idString}, nil
}

func parseIntegerID(raw []byte) (ID, error) {
	if !isInteger(raw) {
		return ID{}, invalid("id is neither a string nor an integer")
	}
	if n, ok := parseDigits(raw); ok {
		return NumberID(n), nil
	}
	return ID{text: string(raw), kind: idLiteral}, nil
}

// isInteger reports whether raw is a JSON number without fraction or exponent.
func isInteger(raw []byte) bool {
	digits := raw
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && len(digits) > 1 {
		return false
	}
	for _, b := range digits {
		if !isDigit(b) {
			return false
		}
	}
	return true
}

// parseDigits reads a non-negative decimal that fits 64 bits. It exists beside
// strconv because the argument is bytes and this is once per request.
func parseDigits[T []byte | string](digits T) (uint64, bool) {
	if len(digits) == 0 {
		return 0, false
	}
	var n uint64
	for i := range len(digits) {
		d := uint64(digits[i]) - '0'
		if d > 9 || n > math.MaxUint64/10 || n == math.MaxUint64/10 && d > math.MaxUint64%10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// IsZero reports whether the id is absent. It also serves the omitzero tag.
func (id ID) IsZero() bool { return id.kind == idAbsent }

// Number returns the id as a number, and whether it is an integer of 64 bits
// without sign. It is false for a string of digits.
func (id ID) Number() (uint64, bool) { return id.num, id.kind == idNumber }

// looseNumber also reads a string that spells a number the way we spell ours.
// Some peers turn 0 into "0" on the way back.
func (id ID) looseNumber() (uint64, bool) {
	if id.kind != idString || strings.HasPrefix(id.text, "0") && id.text != "0" {
		return id.Number()
	}
	return parseDigits(id.text)
}

// String returns the JSON spelling: digits bare, strings quoted, null when
// absent. It is meant for logs, where 1 and "1" must stay apart.
func (id ID) String() string { return string(id.AppendTo(nil)) }

// AppendTo appends the JSON spelling of the id to dst.
func (id ID) AppendTo(dst []byte) []byte {
	switch id.kind {
	case idNumber:
		return strconv.AppendUint(dst, id.num, 10)
	case idLiteral:
		return append(dst, id.text...)
	case idString:
		return appendQuoted(dst, id.text)
	default:
		return append(dst, "null"...)
	}
}

// MarshalJSONTo writes the id; an absent one as null. An id that holds a lone
// surrogate needs an encoder with jsontext.AllowInvalidUTF8.
func (id ID) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(id.AppendTo(nil))
}

// UnmarshalJSONFrom reads an id by the rules of [ParseID]; null is refused.
func (id *ID) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	parsed, err := ParseID(raw)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
