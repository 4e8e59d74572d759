package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/go-json-experiment/json/jsontext"
)

// sink is a carrier that costs nothing: what is written is counted, what is read
// comes from a channel.
type sink struct {
	in    chan []byte
	done  chan struct{}
	once  sync.Once
	count *atomic.Int64
	got   atomic.Pointer[chan int] // told of each write, nil for nobody
}

func (s *sink) Read() ([]byte, error) {
	select {
	case m := <-s.in:
		return m, nil
	case <-s.done:
		return nil, errors.New("closed")
	}
}

func (s *sink) Write(batch [][]byte) error {
	s.count.Add(int64(len(batch)))
	if got := s.got.Load(); got != nil {
		*got <- len(batch)
	}
	return nil
}

func (s *sink) Close(transport.Code, string) error {
	s.once.Do(func() { close(s.done) })
	return nil
}

// listen returns a channel that is told of each write.
func (s *sink) listen() <-chan int {
	got := make(chan int, 1024)
	s.got.Store(&got)
	return got
}

// end closes, as a client that leaves does.
func (s *sink) end() { _ = s.Close(transport.CodeNormal, "") }

func (s *sink) RemoteAddr() string   { return "sink" }
func (s *sink) Kind() transport.Kind { return transport.KindMemory }

// arena is a host with a chat that streams, for benchmarks.
type arena struct {
	tb      testing.TB
	h       *Host
	lab     *lab
	serving sync.WaitGroup
	count   atomic.Int64 // messages written to all sinks
}

const arenaSession, arenaChat = "ahp-session:/s", "ahp-chat:/c"

func newArena(tb testing.TB, limits Limits) *arena {
	tb.Helper()
	a := &arena{tb: tb, lab: &lab{}}
	var err error
	if a.h, err = New(tb.Context(), Options{Features: []Feature{a.lab}, Limits: limits}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := a.h.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
		a.serving.Wait()
	})
	a.chat(arenaSession, arenaChat)
	return a
}

// chat makes a chat with an active turn in a session of its own.
func (a *arena) chat(session, chat ahp.URI) {
	if err := errors.Join(a.h.Create(session, labSession("x"), ""), a.h.Create(chat, labChat(chat), session)); err != nil {
		a.tb.Fatal(err)
	}
	a.h.Apply(chat, &ahp.ChatTurnStarted{TurnID: "t", StartedAt: Now(), Message: &ahp.Message{Text: "go"}})
	a.h.Apply(chat, &ahp.ChatResponsePart{TurnID: "t", Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p"}}})
}

func (a *arena) delta(chat ahp.URI) {
	if !a.h.Apply(chat, &ahp.ChatDelta{TurnID: "t", PartID: "p", Content: "hello "}) {
		a.tb.Fatal("nothing changed")
	}
}

// join connects a client that follows the channels.
func (a *arena) join(name string, channels ...ahp.URI) *sink {
	s := &sink{in: make(chan []byte, 16), done: make(chan struct{}), count: &a.count}
	params, err := ahp.Marshal(ahp.InitializeParams{
		Channel: ahp.RootURI, ProtocolVersions: []string{"1.1.0"}, ClientID: name, InitialSubscriptions: channels,
	})
	if err != nil {
		a.tb.Fatal(err)
	}
	before := a.count.Load()
	s.in <- jsonrpc.AppendRequest(nil, jsonrpc.NumberID(1), ahp.MethodInitialize, params)
	a.serving.Go(func() { _ = a.h.Serve(context.Background(), s, Local) })
	a.await(before + 1)
	return s
}

// await waits until n messages have been written.
func (a *arena) await(n int64) {
	for a.count.Load() < n {
		runtime.Gosched()
	}
}

// BenchmarkFanout sends one action to 1,000 subscribers: each action alone, and
// many at once. The goals are 5 and 1 µs a delivery.
func BenchmarkFanout(b *testing.B) {
	const subscribers = 1000
	for _, actions := range []int{1, 100} {
		b.Run(fmt.Sprint("queued=", actions), func(b *testing.B) {
			a := newArena(b, Limits{})
			for i := range subscribers {
				a.join(fmt.Sprint("c", i), arenaChat)
			}
			sent := a.count.Load()
			b.ReportAllocs()
			for b.Loop() {
				for range actions {
					a.delta(arenaChat)
				}
				sent += int64(subscribers * actions)
				a.await(sent)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*subscribers*actions), "ns/delivery")
		})
	}
}

// BenchmarkApply is what an agent pays for a delta: reducing, numbering, the
// journal, and waking the subscribers. Nobody is waited for.
func BenchmarkApply(b *testing.B) {
	for _, subscribers := range []int{0, 1, 100, 1000} {
		b.Run(fmt.Sprint("subscribers=", subscribers), func(b *testing.B) {
			a := newArena(b, Limits{OutboxMessages: 1 << 40, OutboxBytes: 1 << 50})
			for i := range subscribers {
				a.join(fmt.Sprint("c", i), arenaChat)
			}
			b.ReportAllocs()
			for b.Loop() {
				a.delta(arenaChat)
			}
		})
	}
}

// BenchmarkBusyNeighbour is a delta to a quiet chat while another one streams to
// 1,000 subscribers: what the lock costs those who have nothing to do with it.
func BenchmarkBusyNeighbour(b *testing.B) {
	a := newArena(b, Limits{OutboxMessages: 1 << 40, OutboxBytes: 1 << 50})
	a.chat("ahp-session:/quiet", "ahp-chat:/quiet")
	for i := range 1000 {
		a.join(fmt.Sprint("c", i), arenaChat)
	}
	var stop atomic.Bool
	var busy sync.WaitGroup
	busy.Go(func() {
		for !stop.Load() {
			a.delta(arenaChat)
		}
	})
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		a.delta("ahp-chat:/quiet")
		times = append(times, time.Since(began))
	}
	stop.Store(true)
	busy.Wait()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
}

// BenchmarkDispatch is the way of a client's action through the host and back as
// its echo.
func BenchmarkDispatch(b *testing.B) {
	a := newArena(b, Limits{})
	s := a.join("a", arenaSession)
	got := s.listen()
	const head = `{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-session:/s","clientSeq":`
	b.ReportAllocs()
	seq := 0
	for b.Loop() {
		seq++
		s.in <- fmt.Appendf(nil, `%s%d,"action":{"type":"session/titleChanged","title":"title %d"}}}`, head, seq, seq)
		<-got
	}
	s.end()
}

// BenchmarkFollowMany is a delivery to a connection that follows thousands of
// channels, of which one has something to say.
func BenchmarkFollowMany(b *testing.B) {
	for _, channels := range []int{1, 100, 2000} {
		b.Run(fmt.Sprint("channels=", channels), func(b *testing.B) {
			a := newArena(b, Limits{})
			follow := []ahp.URI{arenaChat}
			for i := range channels - 1 {
				uri := fmt.Sprint("ahp-session:/", i)
				if err := a.h.Create(uri, labSession("x"), ""); err != nil {
					b.Fatal(err)
				}
				follow = append(follow, uri)
			}
			s := a.join("a", follow...)
			got := s.listen()
			b.ReportAllocs()
			for b.Loop() {
				a.delta(arenaChat)
				<-got
			}
			s.end()
		})
	}
}

// BenchmarkSubscribe is a subscribe to a chat of 1,000 turns, whole and with a
// view of ten.
func BenchmarkSubscribe(b *testing.B) {
	for _, view := range []string{"{}", `{"turns":10}`} {
		b.Run("view="+view, func(b *testing.B) {
			a := newArena(b, Limits{})
			a.h.Apply(arenaChat, &ahp.ChatTurnComplete{TurnID: "t"})
			for i := range 1000 {
				id := fmt.Sprint("t", i)
				a.h.Apply(arenaChat, &ahp.ChatTurnStarted{TurnID: id, StartedAt: Now(), Message: &ahp.Message{Text: "a question"}})
				a.h.Apply(arenaChat, &ahp.ChatResponsePart{TurnID: id, Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{
					ID: "p", Content: ahp.NewText(string(bytes.Repeat([]byte("answer "), 100))),
				}}})
				a.h.Apply(arenaChat, &ahp.ChatTurnComplete{TurnID: id})
			}
			s := a.join("a")
			got := s.listen()
			b.ReportAllocs()
			id := 1
			for b.Loop() {
				id++
				s.in <- fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"subscribe","params":{"channel":%q,"view":%s}}`, id, arenaChat, view)
				<-got
			}
			s.end()
		})
	}
}

// BenchmarkRoute is what a receiver does with an envelope before it reduces it:
// scan the message, read the head, find the channel. The goal is 0.5 µs.
func BenchmarkRoute(b *testing.B) {
	const head = `{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/0199c1b2-7d4e-7c9a-9d5b-3f1f8a6f2c11","action":{"type":"chat/delta","turnId":"turn-12","partId":"part-3","content":"some words of an answer "},"serverSeq":123456`
	b.Run("host", func(b *testing.B) { benchRoute(b, head+`}}`) })
	b.Run("echo", func(b *testing.B) { benchRoute(b, head+`,"origin":{"clientId":"client-1","clientSeq":42}}}`) })
}

func benchRoute(b *testing.B, text string) {
	msg := []byte(text)
	channels := map[ahp.URI]int{"ahp-chat:/0199c1b2-7d4e-7c9a-9d5b-3f1f8a6f2c11": 1}
	b.ReportAllocs()
	found := 0
	for b.Loop() {
		m, err := jsonrpc.Scan(msg)
		if err != nil {
			b.Fatal(err)
		}
		e, err := ahp.ScanEnvelope(m.Params)
		if err != nil {
			b.Fatal(err)
		}
		found += channels[string(e.Channel)]
	}
	if found == 0 {
		b.Fatal("not found")
	}
}

// BenchmarkEnvelope encodes an envelope, which is done once for all subscribers.
func BenchmarkEnvelope(b *testing.B) {
	rec := &journal.Record{
		Seq: 123456, Kind: journal.Action, Channel: "ahp-chat:/0199c1b2-7d4e-7c9a-9d5b-3f1f8a6f2c11",
		Body: jsontext.Value(`{"type":"chat/delta","turnId":"turn-12","partId":"part-3","content":"some words "}`),
	}
	b.ReportAllocs()
	for b.Loop() {
		(&entry{rec: rec}).wire()
	}
}
