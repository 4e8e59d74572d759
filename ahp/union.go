package ahp

import (
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decodeOptions are used for every nested value: JavaScript peers send lone
// surrogate escapes, which are accepted and normalised (AHP design, JSON).
var decodeOptions = json.JoinOptions(jsontext.AllowInvalidUTF8(true))

// Unmarshal decodes one JSON value of a peer. Lone surrogates become U+FFFD;
// duplicate names are refused. After an error v must be thrown away.
func Unmarshal(data []byte, v any) error {
	return json.Unmarshal(data, v, decodeOptions)
}

// Marshal encodes v in the canonical form.
func Marshal(v any) (jsontext.Value, error) {
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true))
}

// decodeUnion reads one object whose member disc names its variant. A known
// variant (or an object without the member) is decoded into typed. Of an
// unknown one only the discriminator is understood: unknown receives it with a
// copy of the whole object, because a name we know may hold another type there
// (AHP channels, 4.31).
func decodeUnion(dec *jsontext.Decoder, disc string, known map[string]bool, typed any, unknown func(variant string, raw jsontext.Value)) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	variant, ok := memberString(raw, disc)
	if !ok || known[variant] {
		return json.Unmarshal(raw, typed, dec.Options())
	}
	unknown(variant, raw.Clone())
	return nil
}

// encodeUnion writes raw, the object of an unknown variant, or else typed.
func encodeUnion(enc *jsontext.Encoder, raw jsontext.Value, typed any) error {
	if raw != nil {
		return enc.WriteValue(raw)
	}
	return json.MarshalEncode(enc, typed)
}

// memberString returns the string member name of the object raw.
func memberString(raw jsontext.Value, name string) (string, bool) {
	v, ok := jsonrpc.Member(raw, name)
	if !ok {
		return "", false
	}
	return jsonrpc.StringValue(v)
}

// set is a small literal set of strings.
func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
