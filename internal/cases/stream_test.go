package cases

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/reducer"
)

// mirror follows one channel as the simplest client does. It trusts the host to
// send nothing the snapshot already holds.
type mirror struct {
	state any
	seq   uint64
}

// begin takes a snapshot.
func (m *mirror) begin(t *testing.T, snapshot string) {
	t.Helper()
	var s ahp.Snapshot
	if err := ahp.Unmarshal([]byte(snapshot), &s); err != nil {
		t.Fatal(err)
	}
	m.state, m.seq = must(reducer.Decode(ahp.KindOf(s.Resource), s.State))(t), s.FromSeq
}

// follow reads to the end of the first turn.
func (m *mirror) follow(t *testing.T, p *raw) *ahp.ChatState {
	t.Helper()
	for !m.ended() {
		msg := p.hear()
		var e struct {
			ServerSeq uint64 `json:"serverSeq"`
		}
		params := member(t, msg, "params")
		if err := ahp.Unmarshal(params, &e); err != nil {
			t.Fatal(err)
		}
		if e.ServerSeq <= m.seq {
			t.Fatalf("action %d behind %d: %s", e.ServerSeq, m.seq, msg)
		}
		m.seq = e.ServerSeq
		m.state = reducer.Apply(m.state, must(ahp.DecodeAction(member(t, string(params), "action")))(t))
	}
	return m.state.(*ahp.ChatState)
}

// ended reports whether a first turn has come to its end.
func (m *mirror) ended() bool {
	s := m.state.(*ahp.ChatState)
	return s.ActiveTurn == nil && s.Turns.Len() > 0
}

// counting is an agent that counts at full speed, to a thousand at least and
// until enough is said. At some number it lets somebody know.
type counting struct {
	at      int
	reached chan struct{}
	enough  atomic.Bool
}

const leastWords, mostWords = 1_000, 1_000_000

func (c *counting) play(ctx context.Context, a *actor, p agent.Prompt) agent.Outcome {
	for i := 0; i < leastWords || !c.enough.Load() && i < mostWords; i++ {
		if i == c.at {
			close(c.reached)
		}
		_ = a.Emit(ctx, agent.Text{TurnID: p.TurnID, Text: fmt.Sprint(i, " ")})
	}
	return agent.Outcome{}
}

// Whoever subscribes while an agent talks at full speed ends with every word,
// once, in whatever way it subscribed (21).
func TestNoWordIsLostBetweenSnapshotAndStream(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range scale.Count(200) {
		c := &counting{at: random.IntN(leastWords), reached: make(chan struct{})}
		bubble(t, c.play, func(t *testing.T, w *world) {
			for name, got := range midStream(t, w, c) {
				if n, ok := counted(got); !ok || n < leastWords {
					t.Errorf("%s, from number %d: after %d numbers it reads %.60q", name, c.at, n, got)
				}
			}
		})
	}
}

// counted reports up to where a text counts, and whether it ends there.
func counted(text string) (n int, ok bool) {
	for ; text != ""; n++ {
		if text, ok = strings.CutPrefix(text, fmt.Sprint(n, " ")); !ok {
			return n, false
		}
	}
	return n, true
}

// midStream subscribes in three ways once the agent has said enough, and returns
// what each client has read in the end.
func midStream(t *testing.T, w *world, c *counting) map[string]string {
	chat := w.chat(w.client("author"))
	ours := w.client("ours")
	asking, _ := w.greeted("asking")
	turn := must(chat.Send(t.Context(), "go"))(t)
	<-c.reached

	whole := must(ours.Chat(t.Context(), chat.URI()))(t)
	var first, second mirror
	answer := asking.ask("2", "subscribe", fmt.Sprintf(`{"channel":%q}`, chat.URI()))
	first.begin(t, string(member(t, answer, "result", "snapshot")))
	greeting, answer := w.greeted("greeting", chat.URI())
	snapshots := member(t, answer, "result", "snapshots")
	second.begin(t, strings.TrimSuffix(strings.TrimPrefix(string(snapshots), "["), "]"))
	c.enough.Store(true)
	if first.ended() || second.ended() {
		t.Error("the agent had fallen silent before everybody had subscribed")
	}

	texts := map[string]string{
		"subscribe":             text(first.follow(t, asking)),
		"initial subscriptions": text(second.follow(t, greeting)),
	}
	must(whole.Turn(turn.ID()).Wait(t.Context()))(t)
	texts["client"] = text(whole.State())
	return texts
}

// text is what the first turn was answered with.
func text(s *ahp.ChatState) string { return markdown(s.Turns.At(0).ResponseParts) }

// A client that was away while much was streamed is answered with about as much
// as the state is, not with its history (35).
func TestALongGapCostsNoMoreThanTheState(t *testing.T) {
	n := scale.Count(100_000)
	drip := talker(func(string) []string { return strings.Split(strings.Repeat("x", n), "") })
	bubble(t, drip, func(t *testing.T, w *world) {
		c, other := w.client("laptop"), w.client("desk")
		chat := w.chat(c)
		theirs := must(other.Chat(t.Context(), chat.URI()))(t)
		link := w.link("laptop")
		link.Refuse(true)
		link.Cut()
		waitState(t, c, client.Reconnecting)
		w.turn(theirs, "go")
		before := link.Stats().Down.Sent
		link.Refuse(false)
		waitState(t, c, client.Live)
		if got := text(chat.State()); len(got) != n {
			t.Errorf("%d characters, want %d", len(got), n)
		}
		state := must(ahp.Marshal(theirs.State()))(t)
		if got := int(link.Stats().Down.Sent - before); got > 2*len(state)+4096 {
			t.Errorf("the reconnect cost %d bytes, the state has %d", got, len(state))
		}
		if s := c.Stats(); s.Snapshots != 1 {
			t.Errorf("reconnected by %+v, want a snapshot", s)
		}
	})
}

const (
	busyChats  = 20
	busyTime   = time.Minute
	draftBytes = 4 << 10
	draftPause = 20 * time.Millisecond
)

// A client that reads nothing while twenty sessions stream is closed at its
// bound; memory stays bounded, nobody else waits, and it finds back (33).
func TestAStalledReaderCostsNobodyElse(t *testing.T) {
	limits := host.Limits{OutboxBytes: 4 << 20, RingBytes: 4 << 20}
	bubbleWith(t, talker(kilobytes), host.Options{Limits: limits}, func(t *testing.T, w *world) {
		author := w.client("author")
		var chats []ahp.URI
		for range busyChats {
			chats = append(chats, w.chat(author).URI())
		}
		_ = author.Close()
		slow, _ := w.greeted("slow", chats...)
		fast, _ := w.greeted("fast", chats...)
		w.link("slow").Set(simnet.Profile{BufferBytes: 64 << 10})
		lag := make(chan time.Duration)
		go func() { lag <- longestLag(t, fast, busyChats*int(busyTime/draftPause)) }()
		before := heap()
		peak := drafts(w, chats)
		if got := <-lag; got != 0 {
			t.Errorf("the fast reader was %v behind", got)
		}
		if grown := peak - before; grown > 24<<20 {
			t.Errorf("%d MiB more in use while %d MiB were sent", grown>>20, busyChats*int(busyTime/draftPause)*draftBytes>>20)
		}
		if n := w.closes("overflow"); n != 1 {
			t.Errorf("%v connections were closed for overflow, want the stalled one", n)
		}
		_ = slow.conn.Close(1000, "")
		back := w.raw("slow")
		back.say(`{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"channel":"ahp-root://","clientId":"slow","lastSeenServerSeq":1,"subscriptions":["` + chats[0] + `"]}}`)
		if m := back.answer("1"); !strings.Contains(m, `"snapshots":[{`) {
			t.Errorf("reconnect: %.200s", m)
		}
	})
}

// drafts changes the drafts of all chats for a minute and returns the largest
// heap seen.
func drafts(w *world, chats []ahp.URI) (peak int64) {
	pad := strings.Repeat("x", draftBytes)
	for i := range int(busyTime / draftPause) {
		for _, chat := range chats {
			text := fmt.Sprintf("%d %s", time.Now().UnixNano(), pad)
			w.h.Apply(chat, &ahp.ChatDraftChanged{Draft: ahp.UserMessage(text)})
		}
		time.Sleep(draftPause)
		if i%500 == 250 {
			peak = max(peak, heap())
		}
	}
	synctest.Wait()
	return peak
}

// longestLag reads n drafts and returns the longest time one took to arrive.
func longestLag(t *testing.T, p *raw, n int) (longest time.Duration) {
	for range n {
		m, err := p.conn.Read()
		if err != nil {
			t.Errorf("the fast reader: %v", err)
			return 0
		}
		var sent int64
		if _, err := fmt.Sscanf(string(m[strings.Index(string(m), `"text":"`):]), `"text":"%d `, &sent); err != nil {
			t.Errorf("%.200s: %v", m, err)
			return 0
		}
		longest = max(longest, time.Since(time.Unix(0, sent)))
	}
	return longest
}

// heap is what is in use, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
