package jsonrpc

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestAppend(t *testing.T) {
	id := NumberID(7)
	params := jsontext.Value(`{"channel":"c"}`)
	for _, test := range []struct{ got, want string }{
		{string(AppendRequest(nil, id, "m", params)), `{"jsonrpc":"2.0","id":7,"method":"m","params":{"channel":"c"}}`},
		{string(AppendRequest(nil, mustID(t, `"a"`), "m\n", nil)), `{"jsonrpc":"2.0","id":"a","method":"m\n"}`},
		{string(AppendNotification([]byte("x"), "n", params)), `x{"jsonrpc":"2.0","method":"n","params":{"channel":"c"}}`},
		{string(AppendNotification(nil, "n", nil)), `{"jsonrpc":"2.0","method":"n"}`},
		{string(AppendResult(nil, id, nil)), `{"jsonrpc":"2.0","id":7,"result":null}`},
		{string(AppendResult(nil, id, jsontext.Value(`{}`))), `{"jsonrpc":"2.0","id":7,"result":{}}`},
		{string(AppendError(nil, ID{}, ErrParse)), `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not valid JSON"}}`},
		{string(AppendError(nil, id, Errorf(1, "a %q", "b").WithData([]int{1}))), `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"a \"b\"","data":[1]}}`},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}
