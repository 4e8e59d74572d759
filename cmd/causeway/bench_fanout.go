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
	a := &audience{h: h, reached: make(chan struct{}, 1)}
	if a.chat, err = newBenchChat(h, "bench"); err != nil {
		return nil, err
	}
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

// newBenchChat makes a chat whose agent is about to answer, in a session of its own.
func newBenchChat(h *host.Host, name string) (chat ahp.URI, err error) {
	session, chat, now := ahp.SessionPrefix+name, ahp.ChatPrefix+name, host.Now()
	state := &ahp.ChatState{ChatHeader: &ahp.ChatHeader{ChatInfo: ahp.ChatInfo{Resource: chat, Status: ahp.StatusIdle, ModifiedAt: now}}}
	if err := h.Create(session, &ahp.SessionState{Provider: "bench", Lifecycle: ahp.LifecycleReady}, ""); err != nil {
		return "", err
	}
	if err := h.Create(chat, state, session); err != nil {
		return "", err
	}
	h.Apply(chat, &ahp.ChatTurnStarted{TurnID: "t", StartedAt: now, Message: ahp.UserMessage("go")})
	h.Apply(chat, &ahp.ChatResponsePart{TurnID: "t", Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p"}}})
	return chat, nil
}

// sayIn is one word more of that answer.
func sayIn(h *host.Host, chat ahp.URI) {
	h.Apply(chat, &ahp.ChatDelta{TurnID: "t", PartID: "p", Content: "some words "})
}

func (a *audience) say() { sayIn(a.h, a.chat) }

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
	a, err := newAudience(cmd.Context(), subscribers)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name   string
		goal   measure.Goal
		queued int
		each   int // deliveries in a round
	}{
		{"action to 1,000 subscribers, alone", "<= 5 us", 1, 400_000},
		{"action to 1,000 subscribers, 100 queued", "<= 1 us", 100, 2_000_000},
	} {
		times := benchAmount(cmd, f.each/subscribers/f.queued)
		err := benchFigure(cmd, r, measure.Figure{Name: f.name, Unit: "us CPU a delivery", Goal: f.goal}, func() (float64, error) {
			began := measure.CPU()
			a.tell(times, f.queued)
			return perEach(began, times*f.queued*subscribers), nil
		})
		if err != nil {
			return err
		}
	}
	return a.close(cmd.Context())
}

// tell says something times over, queued words at once, each time to everybody.
func (a *audience) tell(times, queued int) {
	sent := a.sum.Load()
	for range times {
		for range queued {
			a.say()
		}
		sent += int64(len(a.clients) * queued)
		a.await(sent)
	}
}

// perEach is the processor time since began for each of n, in microseconds.
func perEach(began time.Duration, n int) float64 {
	return microseconds(measure.CPU()-began) / float64(n)
}
