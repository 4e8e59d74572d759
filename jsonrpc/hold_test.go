package jsonrpc

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// holder holds every request and keeps what it was told.
type holder struct {
	conn      *Conn
	held      []*Held
	cancelled []error
}

func (h *holder) HandleNotification(context.Context, *Message) {}

func (h *holder) HandleRequest(_ context.Context, m Message) Reply {
	h.held = append(h.held, h.conn.Hold(m.ID, func(cause error) { h.cancelled = append(h.cancelled, cause) }))
	return Reply{Taken: true}
}

func newHolder(t *testing.T) (*holder, *[]string) {
	t.Helper()
	var sent []string
	h := new(holder)
	h.conn = NewConn(t.Context(), Options{Handler: h, Send: func(msg []byte) error { sent = append(sent, string(msg)); return nil }})
	t.Cleanup(func() { h.conn.Close(nil) })
	return h, &sent
}

func receive(t *testing.T, c *Conn, msgs ...string) {
	t.Helper()
	for _, m := range msgs {
		if err := c.Receive([]byte(m)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHeldRequest: it is in flight until it is answered, once, in any order.
func TestHeldRequest(t *testing.T) {
	h, sent := newHolder(t)
	receive(t, h.conn, `{"jsonrpc":"2.0","id":1,"method":"m"}`, `{"jsonrpc":"2.0","id":"1","method":"m"}`, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
	if !h.held[1].Answer(jsontext.Value(`"s"`), nil) || !h.held[0].Answer(nil, ErrInvalidParams) || h.held[0].Answer(nil, nil) {
		t.Error("a request is answered once")
	}
	receive(t, h.conn, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
	h.held[2].Answer(nil, errors.New("of this side"))
	want := []string{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a request with this id is in flight"}}`,
		`{"jsonrpc":"2.0","id":"1","result":"s"}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`,
	}
	if !slices.Equal(*sent, want) {
		t.Errorf("sent %q, want %q", *sent, want)
	}
	if s := h.conn.Stats(); s.Requests != 0 {
		t.Errorf("%d requests are in flight", s.Requests)
	}
}

// TestHeldRequestIsCancelled while it is in flight, and not afterwards.
func TestHeldRequestIsCancelled(t *testing.T) {
	h, sent := newHolder(t)
	const cancel = `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`
	receive(t, h.conn, cancel, `{"jsonrpc":"2.0","id":1,"method":"m"}`, cancel)
	if len(h.cancelled) != 1 || !errors.Is(h.cancelled[0], ErrRequestCancelled) || len(*sent) != 0 {
		t.Fatalf("cancelled %v, sent %q", h.cancelled, *sent)
	}
	h.held[0].Answer(nil, h.cancelled[0])
	receive(t, h.conn, cancel)
	if len(h.cancelled) != 1 || len(*sent) != 1 {
		t.Errorf("cancelled %v, sent %q", h.cancelled, *sent)
	}
}

// TestHeldRequestOfAClosedConn is answered with silence.
func TestHeldRequestOfAClosedConn(t *testing.T) {
	h, sent := newHolder(t)
	receive(t, h.conn, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
	h.conn.Close(errors.New("over"))
	if h.held[0].Answer(nil, nil) || len(*sent) != 0 || len(h.cancelled) != 0 {
		t.Errorf("sent %q, cancelled %v", *sent, h.cancelled)
	}
}

// TestStart: what settles a call without a waiter is told once, whatever it is.
func TestStart(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name  string
		end   func(c *Conn, p *Pending)
		err   error
		value string
	}{
		{"answer", func(c *Conn, _ *Pending) { _ = c.Receive([]byte(`{"jsonrpc":"2.0","id":1,"result":7}`)) }, nil, "7"},
		{"error", func(c *Conn, _ *Pending) {
			_ = c.Receive([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}`))
		}, ErrInvalidParams, ""},
		{"malformed", func(c *Conn, _ *Pending) { _ = c.Receive([]byte(`{"jsonrpc":"2.0","id":1,"result":7,"error":1}`)) }, ErrBadResponse, ""},
		{"cancel", func(_ *Conn, p *Pending) { p.Cancel(boom) }, boom, ""},
		{"close", func(c *Conn, _ *Pending) { c.Close(boom) }, ErrClosed, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, _ := newHolder(t)
			var told int
			var value string
			var err error
			p, startErr := h.conn.Start(Request{Method: "m", Settled: func(v jsontext.Value, e error) { told, value, err = told+1, string(v), e }})
			if startErr != nil {
				t.Fatal(startErr)
			}
			tt.end(h.conn, p)
			p.Cancel(errors.New("too late"))
			h.conn.Close(nil)
			if told != 1 || value != tt.value || !errors.Is(err, tt.err) {
				t.Errorf("told %d times: %q, %v", told, value, err)
			}
		})
	}
}

// TestStartRefused: what was not sent settles nothing and leaves nothing.
func TestStartRefused(t *testing.T) {
	h, sent := newHolder(t)
	full := errors.New("full")
	r := Request{
		Method: "m", Send: func([]byte) error { return full },
		Settled: func(jsontext.Value, error) { t.Error("settled") },
	}
	if _, err := h.conn.Start(r); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	h.conn.Close(nil)
	if _, err := h.conn.Start(r); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: got %v", err)
	}
	if len(*sent) != 0 || h.conn.Stats().Calls != 0 {
		t.Errorf("sent %q, %d calls", *sent, h.conn.Stats().Calls)
	}
}

// TestWithdraw: the peer is told of a cancel unless the request had not left.
func TestWithdraw(t *testing.T) {
	for _, withdrawn := range []bool{true, false} {
		h, sent := newHolder(t)
		p, err := h.conn.Start(Request{Method: "m", Withdraw: func() bool { return withdrawn }, Settled: func(jsontext.Value, error) {}})
		if err != nil {
			t.Fatal(err)
		}
		p.Cancel(nil)
		want := 2
		if withdrawn {
			want = 1
		}
		if len(*sent) != want {
			t.Errorf("withdrawn %v: sent %q", withdrawn, *sent)
		}
	}
}
