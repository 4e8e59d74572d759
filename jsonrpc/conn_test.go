package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"
)

// handlerFuncs is a Handler made of functions; a nil one refuses or ignores.
type handlerFuncs struct {
	request      func(context.Context, Message) Reply
	notification func(context.Context, Message)
}

func (h handlerFuncs) HandleRequest(ctx context.Context, m Message) Reply {
	if h.request == nil {
		return Reply{Err: ErrMethodNotFound}
	}
	return h.request(ctx, m)
}

func (h handlerFuncs) HandleNotification(ctx context.Context, m *Message) {
	if h.notification != nil {
		h.notification(ctx, *m)
	}
}

// rawPeer stands on the far side of a Conn and deals in literal messages. It
// lives in a bubble.
type rawPeer struct {
	*Conn
	t    *testing.T
	sent chan string
}

// newRawPeer returns a Conn in front of a rawPeer; opts.Send is its business.
func newRawPeer(t *testing.T, opts Options) *rawPeer {
	t.Helper()
	p := &rawPeer{t: t, sent: make(chan string, 1<<16)}
	opts.Send = func(msg []byte) error {
		p.sent <- string(msg)
		return nil
	}
	p.Conn = NewConn(t.Context(), opts)
	t.Cleanup(func() { p.Close(nil) })
	return p
}

// give lets the Conn receive one message, which it must survive.
func (p *rawPeer) give(format string, args ...any) {
	p.t.Helper()
	if err := p.Receive(fmt.Appendf(nil, format, args...)); err != nil {
		p.t.Fatalf("Receive: %v", err)
	}
}

// want waits until the bubble is quiet and checks that exactly these messages
// were sent since the last time.
func (p *rawPeer) want(messages ...string) {
	p.t.Helper()
	synctest.Wait()
	for _, want := range messages {
		select {
		case got := <-p.sent:
			if got != want {
				p.t.Errorf("sent %s\nwant %s", got, want)
			}
		default:
			p.t.Errorf("sent nothing, want %s", want)
		}
	}
	for len(p.sent) > 0 {
		p.t.Errorf("sent %s, want nothing more", <-p.sent)
	}
}

// bubble runs a test of a Conn with a raw peer inside a bubble.
func bubble(t *testing.T, opts Options, test func(t *testing.T, p *rawPeer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newRawPeer(t, opts)) })
}

// later is a Reply that waits for an outcome, or for the end of its context.
func later(outcome <-chan Reply) Reply {
	return Reply{Later: func(ctx context.Context) (any, error) {
		select {
		case r := <-outcome:
			return r.Result, r.Err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}}
}

func TestRawPeerSeesEverything(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		if err := p.Notify("a", nil); err != nil {
			t.Fatal(err)
		}
		if err := p.Notify("b", []int{1}); err != nil {
			t.Fatal(err)
		}
		p.want(`{"jsonrpc":"2.0","method":"a"}`, `{"jsonrpc":"2.0","method":"b","params":[1]}`)
		p.want()
	})
}

func TestWithoutHandler(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		p.give(`{"jsonrpc":"2.0","id":1,"method":"any"}`)
		p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}`)
		p.give(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`)
		p.want()
	})
}

func TestMessagesAreHandledInOrder(t *testing.T) {
	var p *rawPeer
	h := handlerFuncs{
		notification: func(_ context.Context, m Message) { _ = p.Notify("saw", m.Params) },
		request:      func(_ context.Context, m Message) Reply { return Reply{Result: m.Params} },
	}
	bubble(t, Options{Handler: h}, func(t *testing.T, raw *rawPeer) {
		p = raw
		call, err := p.Go("call", nil)
		if err != nil {
			t.Fatal(err)
		}
		p.give(`{"jsonrpc":"2.0","method":"n","params":[1]}`)
		p.give(`{"jsonrpc":"2.0","id":7,"method":"r","params":[2]}`)
		p.give(`{"jsonrpc":"2.0","method":"n","params":[3]}`)
		select {
		case <-call.Done():
			t.Error("the call has settled before its response")
		default:
		}
		p.give(`{"jsonrpc":"2.0","id":1,"result":null}`)
		<-call.Done()
		p.want(`{"jsonrpc":"2.0","id":1,"method":"call"}`,
			`{"jsonrpc":"2.0","method":"saw","params":[1]}`,
			`{"jsonrpc":"2.0","id":7,"result":[2]}`,
			`{"jsonrpc":"2.0","method":"saw","params":[3]}`)
	})
}

func TestCloseEndsHandlersAndWaits(t *testing.T) {
	var causes []error // written by the handler, read after Close has waited for it
	h := handlerFuncs{request: func(context.Context, Message) Reply {
		return Reply{Later: func(ctx context.Context) (any, error) {
			<-ctx.Done()
			causes = append(causes, context.Cause(ctx))
			return nil, nil
		}}
	}}
	bubble(t, Options{Handler: h}, func(t *testing.T, p *rawPeer) {
		p.give(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
		p.Close(io.ErrUnexpectedEOF)
		p.Close(errors.New("another"))
		if len(causes) != 1 || !errors.Is(causes[0], ErrClosed) || !errors.Is(causes[0], io.ErrUnexpectedEOF) {
			t.Errorf("handlers ended with %v, want one ConnectionError", causes)
		}
		p.want()
		checkClosed(t, p.Conn, io.ErrUnexpectedEOF)
	})
}

// checkClosed checks that whatever can fail does so, at once and with cause.
func checkClosed(t *testing.T, c *Conn, cause error) {
	t.Helper()
	_, err := c.Go("m", nil)
	for what, err := range map[string]error{
		"Go":      err,
		"Call":    c.Call(t.Context(), "m", nil, nil),
		"Notify":  c.Notify("m", nil),
		"Receive": c.Receive([]byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`)),
	} {
		var closed *ConnectionError
		if !errors.As(err, &closed) || !errors.Is(err, ErrClosed) || !errors.Is(err, cause) {
			t.Errorf("%s after Close: %v, want a ConnectionError with %v", what, err, cause)
		}
	}
}

func TestEndOfContextFailsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := NewConn(ctx, Options{Send: func([]byte) error { return nil }})
		defer c.Close(nil)
		cancel(io.ErrClosedPipe)
		err := c.Call(t.Context(), "m", nil, nil)
		if !errors.Is(err, ErrClosed) || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v, want a ConnectionError with the context's cause", err)
		}
		checkClosed(t, c, io.ErrClosedPipe)
	})
}

func TestRefusedSend(t *testing.T) {
	full := errors.New("outbox full")
	synctest.Test(t, func(t *testing.T) {
		c := NewConn(t.Context(), Options{Send: func([]byte) error { return full }})
		defer c.Close(nil)
		for what, err := range map[string]error{
			"Notify":                     c.Notify("m", nil),
			"Call":                       c.Call(t.Context(), "m", nil, nil),
			"Receive of a request":       c.Receive([]byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`)),
			"Receive of what is no JSON": c.Receive([]byte(`{`)),
		} {
			if !errors.Is(err, full) {
				t.Errorf("%s: %v, want %v", what, err, full)
			}
		}
		if s := c.Stats(); s.Unsent != 4 || s.Calls != 0 {
			t.Errorf("counted %+v, want 4 unsent and no call", s)
		}
	})
}

func TestResultsAndErrorsOnTheWire(t *testing.T) {
	for _, test := range []struct {
		name  string
		reply Reply
		want  string
	}{
		{"nil", Reply{}, `"result":null`},
		{"nil value", Reply{Result: jsontext.Value(nil)}, `"result":null`},
		{"value verbatim", Reply{Result: jsontext.Value(`{"b": 1,"a":"\ud800"}`)}, `"result":{"b": 1,"a":"\ud800"}`},
		{"struct", Reply{Result: struct{ A []int }{[]int{1}}}, `"result":{"A":[1]}`},
		{"broken text", Reply{Result: "a\xff"}, "\"result\":\"a\ufffd\""},
		{"wire error", Reply{Err: Errorf(-32008, "gone").WithData("x")}, `"error":{"code":-32008,"message":"gone","data":"x"}`},
		{"wrapped wire error", Reply{Result: 1, Err: fmt.Errorf("at home: %w", ErrInvalidParams)}, `"error":{"code":-32602,"message":"invalid params"}`},
		{"mapped", Reply{Err: io.EOF}, `"error":{"code":-1,"message":"end"}`},
		{"not mapped", Reply{Err: errors.New("/secret/path")}, `"error":{"code":-32603,"message":"internal error"}`},
		{"nil wire error", Reply{Err: (*Error)(nil)}, `"error":{"code":-32603,"message":"internal error"}`},
		{"cannot be marshalled", Reply{Result: make(chan int)}, `"error":{"code":-32603,"message":"internal error"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			mapEOF := func(err error) *Error {
				if errors.Is(err, io.EOF) {
					return Errorf(-1, "end")
				}
				return nil
			}
			h := handlerFuncs{request: func(_ context.Context, m Message) Reply {
				if m.Method == "now" {
					return test.reply
				}
				return Reply{Later: func(context.Context) (any, error) { return test.reply.Result, test.reply.Err }}
			}}
			bubble(t, Options{Handler: h, MapError: mapEOF}, func(t *testing.T, p *rawPeer) {
				for _, method := range []string{"now", "later"} {
					p.give(`{"jsonrpc":"2.0","id":1,"method":"%s"}`, method)
					p.want(`{"jsonrpc":"2.0","id":1,` + test.want + `}`)
				}
			})
		})
	}
}

// TestReceived: the read loop learns what it has just received, also when that was
// nothing.
func TestReceived(t *testing.T) {
	c := NewConn(t.Context(), Options{Send: func([]byte) error { return nil }})
	defer c.Close(nil)
	for _, tt := range []struct {
		msg    string
		kind   Kind
		method string
	}{
		{`{"jsonrpc":"2.0","method":"a"}`, KindNotification, "a"},
		{`{"jsonrpc":"2.0","id":1,"method":"b"}`, KindRequest, "b"},
		{`{"jsonrpc":"2.0","id":1,"result":null}`, KindResponse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, 0, ""},
		{`{`, 0, ""},
		{`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`, KindNotification, MethodCancel},
	} {
		if err := c.Receive([]byte(tt.msg)); err != nil {
			t.Fatal(err)
		}
		if kind, method := c.Received(); kind != tt.kind || method != tt.method {
			t.Errorf("%s: received a %v of %q, want %v of %q", tt.msg, kind, method, tt.kind, tt.method)
		}
	}
}
