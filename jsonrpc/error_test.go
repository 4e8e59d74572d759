package jsonrpc

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestErrorMatchesByCode(t *testing.T) {
	err := fmt.Errorf("open: %w", Errorf(CodeInvalidParams, "port %d", 0))
	if !errors.Is(err, ErrInvalidParams) || errors.Is(err, ErrInternal) {
		t.Errorf("%v does not match by its code alone", err)
	}
}

func TestErrorWithData(t *testing.T) {
	with := ErrInvalidParams.WithData(map[string]int{"a": 1})
	if got, err := json.Marshal(with); err != nil || string(got) != `{"code":-32602,"message":"invalid params","data":{"a":1}}` {
		t.Errorf("marshalled as %s, %v", got, err)
	}
	if ErrInvalidParams.Data != nil {
		t.Error("the shared value was written to")
	}
	bad := ErrInvalidParams.WithData(func() {})
	if !errors.Is(bad, ErrInternal) || bad.Message != ErrInternal.Message || bad.Unwrap() == nil {
		t.Errorf("data that does not marshal gives %v, cause %v", bad, bad.Unwrap())
	}
}

func TestConnectionErrorMatches(t *testing.T) {
	err := fmt.Errorf("call: %w", &ConnectionError{Cause: io.ErrUnexpectedEOF})
	if !errors.Is(err, ErrClosed) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v matches too little", err)
	}
	if err := (&ConnectionError{}); !errors.Is(err, ErrClosed) || err.Error() != ErrClosed.Error() {
		t.Errorf("without a cause: %v", err)
	}
}
