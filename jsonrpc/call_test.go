package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func TestCallsGetTheirOwnAnswers(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		var calls []*Pending
		for range 3 {
			call, err := p.Go("m", nil)
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, call)
		}
		for _, i := range []int{1, 2, 0} {
			p.give(`{"jsonrpc":"2.0","id":%v,"result":%d}`, calls[i].ID(), i)
		}
		for i, call := range calls {
			var got int
			if err := call.Wait(t.Context(), &got); err != nil || got != i {
				t.Errorf("call %d got %d, %v", i, got, err)
			}
		}
	})
}

func TestAnswersToCalls(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		check        func(got jsontext.Value, n int, err error) bool
	}{
		{"result", `"id":1,"result":5`, func(got jsontext.Value, n int, err error) bool {
			return err == nil && string(got) == "5" && n == 5
		}},
		{"id as a string", `"id":"1","result":5`, func(_ jsontext.Value, n int, err error) bool { return err == nil && n == 5 }},
		{"error", `"id":1,"error":{"code":-32008,"message":"gone","data":{"a":1}}`, func(_ jsontext.Value, _ int, err error) bool {
			var wire *Error
			return errors.As(err, &wire) && wire.Code == -32008 && wire.Message == "gone" && string(wire.Data) == `{"a":1}`
		}},
		{"result of another type", `"id":1,"result":"x"`, func(_ jsontext.Value, _ int, err error) bool { return errors.Is(err, ErrBadResponse) }},
		{"result and error", `"id":1,"result":5,"error":{"code":1,"message":""}`, isBadResponse},
		{"neither", `"id":1`, isBadResponse},
		{"error without code", `"id":"1","error":{"message":""}`, isBadResponse},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
				call, err := p.Go("m", nil)
				if err != nil {
					t.Fatal(err)
				}
				p.give(`{"jsonrpc":"2.0",%s}`, test.answer)
				var raw jsontext.Value
				var n int
				errs := errors.Join(call.Wait(t.Context(), &raw), call.Wait(t.Context(), &n))
				if !test.check(raw, n, errs) {
					t.Errorf("got %s, %d, %v", raw, n, errs)
				}
				if s := p.Stats(); s.Calls != 0 {
					t.Errorf("%d calls are left", s.Calls)
				}
			})
		})
	}
}

// isBadResponse also checks that our complaint cannot be taken for an error
// that the peer has sent.
func isBadResponse(_ jsontext.Value, _ int, err error) bool {
	var wire *Error
	return errors.Is(err, ErrBadResponse) && !errors.As(err, &wire)
}

func TestStrayResponses(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		ctx, cancel := context.WithCancelCause(t.Context())
		call, err := p.Go("m", nil)
		if err != nil {
			t.Fatal(err)
		}
		cancel(io.ErrNoProgress)
		if err := call.Wait(ctx, nil); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("got %v, want the context's cause", err)
		}
		call.Cancel(nil) // has settled
		p.give(`{"jsonrpc":"2.0","id":1,"result":1}`)
		p.give(`{"jsonrpc":"2.0","id":0,"result":1}`)
		p.give(`{"jsonrpc":"2.0","id":2,"result":1}`)
		p.give(`{"jsonrpc":"2.0","id":"x","result":1}`)
		p.give(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`)
		p.want(`{"jsonrpc":"2.0","id":1,"method":"m"}`, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
		want := Stats{CallsCancelled: 1, LateResponses: 1, UnknownResponses: 3, PeerComplaints: 1}
		if got := p.Stats(); got != want {
			t.Errorf("counted %+v, want %+v", got, want)
		}
		if err := call.Wait(t.Context(), nil); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("a second Wait got %v", err)
		}
	})
}

func TestCallWithEndedContextSendsNothing(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(io.ErrNoProgress)
		if err := p.Call(ctx, "m", nil, nil); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("got %v", err)
		}
		p.want()
	})
}

func TestParamsThatDoNotMarshal(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		if err := p.Call(t.Context(), "m", func() {}, nil); err == nil {
			t.Error("Call succeeded")
		}
		if err := p.Notify("m", func() {}); err == nil {
			t.Error("Notify succeeded")
		}
		p.want()
	})
}

func TestCancelMayOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var urgent []string
		c := NewConn(t.Context(), Options{
			Send:   func([]byte) error { return nil },
			Urgent: func(msg []byte) error { urgent = append(urgent, string(msg)); return nil },
		})
		defer c.Close(nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Call(ctx, "m", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if len(urgent) != 1 {
			t.Errorf("urgent messages %q, want one", urgent)
		}
	})
}

// A third of the callers gives up, a third runs out of time, and the peer
// answers everybody in no particular order.
func TestManyCallsLeaveNothingBehind(t *testing.T) {
	const total = 10_000
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		random := rand.New(rand.NewPCG(1, 2))
		var calls sync.WaitGroup
		for i := range total {
			calls.Go(func() { callOnce(t, p, i) })
		}
		synctest.Wait()
		time.Sleep(2 * time.Second) // the clock of the bubble: cancelled and timed out by now
		answers := make([]string, 0, total)
		for len(p.sent) > 0 {
			if m, _ := Scan([]byte(<-p.sent)); m.Kind == KindRequest {
				answers = append(answers, fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, m.ID, m.Params))
			}
		}
		random.Shuffle(total, func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
		for _, answer := range answers {
			p.give("%s", answer)
		}
		calls.Wait()
		got := p.Stats()
		if got.Calls != 0 || got.CallsCancelled != 6_000 || got.LateResponses != 6_000 || got.UnknownResponses != 0 {
			t.Errorf("counted %+v", got)
		}
		p.give(`{"jsonrpc":"2.0","id":1,"method":"alive?"}`)
		p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}`)
	})
}

// callOnce makes call i of the test above and checks how it ends.
func callOnce(t *testing.T, p *rawPeer, i int) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var want error
	switch i % 10 {
	case 0, 1, 2:
		want = io.ErrNoProgress
		timer := time.AfterFunc(time.Duration(i)*time.Microsecond, func() { cancel(want) })
		defer timer.Stop()
	case 3, 4, 5:
		want = context.DeadlineExceeded
		timed, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		ctx = timed
	}
	var got []int
	err := p.Call(ctx, "echo", []int{i}, &got)
	switch {
	case want != nil && !errors.Is(err, want):
		t.Errorf("call %d ended with %v, want %v", i, err, want)
	case want == nil && (err != nil || len(got) != 1 || got[0] != i):
		t.Errorf("call %d got %v, %v", i, got, err)
	}
}

func TestCloseFailsEveryCall(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		var calls sync.WaitGroup
		errs := make(chan error, 1000)
		for range cap(errs) {
			calls.Go(func() { errs <- p.Call(t.Context(), "m", nil, nil) })
		}
		synctest.Wait()
		if got := p.Stats().Calls; got != cap(errs) {
			t.Errorf("%d calls are pending, want %d", got, cap(errs))
		}
		start := time.Now()
		p.Close(io.ErrUnexpectedEOF)
		calls.Wait()
		close(errs)
		for err := range errs {
			if !errors.Is(err, ErrClosed) || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("a call ended with %v", err)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
		if got := p.Stats().Calls; got != 0 {
			t.Errorf("%d calls are left", got)
		}
	})
}
