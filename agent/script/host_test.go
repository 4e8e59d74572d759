package script

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/session"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
)

// realHost is a host with the script agent, reached over memory.
type realHost struct {
	t       testing.TB
	h       *host.Host
	serving sync.WaitGroup
	clients []*client.Client
}

func newRealHost(t testing.TB, o Options) *realHost {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := &realHost{t: t}
	f := session.New(session.Options{Providers: []agent.Provider{p}, DefaultDirectory: agent.FileURI(t.TempDir())})
	if r.h, err = host.New(context.Background(), host.Options{Features: []host.Feature{f}}); err != nil {
		t.Fatal(err)
	}
	return r
}

// end closes everything. It is called inside the bubble, if there is one.
func (r *realHost) end() {
	for _, c := range r.clients {
		_ = c.Close()
	}
	if err := r.h.Shutdown(context.Background()); err != nil {
		r.t.Errorf("shutdown: %v", err)
	}
	r.serving.Wait()
}

// pipe connects to the host.
func (r *realHost) pipe(context.Context) (transport.Conn, error) {
	near, far := memory.Pair(memory.Options{})
	r.serving.Go(func() { _ = r.h.Serve(context.Background(), far, host.Local) })
	return near, nil
}

// dial connects a client.
func (r *realHost) dial() *client.Client {
	r.t.Helper()
	c := client.New(context.Background(), r.pipe, client.Options{})
	r.clients = append(r.clients, c)
	if err := c.Ready(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// chat makes a session and returns its chat, and its client's.
func (r *realHost) chat() *client.Chat {
	r.t.Helper()
	s, err := r.dial().CreateSession(context.Background(), client.CreateSessionOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	chat, err := s.DefaultChat(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return chat
}

// dropped counts the events that changed nothing.
func (r *realHost) dropped() (n float64) {
	r.t.Helper()
	families, err := r.h.Metrics().Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "causeway_agent_events_dropped_total" {
			n = f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return n
}

// Whatever an agent says, each action that comes of it changes the chat: none is
// numbered and sent for nothing (agents.md, 4.6, 4).
func TestEveryActionChangesSomething(t *testing.T) {
	for _, word := range named {
		switch word {
		case "stall", "terminal", "ask", "huge":
			continue // they wait for somebody, for a process, or long
		}
		t.Run(word, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRealHost(t, Options{})
				defer r.end()
				chat := r.chat()
				turn, err := chat.Send(context.Background(), word)
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				for _, call := range chat.WaitingCalls() {
					if _, err := chat.Confirm(call.ToolCallID, true, client.ConfirmOptions{}); err != nil {
						t.Error(err)
					}
				}
				if _, err := turn.Wait(context.Background()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if n := r.dropped(); n != 0 {
					t.Errorf("%v events were dropped", n)
				}
			})
		})
	}
}

// counting is a transcript of one turn with so many updates.
func counting(t testing.TB, updates int) *Transcript {
	t.Helper()
	script, err := Read(strings.NewReader(fmt.Sprintf(`{"acpTranscript":1}
{"prompt":"count"}
{"do":"repeat","times":%d,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"${n}\n"}}}
{"end":"end_turn"}`, updates)))
	if err != nil {
		t.Fatal(err)
	}
	return script
}

func markdown(parts ahp.List[ahp.ResponsePart]) string {
	var b strings.Builder
	for _, p := range parts.All() {
		if p, ok := p.Part.(*ahp.MarkdownPart); ok {
			b.WriteString(p.Content.String())
		}
	}
	return b.String()
}

// 10,000 updates of one turn reach 20 clients, complete and in order, and what is
// kept of them is bounded.
func TestManyUpdatesReachManyClients(t *testing.T) {
	updates := scale.Count(100_000)
	if testing.Short() {
		updates = 1000
	}
	const clients = 20
	r := newRealHost(t, Options{Transcript: counting(t, updates), Speed: -1})
	defer r.end()
	chat := r.chat()
	var chats []*client.Chat
	for range clients {
		c, err := r.dial().Chat(t.Context(), chat.URI())
		if err != nil {
			t.Fatal(err)
		}
		chats = append(chats, c)
	}
	var want strings.Builder
	for n := range updates {
		fmt.Fprintf(&want, "%d\n", n+1)
	}
	before := heap()
	turn, err := chat.Send(t.Context(), "count")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, c := range chats {
		if got := finalText(t, c, turn.ID()); got != want.String() {
			t.Errorf("client %d has %d of %d bytes", i, len(got), want.Len())
		}
	}
	// Each client keeps the text; the ring of the host keeps what can be replayed.
	if grown := heap() - before; grown > 96<<20+int64(clients*want.Len()*4) {
		t.Errorf("%d MiB are kept after %d updates", grown>>20, updates)
	}
	if n := r.dropped(); n != 0 {
		t.Errorf("%v events were dropped", n)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// finalText waits until a client has seen the end of the turn and returns what it
// has of it.
func finalText(t *testing.T, c *client.Chat, turnID string) string {
	t.Helper()
	for u, err := range c.Updates(t.Context()) {
		if err != nil {
			continue // too slow for single updates: a snapshot follows
		}
		s := u.State.(*ahp.ChatState)
		if i, ok := s.Turns.Find(turnID); ok {
			return markdown(s.Turns.At(i).ResponseParts)
		}
	}
	t.Fatal("the updates ended before the turn")
	return ""
}

// BenchmarkUpdate is one update of an agent on its way to 20 clients that only
// read: the script, the adapter, the host and the reading are all in it. The goal
// is 5 µs of CPU per client and update.
func BenchmarkUpdate(b *testing.B) {
	const clients = 20
	r := newRealHost(b, Options{Transcript: counting(b, b.N), Speed: -1})
	defer r.end()
	chat := r.chat()
	var reading sync.WaitGroup
	for i := range clients {
		reader := r.reader(fmt.Sprintf("reader-%d", i), chat.URI())
		reading.Go(func() { readUntil(b, reader, "chat/turnComplete") })
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := measure.CPU()
	turn, err := chat.Send(context.Background(), "count")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := turn.Wait(context.Background()); err != nil {
		b.Fatal(err)
	}
	reading.Wait()
	used := measure.CPU() - before
	perClient := float64(used.Nanoseconds()) / float64(b.N) / clients
	b.ReportMetric(perClient, "cpu-ns/client-update")
	b.ReportMetric(perClient/5000, "of-goal")
}

// reader is a connection that is subscribed to a chat.
func (r *realHost) reader(name string, chat ahp.URI) transport.Conn {
	r.t.Helper()
	c, err := r.pipe(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	hello := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":%q,"initialSubscriptions":[%q]}}`, name, chat)
	if err := c.Write([][]byte{[]byte(hello)}); err != nil {
		r.t.Fatal(err)
	}
	if _, err := c.Read(); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// readUntil reads up to a message with the words.
func readUntil(t testing.TB, c transport.Conn, words string) {
	for {
		m, err := c.Read()
		if err != nil {
			t.Errorf("read: %v", err)
			return
		}
		if len(m) < 1024 && strings.Contains(string(m), words) {
			_ = c.Close(transport.CodeNormal, "")
			return
		}
	}
}
