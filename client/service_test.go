package client_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// offer is what a scripted host says of client services.
const offer = `"clientServices":{"channel":"ahp-client-services://","limits":{"metadataBytes":100,"methodNameLength":8,"paramsBytes":64,"resultBytes":40,"servicesPerConnection":2,"requestsInFlight":3,"defaultTimeoutMs":30000,"maximumTimeoutMs":60000}}`

// scriptedServices runs a test with a client of a scripted host that offers
// client services, in a bubble.
func scriptedServices(t *testing.T, o client.Options, test func(t *testing.T, c *client.Client, h *scripted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		hosts := make(chan *scripted, 4)
		c := client.New(t.Context(), scriptedHost(hosts), o)
		defer c.Close()
		h := <-hosts
		h.answer(t, "initialize", `{"protocolVersion":"1.1.0","serverSeq":0,"snapshots":[],`+offer+`}`)
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, c, h)
	})
}

// silent checks that nothing more comes from the client.
func (h *scripted) silent(t testing.TB) {
	t.Helper()
	synctest.Wait()
	select {
	case m := <-h.messages:
		t.Errorf("received %s, want silence", m)
	default:
	}
}

// registered registers a handler under an id.
func (h *scripted) registered(t testing.TB, c *client.Client, id string, handler client.Handler) *client.Registration {
	t.Helper()
	type outcome struct {
		r   *client.Registration
		err error
	}
	done := make(chan outcome)
	go func() {
		r, err := c.Register(t.Context(), map[string]any{"protocol": "test"}, handler)
		done <- outcome{r, err}
	}()
	h.answer(t, "client/registerService", `{"serviceId":"`+id+`"}`)
	o := <-done
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o.r
}

// handler is a service made of two functions.
type handler struct {
	call   func(ctx context.Context, from client.Sender, method string, params jsontext.Value) (any, error)
	notify func(ctx context.Context, from client.Sender, method string, params jsontext.Value)
}

func (h handler) HandleCall(ctx context.Context, from client.Sender, method string, params jsontext.Value) (any, error) {
	return h.call(ctx, from, method, params)
}

func (h handler) HandleNotification(ctx context.Context, from client.Sender, method string, params jsontext.Value) {
	if h.notify != nil {
		h.notify(ctx, from, method, params)
	}
}

const toS1 = `"channel":"ahp-client-services://","serviceId":"s1","senderClientId":"them"`

// TestServiceOnTheWire: registration, a notification and a call are the messages
// of the protocol and no others (AHP core, 15.1 and 15.2).
func TestServiceOnTheWire(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		var heard []string
		var m client.Methods
		client.OnNotify(&m, "ring", func(_ context.Context, from client.Sender, in struct{ N int }) {
			heard = append(heard, fmt.Sprint(from.ClientID, in.N))
		})
		client.OnCall(&m, "add", func(_ context.Context, from client.Sender, in []int) (map[string]int, error) {
			return map[string]int{"sum": in[0] + in[1]}, nil
		})
		client.OnCall(&m, "fail", func(context.Context, client.Sender, any) (any, error) {
			return nil, fmt.Errorf("wrapped: %w", ahp.Errorf(7, "no").WithData(map[string]int{"a": 1}))
		})
		client.OnCall(&m, "break", func(context.Context, client.Sender, any) (any, error) { return nil, errors.New("a secret") })
		client.OnCall(&m, "large", func(context.Context, client.Sender, any) (any, error) { return strings.Repeat("x", 40), nil })
		go func() { _, _ = c.Register(t.Context(), map[string]any{"protocol": "test"}, &m) }()
		h.want(t, `{"jsonrpc":"2.0","id":2,"method":"client/registerService","params":{"channel":"ahp-client-services://","metadata":{"protocol":"test"}}}`)
		// Both stand right behind the answer, before Register has returned.
		h.send(`{"jsonrpc":"2.0","id":2,"result":{"serviceId":"s1"}}`)
		h.send(`{"jsonrpc":"2.0","method":"clientService/notification","params":{%s,"method":"ring","params":{"N":5}}}`, toS1)
		h.send(`{"jsonrpc":"2.0","method":"clientService/notification","params":{%s,"method":"other","params":null}}`, toS1)
		h.send(`{"jsonrpc":"2.0","method":"clientService/notification","params":{%s,"method":"ring","params":"misfit"}}`, toS1)
		h.silent(t)
		if got := fmt.Sprint(heard); got != "[them5]" {
			t.Errorf("heard %s", got)
		}
		for _, tt := range []struct{ call, answer string }{
			{`"method":"add","params":[2,3]`, `"result":{"sum":5}`},
			{`"method":"fail"`, `"error":{"code":7,"message":"no","data":{"a":1}}`},
			{`"method":"break","params":{}`, `"error":{"code":-32603,"message":"internal error"}`},
			{`"method":"large"`, `"error":{"code":-31013,"message":"the result has 42 bytes, the limit is 40"}`},
			{`"method":"none"`, `"error":{"code":-32601,"message":"the service has no method \"none\""}`},
			{`"method":"add","params":{}`, `"error":{"code":-32602,"message":"add: params do not have the right form"}`},
		} {
			h.send(`{"jsonrpc":"2.0","id":"x","method":"clientService/handleRequest","params":{%s,%s}}`, toS1, tt.call)
			h.want(t, `{"jsonrpc":"2.0","id":"x",`+tt.answer+`}`)
		}
		h.silent(t)
	})
}

// TestUnknownServiceIsNotServed: what is addressed to another service, an ended
// one or nobody is dropped or refused, and the connection goes on (case 85).
func TestUnknownServiceIsNotServed(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		r := h.registered(t, c, "s1", handler{
			call: func(context.Context, client.Sender, string, jsontext.Value) (any, error) {
				t.Error("called")
				return nil, nil
			},
			notify: func(context.Context, client.Sender, string, jsontext.Value) { t.Error("notified") },
		})
		go r.Close()
		h.want(t, `{"jsonrpc":"2.0","id":3,"method":"client/unregisterService","params":{"channel":"ahp-client-services://","serviceId":"s1"}}`)
		h.send(`{"jsonrpc":"2.0","id":3,"result":{}}`)
		for _, params := range []string{`{` + toS1 + `,"method":"m"}`, `{"serviceId":7}`, `{}`, `[]`} {
			h.send(`{"jsonrpc":"2.0","method":"clientService/notification","params":%s}`, params)
		}
		h.send(`{"jsonrpc":"2.0","id":1,"method":"clientService/handleRequest","params":{%s,"method":"m"}}`, toS1)
		h.want(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32008,"message":"not found"}}`)
		h.send(`{"jsonrpc":"2.0","id":2,"method":"clientService/handleRequest","params":{}}`)
		h.want(t, `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"invalid params"}}`)
		h.silent(t)
	})
}

// TestCallsKeepTheirPlace: a call begins after the notifications that arrived
// before it were handled, and does not hold up those behind it (R11).
func TestCallsKeepTheirPlace(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		gate := make(chan struct{})
		events := make(chan string, 8)
		h.registered(t, c, "s1", handler{
			call: func(_ context.Context, _ client.Sender, method string, _ jsontext.Value) (any, error) {
				events <- "call " + method
				return nil, nil
			},
			notify: func(_ context.Context, _ client.Sender, method string, _ jsontext.Value) {
				<-gate
				events <- "notified " + method
			},
		})
		h.send(`{"jsonrpc":"2.0","method":"clientService/notification","params":{%s,"method":"a"}}`, toS1)
		h.send(`{"jsonrpc":"2.0","id":1,"method":"clientService/handleRequest","params":{%s,"method":"b"}}`, toS1)
		h.send(`{"jsonrpc":"2.0","id":2,"method":"clientService/handleRequest","params":{%s,"method":"c"}}`, toS1)
		h.silent(t)
		h.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}`)
		h.want(t, `{"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"request cancelled"}}`)
		close(gate)
		h.want(t, `{"jsonrpc":"2.0","id":1,"result":null}`)
		h.silent(t)
		if got := []string{<-events, <-events}; got[0] != "notified a" || got[1] != "call b" || len(events) > 0 {
			t.Errorf("happened %v and %d more", got, len(events))
		}
	})
}

// TestInboxIsBounded: notifications above the bound are dropped, the newest
// first, and counted; calls above theirs are refused (AHP core, 15.6).
func TestInboxIsBounded(t *testing.T) {
	o := client.Options{Services: client.ServiceOptions{Queue: 3, Calls: 2}}
	scriptedServices(t, o, func(t *testing.T, c *client.Client, h *scripted) {
		gate := make(chan struct{})
		var heard []string
		r := h.registered(t, c, "s1", handler{
			call: func(ctx context.Context, _ client.Sender, _ string, _ jsontext.Value) (any, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			},
			notify: func(_ context.Context, _ client.Sender, _ string, params jsontext.Value) {
				<-gate
				heard = append(heard, string(params))
			},
		})
		for i := range 3 {
			h.send(`{"jsonrpc":"2.0","id":%d,"method":"clientService/handleRequest","params":{%s,"method":"m"}}`, i, toS1)
			synctest.Wait()
		}
		h.want(t, `{"jsonrpc":"2.0","id":2,"error":{"code":-31012,"message":"limit of client services exceeded"}}`)
		for i := range 5 {
			h.send(`{"jsonrpc":"2.0","method":"clientService/notification","params":{%s,"method":"m","params":%d}}`, toS1, i)
		}
		h.silent(t)
		if s := r.Stats(); s.Dropped != 2 || s.Waiting != 3 || s.Refused != 1 || s.Calls != 2 {
			t.Errorf("stats %+v, want 2 dropped, 3 waiting, 1 refused, 2 running", s)
		}
		close(gate)
		synctest.Wait()
		if got := fmt.Sprint(heard); got != "[0 1 2]" {
			t.Errorf("heard %s, want the first three", got)
		}
		if s := r.Stats(); s.Notifications != 3 || s.Waiting != 0 {
			t.Errorf("stats %+v, want 3 handled", s)
		}
	})
}

// TestHandlerPanics: a panic ends one call or notification, nothing else.
func TestHandlerPanics(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		r := h.registered(t, c, "s1", handler{
			call:   func(context.Context, client.Sender, string, jsontext.Value) (any, error) { panic("call") },
			notify: func(context.Context, client.Sender, string, jsontext.Value) { panic("notification") },
		})
		h.send(`{"jsonrpc":"2.0","method":"clientService/notification","params":{%s,"method":"m"}}`, toS1)
		h.send(`{"jsonrpc":"2.0","id":1,"method":"clientService/handleRequest","params":{%s,"method":"m"}}`, toS1)
		h.want(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`)
		if s := r.Stats(); s.Panics != 1 || s.Calls != 0 {
			t.Errorf("stats %+v, want 1 panic and no call", s)
		}
	})
}

// TestNotifyIsOneMessage: and nothing else, ever; what the host would drop fails
// here (R9, R24).
func TestNotifyIsOneMessage(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		s := c.Service(`s"1`)
		if err := s.Notify(t.Context(), "m", map[string]int{"a": 1}); err != nil {
			t.Fatal(err)
		}
		h.want(t, `{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","serviceId":"s\"1","method":"m","params":{"a":1}}}`)
		if err := s.Notify(t.Context(), "12345678", nil); err != nil {
			t.Fatal(err)
		}
		h.want(t, `{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","serviceId":"s\"1","method":"12345678","params":null}}`)
		deep := jsontext.Value(strings.Repeat("[", 32) + strings.Repeat("]", 32))
		for _, tt := range []struct {
			method string
			params any
			want   error
		}{
			{"", nil, client.ErrInvalidMessage},
			{"123456789", nil, client.ErrTooLarge},
			{"\xff", nil, client.ErrInvalidMessage},
			{"m", strings.Repeat("x", 63), client.ErrTooLarge},
			{"m", jsontext.Value(`{"a":`), client.ErrInvalidMessage},
			{"m", func() {}, client.ErrInvalidMessage},
		} {
			wantErr(t, fmt.Sprintf("notify %q %v", tt.method, tt.params), s.Notify(t.Context(), tt.method, tt.params), tt.want)
			err := s.Call(t.Context(), tt.method, tt.params, nil)
			wantErr(t, "call "+tt.method, err, tt.want)
			var failed *client.CallError
			if !errors.As(err, &failed) || failed.MayHaveExecuted || failed.FromService() {
				t.Errorf("call %q: %#v, want a *CallError of something not executed", tt.method, err)
			}
		}
		if err := s.Notify(t.Context(), "m", deep); err != nil {
			t.Error(err)
		}
		h.next(t)
		h.silent(t)
	})
}

// TestDeepParamsFailHere: hosts refuse more than 64 levels and do not announce it.
func TestDeepParamsFailHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := make(chan *scripted, 1)
		c := client.New(t.Context(), scriptedHost(hosts), client.Options{})
		defer c.Close()
		h := <-hosts
		h.answer(t, "initialize", `{"protocolVersion":"1.1.0","serverSeq":0,"snapshots":[],"clientServices":{"channel":"ahp-client-services://","limits":{}}}`)
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := c.Service("s")
		nested := func(n int) jsontext.Value {
			return jsontext.Value(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
		}
		wantErr(t, "65 levels", s.Notify(t.Context(), "m", nested(65)), client.ErrInvalidMessage)
		wantErr(t, "64 levels", s.Notify(t.Context(), "m", nested(64)), nil)
		h.next(t)
		h.silent(t)
	})
}

// TestNoServices: a host that does not offer client services is not asked.
func TestNoServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := make(chan *scripted, 1)
		c := client.New(t.Context(), scriptedHost(hosts), client.Options{})
		defer c.Close()
		h := <-hosts
		h.welcome(t)
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := c.Register(t.Context(), map[string]int{}, &client.Methods{})
		wantErr(t, "register", err, client.ErrNoServices)
		_, err = c.Services(t.Context())
		wantErr(t, "list", err, client.ErrNoServices)
		wantErr(t, "notify", c.Service("s").Notify(t.Context(), "m", nil), client.ErrNoServices)
		wantErr(t, "call", c.Service("s").Call(t.Context(), "m", nil, nil), client.ErrNoServices)
		h.silent(t)
	})
}

// TestRegisterRefused: metadata is checked here, and the host's refusal arrives.
func TestRegisterRefused(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		for _, tt := range []struct {
			metadata any
			want     error
		}{
			{[]int{1}, client.ErrInvalidMessage}, {nil, client.ErrInvalidMessage}, {func() {}, client.ErrInvalidMessage},
			{map[string]string{"a": strings.Repeat("x", 100)}, client.ErrTooLarge},
		} {
			_, err := c.Register(t.Context(), tt.metadata, &client.Methods{})
			wantErr(t, "register", err, tt.want)
		}
		h.silent(t)
		go h.fail(t, "client/registerService", ahp.CodePermissionDenied, "not you")
		_, err := c.Register(t.Context(), map[string]int{}, &client.Methods{})
		wantErr(t, "register", err, ahp.ErrPermissionDenied)
		go h.answer(t, "client/registerService", `{}`)
		_, err = c.Register(t.Context(), map[string]int{}, &client.Methods{})
		wantErr(t, "register", err, client.ErrServiceBadResponse)
		h.silent(t)
	})
}

// TestRegisterGivenUp: a registration whose caller did not wait for it is taken
// back.
func TestRegisterGivenUp(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Register(ctx, map[string]int{}, &client.Methods{})
		wantErr(t, "register", err, context.DeadlineExceeded)
		h.answer(t, "client/registerService", `{"serviceId":"late"}`)
		h.want(t, `{"jsonrpc":"2.0","id":3,"method":"client/unregisterService","params":{"channel":"ahp-client-services://","serviceId":"late"}}`)
		h.silent(t)
	})
}

// TestCallErrors: what the host says of a call can be told from what the service
// says, whatever the codes (AHP core, 15.4).
func TestCallErrors(t *testing.T) {
	all := []error{
		client.ErrServiceNotFound, client.ErrServiceDenied, client.ErrServiceUnavailable, client.ErrServiceTimeout,
		client.ErrServiceLimit, client.ErrServiceBadResponse, client.ErrServiceCancelled,
	}
	for _, tt := range []struct {
		code     int64
		data     string
		want     error
		executed bool
		own      bool
	}{
		{ahp.CodeNotFound, `{"relay":{"reason":"unknown-service","mayHaveExecuted":false}}`, client.ErrServiceNotFound, false, false},
		{ahp.CodePermissionDenied, `{"relay":{"reason":"denied","mayHaveExecuted":false}}`, client.ErrServiceDenied, false, false},
		{ahp.CodeClientServiceUnavailable, `{"relay":{"reason":"disconnected","mayHaveExecuted":true}}`, client.ErrServiceUnavailable, true, false},
		{ahp.CodeClientServiceUnavailable, `{"relay":{"reason":"disconnected","mayHaveExecuted":false}}`, client.ErrServiceUnavailable, false, false},
		{ahp.CodeClientServiceTimeout, `{"relay":{"reason":"timeout","mayHaveExecuted":true}}`, client.ErrServiceTimeout, true, false},
		{ahp.CodeClientServiceLimitExceeded, `{"relay":{"reason":"queue-full","mayHaveExecuted":false}}`, client.ErrServiceLimit, false, false},
		{ahp.CodeClientServiceBadResponse, `{"relay":{}}`, client.ErrServiceBadResponse, true, false},
		{jsonrpc.CodeRequestCancelled, `{"relay":{"reason":"cancelled","mayHaveExecuted":true}}`, client.ErrServiceCancelled, true, false},
		{ahp.CodeNotFound, `{"what":"an object"}`, nil, true, true},
		{ahp.CodeClientServiceTimeout, `null`, nil, true, true},
		{42, `{"relay":5}`, nil, true, false},
	} {
		t.Run(fmt.Sprint(tt.code, tt.data), func(t *testing.T) {
			scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
				done := make(chan error)
				go func() { done <- c.Service("s").Call(t.Context(), "m", nil, nil) }()
				h.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"why","data":%s}}`, h.request(t, "clientService/request"), tt.code, tt.data)
				err := <-done
				var failed *client.CallError
				if !errors.As(err, &failed) || failed.MayHaveExecuted != tt.executed || failed.ServiceID != "s" || failed.Method != "m" {
					t.Fatalf("got %#v", err)
				}
				if got := failed.FromService(); got != tt.own {
					t.Errorf("from the service: %v, want %v", got, tt.own)
				}
				for _, e := range all {
					if errors.Is(err, e) != (e == tt.want) {
						t.Errorf("%v matches %q: %v", err, e, errors.Is(err, e))
					}
				}
				var wire *ahp.Error
				if !errors.As(err, &wire) || wire.Code != tt.code || string(wire.Data) != tt.data {
					t.Errorf("wire error %v", wire)
				}
			})
		})
	}
}

// TestCallDeadline: what is left of the deadline goes to the host, rounded up and
// no more than it grants; when it passes here first, the host is told to cancel.
func TestCallDeadline(t *testing.T) {
	for _, tt := range []struct {
		left time.Duration
		want string
	}{
		{0, ``}, {1500 * time.Millisecond, `,"timeoutMs":1500`}, {time.Microsecond, `,"timeoutMs":1`}, {time.Hour, `,"timeoutMs":60000`},
	} {
		t.Run(tt.left.String(), func(t *testing.T) {
			scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
				ctx, cancel := context.WithCancel(t.Context())
				if tt.left > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), tt.left)
				}
				defer cancel()
				done := make(chan error)
				go func() { done <- c.Service("s").Call(ctx, "m", jsontext.Value(`[1]`), nil) }()
				h.want(t, `{"jsonrpc":"2.0","id":2,"method":"clientService/request","params":{"channel":"ahp-client-services://","serviceId":"s","method":"m","params":[1]`+tt.want+`}}`)
				want := client.ErrServiceTimeout
				if tt.left == 0 {
					want = client.ErrServiceCancelled
					cancel()
				}
				err := <-done
				wantErr(t, "call", err, want)
				var failed *client.CallError
				if !errors.As(err, &failed) || !failed.MayHaveExecuted || failed.FromService() {
					t.Errorf("got %#v, want a call of unknown outcome", err)
				}
				h.want(t, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}`)
				h.send(`{"jsonrpc":"2.0","id":2,"result":"late"}`) // completes nothing
				h.silent(t)
			})
		})
	}
}

// TestCallResult: results of a type, as they are, and of another type.
func TestCallResult(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		go h.answer(t, "clientService/request", `{"n":5}`)
		got, err := client.CallService[struct {
			N int `json:"n"`
		}](t.Context(), c.Service("s"), "m", nil)
		if err != nil || got.N != 5 {
			t.Errorf("got %v, %v", got, err)
		}
		go h.answer(t, "clientService/request", `"x"`)
		_, err = client.CallService[int](t.Context(), c.Service("s"), "m", nil)
		wantErr(t, "call", err, client.ErrServiceBadResponse)
	})
}

// TestCallsWaitForASlot: the library does not make more calls at once than the
// host takes, and a slot is free as soon as its call has ended, however it did.
func TestCallsWaitForASlot(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 5)
		for range 3 {
			go func() { done <- c.Service("s").Call(ctx, "m", nil, nil) }()
			h.next(t)
		}
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		err := c.Service("s").Call(short, "m", nil, nil)
		wantErr(t, "fourth call", err, client.ErrServiceTimeout)
		var failed *client.CallError
		if errors.As(err, &failed) && failed.MayHaveExecuted {
			t.Error("a call that was never sent may have been executed")
		}
		go func() { done <- c.Service("s").Call(t.Context(), "m", nil, nil) }()
		h.silent(t)
		cancel()
		for range 3 {
			<-done
		}
		var cancels, requests int
		for range 4 {
			if m := h.next(t); strings.Contains(m, "cancelRequest") {
				cancels++
			} else {
				requests++
				h.send(`{"jsonrpc":"2.0","id":5,"result":null}`)
			}
		}
		if err := <-done; cancels != 3 || requests != 1 || err != nil {
			t.Errorf("%d cancels, %d requests, %v", cancels, requests, err)
		}
		h.silent(t)
	})
}

// TestCallAcrossALoss: a call that was sent is of unknown outcome, one that was
// not is certain not to have run. None is sent again.
func TestCallAcrossALoss(t *testing.T) {
	scriptedServices(t, client.Options{BackoffMin: time.Hour}, func(t *testing.T, c *client.Client, h *scripted) {
		done := make(chan error)
		go func() { done <- c.Service("s").Call(t.Context(), "m", nil, nil) }()
		h.next(t)
		h.close()
		check := func(err error, executed bool) {
			t.Helper()
			wantErr(t, "call", err, client.ErrConnectionLost)
			var failed *client.CallError
			if !errors.As(err, &failed) || failed.MayHaveExecuted != executed {
				t.Errorf("got %#v, want may have executed %v", err, executed)
			}
		}
		check(<-done, true)
		waitState(t, c, client.Reconnecting)
		check(c.Service("s").Call(t.Context(), "m", nil, nil), false)
		wantErr(t, "notify", c.Service("s").Notify(t.Context(), "m", nil), client.ErrConnectionLost)
	})
}

// TestManyCallsLeaveNothingBehind: calls that are answered, cancelled, timed out
// and answered late and out of order (case 78).
func TestManyServiceCallsLeaveNothingBehind(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		const calls = 900
		outcomes := make(chan error, calls)
		for i := range calls {
			go func() {
				patience := time.Duration(1+i%2) * 50 * time.Second
				if len(strconv.Itoa(i))%2 == 0 {
					patience = time.Second // which answerSome leaves without an answer
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				var got int
				err := c.Service("s").Call(ctx, "m", i, &got)
				if err == nil && got != i {
					err = fmt.Errorf("call %d got the answer of %d", i, got)
				}
				outcomes <- err
			}()
		}
		go answerSome(h)
		answered, failed := 0, 0
		for range calls {
			switch err := <-outcomes; {
			case err == nil:
				answered++
			case errors.Is(err, client.ErrServiceTimeout):
				failed++
			default:
				t.Error(err)
			}
		}
		if answered == 0 || failed == 0 {
			t.Errorf("%d answered, %d failed: the test proves little", answered, failed)
		}
		if s := c.Status(); s.State != client.Live {
			t.Errorf("the connection is %v", s)
		}
	})
}

// answerSome answers each second request a second later, and some too late.
func answerSome(h *scripted) {
	for m := range h.messages {
		params, _ := jsonrpc.Member(m, "params")
		id, isRequest := jsonrpc.Member(m, "id")
		value, _ := jsonrpc.Member(params, "params")
		if !isRequest || len(value)%2 == 0 {
			continue
		}
		h.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, value)
	}
}

// TestRepeatedNotifications: that a notification is like the one before it saves
// reading it again, and nothing else: each goes to whom it names, as what it says.
func TestRepeatedNotifications(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		var heard []string
		listen := func(name string) client.Handler {
			return handler{notify: func(_ context.Context, from client.Sender, method string, params jsontext.Value) {
				heard = append(heard, fmt.Sprintf("%s:%s:%s:%s", name, from.ClientID, method, params))
			}}
		}
		first := h.registered(t, c, "s1", listen("one"))
		h.registered(t, c, "s2", listen("two"))
		const head = `{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"ahp-client-services://","serviceId":"%s","senderClientId":"%s","method":"%s","params":%s}}`
		steps := []struct{ service, sender, method, params, want string }{
			{"s1", "a", "m", `1`, "one:a:m:1"},
			{"s1", "a", "m", `"2"`, `one:a:m:"2"`},
			{"s1", "a", "m", `{"n":[3]}`, `one:a:m:{"n":[3]}`},
			{"s2", "a", "m", `4`, "two:a:m:4"},
			{"s2", "b", "m", `5`, "two:b:m:5"},
			{"s2", "b", "k", `6`, "two:b:k:6"},
			{"s2", "b", "k", `7,"params":8`, "two:b:k:8"},
			{"s1", "b", "k", `9`, "one:b:k:9"},
			{"s9", "b", "k", `10`, ""},
			{"s1", "b", "k", `11`, "one:b:k:11"},
			{"s1", "b", "k", `12`, "one:b:k:12"},
		}
		for _, s := range steps {
			heard = nil
			h.send(head, s.service, s.sender, s.method, s.params)
			synctest.Wait()
			if got := strings.Join(heard, " "); got != s.want {
				t.Errorf("%v: heard %q", s, got)
			}
		}
		closed := make(chan error)
		go func() { closed <- first.Close() }()
		h.answer(t, "client/unregisterService", `{}`)
		<-closed
		heard = nil
		h.send(head, "s1", "b", "k", "13")
		synctest.Wait()
		if len(heard) != 0 {
			t.Errorf("after the end: heard %q", heard)
		}
	})
}

// TestParamsBelongToTheHandler: params that a handler keeps stay what they are,
// whatever arrives afterwards, small and large.
func TestParamsBelongToTheHandler(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		var kept []jsontext.Value
		h.registered(t, c, "s1", handler{notify: func(_ context.Context, _ client.Sender, _ string, params jsontext.Value) {
			kept = append(kept, params)
		}})
		var want []string
		for i := range 300 {
			want = append(want, fmt.Sprintf(`"%s"`, strings.Repeat(string(rune('a'+i%26)), i*i%20_000)))
			h.send(`{"jsonrpc":"2.0","method":"clientService/notification","params":{%s,"method":"m","params":%s}}`, toS1, want[i])
		}
		synctest.Wait()
		if len(kept) != len(want) {
			t.Fatalf("%d of %d arrived", len(kept), len(want))
		}
		for i := range want {
			if string(kept[i]) != want[i] {
				t.Fatalf("params %d were written over", i)
			}
		}
	})
}

// transient is a handler that remembers the text of what it was told.
type transient struct {
	handler
	told *[]string
}

func (x transient) HandleNotification(_ context.Context, _ client.Sender, _ string, params jsontext.Value) {
	*x.told = append(*x.told, string(params))
	clear(params) // it may, until it returns
}

func (x transient) KeepsNoParams() {}

// TestTransientHandler: what is lent to a handler is right while it runs, small and
// large, many at once and one by one.
func TestTransientHandler(t *testing.T) {
	scriptedServices(t, client.Options{}, func(t *testing.T, c *client.Client, h *scripted) {
		var told, want []string
		h.registered(t, c, "s1", transient{told: &told})
		for i := range 300 {
			want = append(want, fmt.Sprintf(`"%s"`, strings.Repeat(string(rune('a'+i%26)), i*i*i%90_000)))
			h.send(`{"jsonrpc":"2.0","method":"clientService/notification","params":{%s,"method":"m","params":%s}}`, toS1, want[i])
			if i%50 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if len(told) != len(want) {
			t.Fatalf("%d of %d arrived", len(told), len(want))
		}
		for i := range want {
			if told[i] != want[i] {
				t.Fatalf("params %d were %.20s of %d bytes", i, told[i], len(told[i]))
			}
		}
	})
}
