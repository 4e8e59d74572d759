package ahp

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A host that is older names a resource, where newer ones describe it.
func TestAuthRequiredOfEveryAge(t *testing.T) {
	for _, text := range []string{
		`{"channel":"ahp-root://","resource":"https://a.example","reason":"expired"}`,
		`{"channel":"ahp-root://","resource":{"resource":"https://a.example"},"reason":"expired"}`,
	} {
		var p AuthRequiredParams
		if err := Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		if p.Resource.Resource != "https://a.example" || p.Reason != AuthReasonExpired {
			t.Errorf("%s is read as %+v", text, p)
		}
		again, err := Marshal(p)
		if want := `{"channel":"ahp-root://","resource":{"resource":"https://a.example"},"reason":"expired"}`; err != nil || string(again) != want {
			t.Errorf("%s is written as %s (%v)", text, again, err)
		}
	}
	for _, text := range []string{`{"channel":"c","resource":7}`, `{"channel":"c","resource":["x"]}`} {
		if err := Unmarshal([]byte(text), new(AuthRequiredParams)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

func TestRequiredResources(t *testing.T) {
	of := func(code int64, data string) error {
		return fmt.Errorf("create: %w", &Error{Code: code, Message: "m", Data: jsontext.Value(data)})
	}
	for _, c := range []struct {
		err  error
		want int
	}{
		{of(CodeAuthRequired, `{"resources":[{"resource":"https://a.example"},{"resource":"https://b.example"}]}`), 2},
		{of(CodeAuthRequired, `[{"resource":"https://a.example"}]`), 1}, // as hosts once sent it
		{of(CodeAuthRequired, `"x"`), 0},
		{of(CodeAuthRequired, ``), 0},
		{of(CodeNotFound, `{"resources":[{"resource":"https://a.example"}]}`), 0},
		{errors.New("x"), 0},
		{nil, 0},
	} {
		if got := RequiredResources(c.err); len(got) != c.want {
			t.Errorf("%v: %+v, want %d", c.err, got, c.want)
		}
	}
}
