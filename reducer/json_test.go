package reducer

import (
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// tree decodes JSON into maps and slices without the members that are null,
// which stand for absent ones (AHP channels, 4.26).
func tree(tb testing.TB, raw jsontext.Value) any {
	tb.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		tb.Fatalf("decode %s: %v", raw, err)
	}
	return withoutNulls(v)
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, m := range v {
			if m == nil {
				delete(v, k)
			} else {
				v[k] = withoutNulls(m)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

func encode(tb testing.TB, v any) jsontext.Value {
	tb.Helper()
	raw, err := ahp.Marshal(v)
	if err != nil {
		tb.Fatalf("encode: %v", err)
	}
	return raw
}

func mustDecode(tb testing.TB, kind ahp.Kind, raw jsontext.Value) any {
	tb.Helper()
	s, err := Decode(kind, raw)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func mustAction(tb testing.TB, raw string) ahp.Action {
	tb.Helper()
	a, err := ahp.DecodeAction(jsontext.Value(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// rawTree decodes JSON and keeps null.
func rawTree(tb testing.TB, raw string) (v any) {
	tb.Helper()
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		tb.Fatalf("decode %s: %v", raw, err)
	}
	return v
}
