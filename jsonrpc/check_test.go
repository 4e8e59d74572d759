package jsonrpc

import (
	"errors"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct {
		raw   string
		depth int
		want  error
	}{
		{`null`, 0, nil},
		{` {"a":[1,"x"]} `, 2, nil},
		{`{"a":[1]}`, 1, ErrTooComplex},
		{deep(64), 64, nil},
		{deep(65), 64, ErrTooComplex},
		{deep(MaxDepth + 1), MaxDepth, ErrTooComplex},
		{``, 1, ErrParse},
		{`{} {}`, 1, ErrParse},
		{`{"a":}`, 1, ErrParse},
		{"\"\xff\"", 1, ErrParse},
	}
	for _, tt := range tests {
		if err := Check([]byte(tt.raw), tt.depth); !errors.Is(err, tt.want) {
			t.Errorf("Check(%.20q, %d) = %v, want %v", tt.raw, tt.depth, err, tt.want)
		}
	}
}
