package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// scripted is a Handler whose requests end when the test says so: each waits on
// the channel named by its method.
type scripted map[string]chan Reply

func (s scripted) HandleNotification(context.Context, *Message) {}

func (s scripted) HandleRequest(_ context.Context, m Message) Reply {
	outcome, ok := s[m.Method]
	if !ok {
		return Reply{Result: m.Method}
	}
	return later(outcome)
}

func TestRequestIDsComeBack(t *testing.T) {
	bubble(t, Options{Handler: scripted{}}, func(t *testing.T, p *rawPeer) {
		for _, id := range []string{
			`0`, `7`, `"7"`, `-1`, `"abc"`, `""`, `"01"`, `"true"`, `2147483648`,
			`9007199254740993`, `9223372036854775808`, `18446744073709551616`, `"\ud800"`,
		} {
			p.give(`{"jsonrpc":"2.0","id":%s,"method":"m"}`, id)
			p.want(`{"jsonrpc":"2.0","id":` + id + `,"result":"m"}`)
		}
	})
}

func TestSecondRequestWithAnIDInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan Reply)
		p := newRawPeer(t, Options{Handler: scripted{"slow": slow}})
		p.give(`{"jsonrpc":"2.0","id":"7","method":"slow"}`)
		p.give(`{"jsonrpc":"2.0","id":7,"method":"fast"}`)
		p.give(`{"jsonrpc":"2.0","id":"\u0037","method":"fast"}`)
		p.want(`{"jsonrpc":"2.0","id":7,"result":"fast"}`,
			`{"jsonrpc":"2.0","id":"7","error":{"code":-32600,"message":"a request with this id is in flight"}}`)
		slow <- Reply{Result: 1}
		p.want(`{"jsonrpc":"2.0","id":"7","result":1}`)
		p.give(`{"jsonrpc":"2.0","id":"7","method":"fast"}`)
		p.want(`{"jsonrpc":"2.0","id":"7","result":"fast"}`)
		if got := p.Stats().Duplicates; got != 1 {
			t.Errorf("%d duplicates, want 1", got)
		}
	})
}

const cancelledAnswer = `{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"request cancelled"}}`

func TestCancelledRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan Reply)
		p := newRawPeer(t, Options{Handler: scripted{"slow": slow}})
		p.give(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`) // not there yet
		p.give(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
		p.give(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"1"}}`) // another id
		p.give(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":null}}`)
		p.give(`{"jsonrpc":"2.0","method":"$/cancelRequest"}`)
		p.want()
		p.give(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
		p.want(cancelledAnswer)
		p.give(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`) // finished
		p.want()
		if got, want := p.Stats(), (Stats{CancelsReceived: 1, CancelsIgnored: 5}); got != want {
			t.Errorf("counted %+v, want %+v", got, want)
		}
	})
}

func TestCancelledRequestThatEndsAnyway(t *testing.T) {
	for _, test := range []struct {
		name  string
		reply Reply
		want  string
	}{
		{"result wins", Reply{Result: "done"}, `{"jsonrpc":"2.0","id":1,"result":"done"}`},
		{"another error", Reply{Err: ErrInvalidParams}, cancelledAnswer},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				p := newRawPeer(t, Options{Handler: handlerFuncs{request: func(context.Context, Message) Reply {
					return Reply{Later: func(context.Context) (any, error) {
						<-release // deaf to its context
						return test.reply.Result, test.reply.Err
					}}
				}}})
				p.give(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
				p.give(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
				p.want()
				close(release)
				p.want(test.want)
			})
		})
	}
}

func TestTakenRequestIsNotAnsweredAgain(t *testing.T) {
	var p *rawPeer
	h := handlerFuncs{request: func(_ context.Context, m Message) Reply {
		return Reply{Taken: true, Err: p.opts.Send(AppendResult(nil, m.ID, nil))}
	}}
	bubble(t, Options{Handler: h}, func(t *testing.T, raw *rawPeer) {
		p = raw
		p.give(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
		p.want(`{"jsonrpc":"2.0","id":1,"result":null}`)
	})
}

func TestPanicsAreContained(t *testing.T) {
	var reported []string
	opts := Options{
		OnPanic: func(v any, stack []byte) {
			reported = append(reported, fmt.Sprint(v, " ", strings.Contains(string(stack), "TestPanicsAreContained")))
		},
		MapError: func(error) *Error { return Errorf(1, "mapped") }, // not for panics
		Handler: handlerFuncs{
			notification: func(context.Context, Message) { panic("n") },
			request: func(_ context.Context, m Message) Reply {
				if m.Method == "now" {
					panic("r")
				}
				return Reply{Later: func(context.Context) (any, error) { panic(errors.New("later")) }}
			},
		},
	}
	bubble(t, opts, func(t *testing.T, p *rawPeer) {
		p.give(`{"jsonrpc":"2.0","method":"n"}`)
		p.want()
		for _, method := range []string{"now", "later"} {
			p.give(`{"jsonrpc":"2.0","id":1,"method":"%s"}`, method)
			p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`)
		}
		if want := []string{"n true", "r true", "later true"}; !slices.Equal(reported, want) {
			t.Errorf("reported %q, want %q", reported, want)
		}
		if got := p.Stats().Panics; got != 3 {
			t.Errorf("counted %d panics, want 3", got)
		}
	})
}

func TestReceiveWaitsAtTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan Reply)
		p := newRawPeer(t, Options{Handler: scripted{"slow": slow}, MaxInFlight: 2})
		p.give(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
		p.give(`{"jsonrpc":"2.0","id":2,"method":"slow"}`)
		p.give(`{"jsonrpc":"2.0","id":3,"method":"fast"}`) // needs no slot
		p.want(`{"jsonrpc":"2.0","id":3,"result":"fast"}`)
		received := make(chan error, 1)
		go func() { received <- p.Receive([]byte(`{"jsonrpc":"2.0","id":4,"method":"slow"}`)) }()
		synctest.Wait()
		if len(received) != 0 || p.Stats().Waits != 1 || p.Stats().Requests != 2 {
			t.Fatalf("Receive did not wait: %+v", p.Stats())
		}
		slow <- Reply{}
		if err := <-received; err != nil {
			t.Fatal(err)
		}
		slow <- Reply{}
		slow <- Reply{}
		synctest.Wait()
		if got := p.Stats().Requests; got != 0 || len(p.sent) != 3 {
			t.Errorf("%d requests are left, %d answers", got, len(p.sent))
		}
	})
}

func TestCloseEndsTheWaitAtTheBound(t *testing.T) {
	bubble(t, Options{Handler: scripted{"slow": nil}, MaxInFlight: 1}, func(t *testing.T, p *rawPeer) {
		p.give(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
		received := make(chan error, 1)
		go func() { received <- p.Receive([]byte(`{"jsonrpc":"2.0","id":2,"method":"slow"}`)) }()
		synctest.Wait()
		p.Close(nil)
		if err := <-received; !errors.Is(err, ErrClosed) {
			t.Errorf("Receive: %v, want ErrClosed", err)
		}
	})
}

// A random peer against a model: the set of ids in flight. Every request gets
// exactly one answer, of the kind the model expects.
func TestRequestsAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) {
			w := newServeWorld(rt)
			defer w.conn.Close(nil)
			rt.Repeat(map[string]func(*rapid.T){"": w.check, "request": w.request, "cancel": w.cancel, "finish": w.finish})
		})
	})
}

type serveWorld struct {
	conn     *Conn
	sent     chan string
	inFlight map[string]chan Reply // by the spelling of the id
	want     []string              // answers due, in order
}

func newServeWorld(rt *rapid.T) *serveWorld {
	w := &serveWorld{sent: make(chan string, 1024), inFlight: map[string]chan Reply{}}
	w.conn = NewConn(rt.Context(), Options{
		Send: func(msg []byte) error {
			w.sent <- string(msg)
			return nil
		},
		Handler: handlerFuncs{request: func(_ context.Context, m Message) Reply {
			return later(w.inFlight[m.ID.String()])
		}},
	})
	return w
}

func drawID(rt *rapid.T) string {
	return rapid.SampledFrom([]string{`1`, `"1"`, `2`, `"a"`, `18446744073709551616`}).Draw(rt, "id")
}

func (w *serveWorld) receive(rt *rapid.T, format string, args ...any) {
	if err := w.conn.Receive(fmt.Appendf(nil, format, args...)); err != nil {
		rt.Fatal(err)
	}
}

func (w *serveWorld) request(rt *rapid.T) {
	id := drawID(rt)
	if w.inFlight[id] != nil {
		w.want = append(w.want, fmt.Sprintf(`"id":%s,"error":{"code":-32600`, id))
	} else {
		w.inFlight[id] = make(chan Reply)
	}
	w.receive(rt, `{"jsonrpc":"2.0","id":%s,"method":"m"}`, id)
}

func (w *serveWorld) cancel(rt *rapid.T) {
	id := drawID(rt)
	if w.inFlight[id] != nil {
		w.want = append(w.want, fmt.Sprintf(`"id":%s,"error":{"code":-32800`, id))
		delete(w.inFlight, id)
	}
	w.receive(rt, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%s}}`, id)
}

func (w *serveWorld) finish(rt *rapid.T) {
	id := drawID(rt)
	outcome := w.inFlight[id]
	if outcome == nil {
		rt.Skip("not in flight")
	}
	delete(w.inFlight, id)
	if rapid.Bool().Draw(rt, "fails") {
		w.want = append(w.want, fmt.Sprintf(`"id":%s,"error":{"code":-32602`, id))
		outcome <- Reply{Err: ErrInvalidParams}
		return
	}
	w.want = append(w.want, fmt.Sprintf(`"id":%s,"result":5}`, id))
	outcome <- Reply{Result: 5}
}

func (w *serveWorld) check(rt *rapid.T) {
	synctest.Wait()
	for _, want := range w.want {
		if len(w.sent) == 0 {
			rt.Fatalf("sent nothing, want %s", want)
		}
		if got := <-w.sent; !strings.Contains(got, want) {
			rt.Fatalf("sent %s, want %s", got, want)
		}
	}
	w.want = nil
	if len(w.sent) > 0 {
		rt.Fatalf("sent %s, want nothing more", <-w.sent)
	}
	if got := w.conn.Stats().Requests; got != len(w.inFlight) {
		rt.Fatalf("%d requests in flight, want %d", got, len(w.inFlight))
	}
}
