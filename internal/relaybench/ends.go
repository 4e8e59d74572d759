package relaybench

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/causeway-ahp/causeway/client"
	"github.com/go-json-experiment/json/jsontext"
)

// Ends are two ends of a relay and what one can do with them.
type Ends struct {
	Name string
	// Notify sends a payload, which is JSON, one way. It may wait for room.
	Notify func(payload []byte) error
	// Flush sends what Notify may have held back.
	Flush func() error
	// Call sends a payload and returns when the other end has answered. It may be
	// called by several goroutines.
	Call func(payload []byte) error
	// Close ends both.
	Close func() error

	received atomic.Int64
	target   atomic.Int64  // who waits, waits for that many
	arrived  chan struct{} // holds a token when they are there
}

// NewEnds returns ends whose functions are still to be set.
func NewEnds(name string) *Ends { return &Ends{Name: name, arrived: make(chan struct{}, 1)} }

// Received is called by the far end for each payload of Notify.
func (e *Ends) Received() {
	if e.received.Add(1) != e.target.Load() {
		return
	}
	select {
	case e.arrived <- struct{}{}:
	default:
	}
}

// sink is the service at the far end.
type sink struct{ e *Ends }

func (s sink) HandleCall(context.Context, client.Sender, string, jsontext.Value) (any, error) {
	return answer, nil
}

func (s sink) HandleNotification(context.Context, client.Sender, string, jsontext.Value) {
	s.e.Received()
}

func (s sink) KeepsNoParams() {}

var answer = jsontext.Value(`{"ok":true}`)

// Causeway connects two clients to a host and registers a service with one.
func Causeway(ctx context.Context, url string) (*Ends, error) {
	e := NewEnds("client services")
	far, err := client.Dial(ctx, url, client.Options{})
	if err != nil {
		return nil, err
	}
	r, err := far.Register(ctx, map[string]string{"protocol": "sink"}, sink{e})
	if err != nil {
		return nil, errors.Join(err, far.Close())
	}
	near, err := client.Dial(ctx, url, client.Options{})
	if err != nil {
		return nil, errors.Join(err, far.Close())
	}
	s := near.Service(r.ID())
	var params any // the last payload: who sends one often has it once
	e.Notify = func(payload []byte) error {
		if last, ok := params.(jsontext.Value); !ok || &last[0] != &payload[0] || len(last) != len(payload) {
			params = jsontext.Value(payload)
		}
		return s.Notify(ctx, "m", params)
	}
	e.Flush = func() error { return nil }
	e.Call = func(payload []byte) error { return s.Call(ctx, "m", jsontext.Value(payload), nil) }
	e.Close = func() error { return errors.Join(near.Close(), far.Close()) }
	return e, nil
}
