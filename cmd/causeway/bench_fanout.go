package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/spf13/cobra"
)

// counter is a carrier to a client that reads everything at no cost, so that what
// remains is what the host itself pays.
type counter struct {
	in   chan []byte
	done chan struct{}
	once sync.Once
	all  *audience
}

func (s *counter) Read() ([]byte, error) {
	select {
	case m := <-s.in:
		return m, nil
	case <-s.done:
		return nil, &transport.CloseError{Code: transport.CodeNormal, Remote: true}
	}
}

func (s *counter) Write(batch [][]byte) error {
	if s.all.sum.Add(int64(len(batch))) >= s.all.want.Load() {
		select {
		case s.all.reached <- struct{}{}:
		default:
		}
	}
	return nil
}

func (s *counter) Close(transport.Code, string) error {
	s.once.Do(func() { close(s.done) })
	return nil
}

func (s *counter) RemoteAddr() string   { return "bench" }
func (s *counter) Kind() transport.Kind { return transport.KindMemory }

// audience is a host with one chat and many clients that follow it.
type audience struct {
	h       *host.Host
	chat    ahp.URI
	serving sync.WaitGroup
	clients []*counter
	sum     atomic.Int64 // messages written to all of them
	want    atomic.Int64 // how many somebody waits for
	reached chan struct{}
}

// newAudience must be ended with close.
func newAudience(ctx context.Context, clients int) (*audience, error) {
	h, err := host.New(ctx, host.Options{Features: benchFeatures()})
	if err != nil {
		return nil, err
	}
	a := &audience{h: h, chat: ahp.ChatPrefix + "bench", reached: make(chan struct{}, 1)}
	now := host.Now()
	state := &ahp.ChatState{ChatHeader: &ahp.ChatHeader{ChatInfo: ahp.ChatInfo{Resource: a.chat, Status: ahp.StatusIdle, ModifiedAt: now}}}
	if err := h.Create(ahp.SessionPrefix+"bench", &ahp.SessionState{Provider: "bench", Lifecycle: ahp.LifecycleReady}, ""); err != nil {
		return nil, err
	}
	if err := h.Create(a.chat, state, ahp.SessionPrefix+"bench"); err != nil {
		return nil, err
	}
	h.Apply(a.chat, &ahp.ChatTurnStarted{TurnID: "t", StartedAt: now, Message: ahp.UserMessage("go")})
	h.Apply(a.chat, &ahp.ChatResponsePart{TurnID: "t", Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p"}}})
	for i := range clients {
		if err := a.join(ctx, fmt.Sprint("bench-", i)); err != nil {
			return nil, err
		}
	}
	a.await(int64(clients))
	return a, nil
}

func (a *audience) join(ctx context.Context, name string) error {
	params, err := ahp.Marshal(ahp.InitializeParams{
		Channel: ahp.RootURI, ProtocolVersions: []string{ahp.Current.String()}, ClientID: name, InitialSubscriptions: []ahp.URI{a.chat},
	})
	if err != nil {
		return err
	}
	c := &counter{in: make(chan []byte, 1), done: make(chan struct{}), all: a}
	c.in <- jsonrpc.AppendRequest(nil, jsonrpc.NumberID(1), ahp.MethodInitialize, params)
	a.clients = append(a.clients, c)
	a.serving.Go(func() { _ = a.h.Serve(ctx, c, host.Local) })
	return nil
}

// await waits until n messages were written. It sleeps, since time spent looking
// would count as the host's.
func (a *audience) await(n int64) {
	for a.want.Store(n); a.sum.Load() < n; {
		<-a.reached
	}
}

func (a *audience) say() {
	a.h.Apply(a.chat, &ahp.ChatDelta{TurnID: "t", PartID: "p", Content: "some words "})
}

func (a *audience) close(ctx context.Context) error {
	for _, c := range a.clients {
		_ = c.Close(transport.CodeNormal, "")
	}
	a.serving.Wait()
	return a.h.Shutdown(ctx)
}

// benchFanout is one action to 1,000 subscribers: by itself, and with others
// behind it.
func benchFanout(cmd *cobra.Command, r *measure.Report) error {
	const subscribers = 1000
	deliveries := benchRounds(cmd, 1_000_000)
	a, err := newAudience(cmd.Context(), subscribers)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name, goal string
		queued     int
	}{
		{"action to 1,000 subscribers, alone", "<= 5 us", 1},
		{"action to 1,000 subscribers, 100 queued", "<= 1 us", 100},
	} {
		measuring(cmd, "%s", f.name)
		sent, began := a.sum.Load(), measure.CPU()
		for range deliveries / subscribers / f.queued {
			for range f.queued {
				a.say()
			}
			sent += int64(subscribers * f.queued)
			a.await(sent)
		}
		each := float64(measure.CPU()-began) / float64(deliveries) / float64(time.Microsecond)
		r.Add(measure.Figure{Name: f.name, Value: each, Unit: "us CPU a delivery", Goal: f.goal})
	}
	return a.close(cmd.Context())
}

// benchRoute is what a receiver does with an envelope before it reduces it.
func benchRoute(cmd *cobra.Command, r *measure.Report) error {
	measuring(cmd, "decoding and routing of an envelope")
	rounds := benchRounds(cmd, 2_000_000)
	const chat = "ahp-chat:/0199c1b2-7d4e-7c9a-9d5b-3f1f8a6f2c11"
	msg := []byte(`{"jsonrpc":"2.0","method":"action","params":{"channel":"` + chat + `","action":{"type":"chat/delta",` +
		`"turnId":"turn-12","partId":"part-3","content":"some words of an answer "},"serverSeq":123456}}`)
	channels := map[ahp.URI]int{chat: 1}
	began, found := measure.CPU(), 0
	for range rounds {
		m, err := jsonrpc.Scan(msg)
		if err != nil {
			return err
		}
		e, err := ahp.ScanEnvelope(m.Params)
		if err != nil {
			return err
		}
		found += channels[string(e.Channel)]
	}
	if found != rounds {
		return fmt.Errorf("%d of %d envelopes found their channel", found, rounds)
	}
	each := float64(measure.CPU()-began) / float64(rounds) / float64(time.Microsecond)
	r.Add(measure.Figure{Name: "envelope of 270 bytes decoded and routed", Value: each, Unit: "us CPU", Goal: "<= 0.5 us"})
	return nil
}
