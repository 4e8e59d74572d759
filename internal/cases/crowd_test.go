package cases

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/internal/simnet"
)

// crowd is many clients on several sessions, whose network does what networks do.
type crowd struct {
	*world
	rng      *rand.Rand // of the disturbances
	sessions []*client.Session
	chats    []ahp.URI
	people   []*person

	mu      sync.Mutex
	prompts map[string]int // how often the agents were given each message
}

// person is one client with what it did.
type person struct {
	name string
	c    *client.Client
	chat *client.Chat
	rng  *rand.Rand
	said map[string]*client.Dispatch // messages queued, by text
}

const (
	crowdSteps = 20               // things each person does
	crowdPause = 30 * time.Second // up to which they wait in between
)

// A crowd over a bad network: connections are cut and stall, some fall silent,
// some read nothing, some flood the host, the clock jumps. In the end everybody
// has the host's state, no message was given to an agent twice, and the host
// holds nothing of them any more.
func TestACrowdConverges(t *testing.T) {
	for seed := range uint64(scale.Count(10)) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			c := &crowd{prompts: make(map[string]int), rng: rand.New(rand.NewPCG(seed, 1))}
			limits := host.Limits{RingBytes: 4 << 20, OutboxMessages: 2_000}
			bubbleWith(t, c.play, host.Options{Limits: limits}, func(t *testing.T, w *world) {
				c.world = w
				before, goroutines := heap(), runtime.NumGoroutine()
				c.gather(seed)
				c.live()
				c.compare()
				c.leave()
				if grown := heap() - before; grown > 16<<20 {
					t.Errorf("%d bytes more are in use than before they came", grown)
				}
				if n := runtime.NumGoroutine(); n > goroutines {
					t.Errorf("%d goroutines, %d before they came", n, goroutines)
				}
			})
		})
	}
}

// play counts each prompt and answers in a few words.
func (c *crowd) play(ctx context.Context, a *actor, p agent.Prompt) agent.Outcome {
	c.mu.Lock()
	c.prompts[p.Message.Text]++
	c.mu.Unlock()
	return talker(func(string) []string { return []string{"well, ", "yes ", "and no"} })(ctx, a, p)
}

// gather connects everybody, each with a chat.
func (c *crowd) gather(seed uint64) {
	host := c.client("steward")
	for range scale.Count(100) {
		s := c.session(host)
		c.sessions = append(c.sessions, s)
		c.chats = append(c.chats, must(s.DefaultChat(c.t.Context()))(c.t).URI())
	}
	people := scale.Count(1000)
	if testing.Short() {
		people = max(20, people/4)
	}
	for i := range people {
		p := &person{name: fmt.Sprint("person-", i), rng: rand.New(rand.NewPCG(seed, uint64(i))), said: make(map[string]*client.Dispatch)}
		p.c = c.client(p.name)
		p.chat = must(p.c.Chat(c.t.Context(), c.chats[i%len(c.chats)]))(c.t)
		c.people = append(c.people, p)
	}
}

// live lets everybody do their things while the network goes wrong, and then
// gives all of it the time to heal.
func (c *crowd) live() {
	var everybody sync.WaitGroup
	for i, p := range c.people {
		everybody.Go(func() { p.act(c.sessions[i%len(c.sessions)].URI()) })
		if i%10 == 0 {
			everybody.Go(p.dawdle)
		}
	}
	everybody.Go(c.disturb)
	everybody.Wait()
	for _, p := range c.people {
		l := c.link(p.name)
		l.Set(simnet.Profile{})
		l.Refuse(false)
		l.Resume()
	}
	time.Sleep(30 * time.Minute)
	synctest.Wait()
}

// act does a person's things, without waiting for any of them.
func (p *person) act(session ahp.URI) {
	for step := range crowdSteps {
		time.Sleep(time.Duration(p.rng.Int64N(int64(crowdPause))))
		switch p.rng.IntN(4) {
		case 0:
			p.chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(fmt.Sprint(p.name, " thinks ", step))})
		case 1:
			p.chat.Dispatch(&ahp.ChatIsReadChanged{IsRead: step%2 == 0})
		default:
			text := fmt.Sprint(p.name, " says ", step)
			_, p.said[text] = p.chat.Queue(ahp.UserMessage(text))
		}
	}
}

// dawdle follows the updates far too slowly: it must be told so, and must not
// hold up anybody.
func (p *person) dawdle() {
	ctx, cancel := context.WithTimeout(context.Background(), crowdSteps*crowdPause)
	defer cancel()
	for range p.chat.Updates(ctx) {
		time.Sleep(time.Minute)
	}
}

// disturb makes the network go wrong, one thing after the other.
func (c *crowd) disturb() {
	const jump = 3 * time.Minute // as when a laptop was asleep
	for range crowdSteps * 2 {
		time.Sleep(time.Duration(c.rng.Int64N(int64(crowdPause) / 2)))
		for range 1 + len(c.people)/10 {
			l := c.link(c.people[c.rng.IntN(len(c.people))].name)
			switch c.rng.IntN(6) {
			case 0, 1:
				l.Cut()
			case 2:
				l.Stall()
			case 3:
				l.Stall(simnet.Down)
			case 4:
				l.Set(simnet.Profile{Latency: time.Duration(c.rng.Int64N(int64(2 * time.Second))), BytesPerSecond: 4 << 10, MaxPieceBytes: 7})
			default:
				l.Resume()
				l.Set(simnet.Profile{})
			}
		}
		if c.rng.IntN(crowdSteps) == 0 {
			time.Sleep(jump)
		}
		c.flood()
	}
}

// flood is a stranger that sends what makes no sense, and another who says
// nothing at all.
func (c *crowd) flood() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if silent, err := c.net.Dial(ctx, "silent", hostAddr); err == nil {
		time.AfterFunc(time.Minute, func() { _ = silent.Close() })
	}
	noise, _ := c.greeted("stranger")
	for i := range 200 {
		chat := c.chats[i%len(c.chats)]
		msg := fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"chat/delta","turnId":"x","partId":"y","content":"z"}}}`, chat, i+1)
		if noise.conn.Write([][]byte{[]byte(msg), []byte(`{"jsonrpc":"2.0","method":"x-noise"}`)}) != nil {
			break
		}
	}
	_ = noise.conn.Close(1000, "")
}

// compare checks that everybody has the host's state, and that each message had
// its effect as often as its sender was told.
func (c *crowd) compare() {
	states := make(map[ahp.URI]string)
	for _, chat := range c.chats {
		states[chat] = encoded(c.t, c.h.State(chat))
	}
	confirmed, unknown := 0, 0
	for _, p := range c.people {
		if got := encoded(c.t, p.chat.State()); got != states[p.chat.URI()] {
			c.t.Errorf("%s differs from the host:\n%s\n%s", p.name, got, states[p.chat.URI()])
		}
		if n := p.c.Stats().Pending; n != 0 {
			c.t.Errorf("%d actions of %s have no outcome", n, p.name)
		}
		for text, d := range p.said {
			times := c.prompts[text]
			switch {
			case times > 1:
				c.t.Errorf("%q was given to the agent %d times", text, times)
			case d.Err() == nil && times == 0:
				c.t.Errorf("%q was confirmed and never given to the agent", text)
			case d.Err() == nil:
				confirmed++
			default:
				unknown++
			}
		}
	}
	c.t.Logf("%d people, %d messages confirmed, %d of unknown outcome", len(c.people), confirmed, unknown)
	if confirmed == 0 {
		c.t.Error("nothing was confirmed: the test saw nothing")
	}
}

func encoded(t *testing.T, state any) string {
	t.Helper()
	return string(must(ahp.Marshal(state))(t))
}

// leave ends everything the crowd has made, and waits until the host has
// forgotten it.
func (c *crowd) leave() {
	for _, p := range c.people {
		_ = p.c.Close()
	}
	for _, s := range c.sessions {
		if err := s.Client().DisposeSession(c.t.Context(), s.URI()); err != nil {
			c.t.Error(err)
		}
	}
	_ = c.sessions[0].Client().Close()
	c.people, c.sessions = nil, nil
	time.Sleep(host.DefaultLimits.ReconnectGrace + time.Minute)
	synctest.Wait()
	if n := c.connections(); n != 0 {
		c.t.Errorf("%v connections are left", n)
	}
}
