package jsonrpc_test

import (
	"context"
	"fmt"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// echo answers every request with its own params.
type echo struct{}

func (echo) HandleNotification(_ context.Context, m *jsonrpc.Message) {
	fmt.Println("notified:", m.Method)
}

func (echo) HandleRequest(_ context.Context, m jsonrpc.Message) jsonrpc.Reply {
	return jsonrpc.Reply{Result: m.Params}
}

// Two ends without a carrier: each one's Send is the other one's Receive.
func Example() {
	ctx := context.Background()
	var near, far *jsonrpc.Conn
	near = jsonrpc.NewConn(ctx, jsonrpc.Options{Send: func(msg []byte) error { return far.Receive(msg) }})
	far = jsonrpc.NewConn(ctx, jsonrpc.Options{
		Send:    func(msg []byte) error { return near.Receive(msg) },
		Handler: echo{},
	})
	defer near.Close(nil)
	defer far.Close(nil)

	if err := near.Notify("hello", nil); err != nil {
		fmt.Println(err)
	}
	var answer struct{ Text string }
	if err := near.Call(ctx, "echo", map[string]string{"Text": "hi"}, &answer); err != nil {
		fmt.Println(err)
	}
	fmt.Println("answered:", answer.Text)
	// Output:
	// notified: hello
	// answered: hi
}

// A router looks at one member and leaves the rest alone.
func ExampleMember() {
	m, err := jsonrpc.Scan([]byte(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-root://","action":{}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	raw, _ := jsonrpc.Member(m.Params, "channel")
	channel, _ := jsonrpc.StringValue(raw)
	_, missing := jsonrpc.Member(m.Params, "serverSeq")
	fmt.Println(m.Kind, m.Method, channel, missing)
	// Output: notification action ahp-root:// false
}

// Errors of a peer are matched by their code.
func ExampleError() {
	err := fmt.Errorf("open: %w", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "port must not be 0").WithData(jsontext.Value(`{"port":0}`)))
	fmt.Printf("%s\n", jsonrpc.AppendError(nil, jsonrpc.NumberID(1), jsonrpc.ErrMethodNotFound))
	fmt.Println(err)
	// Output:
	// {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}
	// open: port must not be 0 (-32602)
}
