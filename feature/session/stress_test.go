package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/scale"
)

// moody is an agent that does anything an agent may do, and some things it may
// not. What it was allowed to run it notes as an effect.
type moody struct {
	mu      sync.Mutex
	rng     *rand.Rand
	effects map[string]int // tool calls run, by turn
}

func (m *moody) intn(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rng.IntN(n)
}

func (m *moody) nap(ctx context.Context, s *puppetSession, p agent.Prompt, most time.Duration) (stopped bool) {
	t := time.NewTimer(time.Duration(m.intn(int(most/time.Millisecond))) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return false
	case <-s.cancelled(p.TurnID):
	case <-s.done:
	case <-ctx.Done():
	}
	return true
}

func (m *moody) turn(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
	s.say(ctx, p.TurnID, "hm")
	if m.nap(ctx, s, p, time.Second) && m.intn(4) > 0 {
		return agent.Outcome{Result: agent.Cancelled}
	}
	switch m.intn(12) {
	case 0:
		return agent.Outcome{Result: agent.Failed, Resumable: true}
	case 1:
		panic("moody")
	case 2:
		s.die()
		return agent.Outcome{Result: agent.Failed}
	case 3: // heeds no cancel for a while
		time.Sleep(time.Duration(m.intn(15)) * time.Second)
		s.say(ctx, p.TurnID, "late")
		return agent.Outcome{}
	case 4, 5, 6:
		return m.confirms(ctx, s, p)
	case 7, 8:
		return inquires(ctx, s, p)
	case 9: // goes on after its prompt returned
		go func() {
			s.say(ctx, p.TurnID, "after the end")
			_ = s.host.Emit(ctx, agent.ToolRunning{TurnID: p.TurnID, ToolCallID: "c", Confirmed: ahp.ConfirmedNotNeeded, Message: ahp.Plain("x")})
			_, _ = s.host.Ask(ctx, p.TurnID, &ahp.ChatInputRequest{ID: "late"})
		}()
		return agent.Outcome{Result: agent.Failed}
	}
	return agent.Outcome{}
}

func (m *moody) confirms(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
	call := fmt.Sprint("c", m.intn(1<<30))
	_ = s.host.Emit(ctx, agent.ToolStarted{TurnID: p.TurnID, ToolCallID: call, ToolName: "n", DisplayName: "n"})
	d, err := s.host.Confirm(ctx, agent.Confirmation{TurnID: p.TurnID, ToolCallID: call, Message: ahp.Plain("?")})
	switch {
	case err != nil || d.Withdrawn:
		return agent.Outcome{Result: agent.Cancelled}
	case d.Approved:
		m.mu.Lock()
		m.effects[call]++
		m.mu.Unlock()
	}
	_ = s.host.Emit(ctx, agent.ToolFinished{TurnID: p.TurnID, ToolCallID: call, Result: ahp.ToolCallResult{Success: true, PastTenseMessage: ahp.Plain("ran")}})
	return agent.Outcome{}
}

// wildClient dispatches actions, many of them out of place, to random chats.
type wildClient struct {
	w       *world
	p       *peer
	rng     *rand.Rand
	session ahp.URI
	chats   []ahp.URI
	sent    int // dispatches
	cuts    bool
}

func (c *wildClient) run(actions int) {
	for i := range actions {
		time.Sleep(time.Duration(c.rng.IntN(500)) * time.Millisecond)
		if c.cuts && c.rng.IntN(20) == 0 {
			_ = c.p.conn.Close(1000, "")
			time.Sleep(time.Duration(c.rng.IntN(2000)) * time.Millisecond)
			c.p = c.w.resume(c.p, append(c.chats, c.session)...)
		}
		c.act(i)
	}
}

func (c *wildClient) act(i int) {
	chat := c.chats[c.rng.IntN(len(c.chats))]
	s := c.w.h.State(chat).(*ahp.ChatState)
	id := fmt.Sprintf("%s-%d", c.p.name, i)
	turn, call := "t0", "c0"
	if s.ActiveTurn != nil {
		turn = s.ActiveTurn.ID
		for _, p := range s.ActiveTurn.ResponseParts.All() {
			if t, ok := p.Part.(*ahp.ToolCallPart); ok {
				call = t.ToolCall.ToolCallID
			}
		}
	}
	switch c.rng.IntN(16) {
	case 0, 1, 2:
		c.post(chat, startTurn(id, "x"))
	case 3, 4:
		c.post(chat, cancelTurn(turn))
	case 5, 6, 7:
		c.post(chat, approve(turn, call, ""))
	case 8:
		c.post(chat, deny(turn, call, ""))
	case 9:
		c.post(chat, `{"type":"chat/inputCompleted","requestId":"r","response":"decline"}`)
	case 10:
		c.post(chat, queue(id, "queued"))
	case 11:
		c.post(chat, pend("steering", id, "steered"))
	case 12:
		c.post(chat, fmt.Sprintf(`{"type":"chat/turnResume","turnId":%q}`, c.lastTurn(s)))
	case 13:
		c.post(c.session, setMode(id))
	case 14:
		c.post(chat, `{"type":"chat/truncated"}`)
	case 15:
		c.post(chat, `{"type":"chat/nonsense"}`)
	}
}

func (c *wildClient) lastTurn(s *ahp.ChatState) string {
	if n := s.Turns.Len(); n > 0 {
		return s.Turns.At(n - 1).ID
	}
	return "none"
}

func (c *wildClient) post(channel ahp.URI, action string) {
	c.sent++
	c.p.post(channel, action)
}

// Clients that do anything at any time, agents that do the same: the audit finds
// no turn lost or ended twice and nothing of a turn after its end; no two
// prompts of an agent overlap, no turn is prompted twice, no effect happens
// twice, and every dispatch is echoed once.
func TestStress(t *testing.T) {
	for seed := range uint64(scale.Count(50)) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) { stress(t, seed) })
	}
}

func stress(t *testing.T, seed uint64) {
	m := &moody{rng: rand.New(rand.NewPCG(seed, 0)), effects: make(map[string]int)}
	p := &puppet{turn: m.turn, describe: agent.Description{MultipleChats: true, Steering: true, ResumesTurns: true}}
	p.steer = func(ctx context.Context, _ *ahp.Message) bool { return m.intn(2) == 0 }
	start(t, p, Options{Limits: Limits{QueuedMessages: 5, DrainTimeout: 5 * time.Second}}, func(w *world, a *peer, session, chat ahp.URI) {
		chats := []ahp.URI{chat, "ahp-chat:/2", "ahp-chat:/3"}
		for _, c := range chats[1:] {
			a.result("createChat", fmt.Sprintf(`{"channel":%q,"chat":%q}`, session, c))
		}
		var clients []*wildClient
		var running sync.WaitGroup
		for i := range uint64(20) {
			c := &wildClient{w: w, p: w.dial(fmt.Sprint("w", i), append(chats, session)...), rng: rand.New(rand.NewPCG(seed, i+1)),
				session: session, chats: chats, cuts: i%4 == 0}
			clients = append(clients, c)
			running.Go(func() { c.run(120) })
		}
		running.Wait()
		synctest.Wait()
		for _, c := range clients {
			if !c.cuts {
				c.checkEchoes(t)
			}
		}
		w.end()
		m.check(t, p)
	})
}

// checkEchoes wants one envelope for each dispatch.
func (c *wildClient) checkEchoes(t *testing.T) {
	t.Helper()
	echoes := 0
	for _, msg := range c.p.take() {
		if strings.Contains(msg, fmt.Sprintf(`"origin":{"clientId":%q,`, c.p.name)) {
			echoes++
		}
	}
	if echoes != c.sent {
		t.Errorf("%s: %d echoes of %d dispatches", c.p.name, echoes, c.sent)
	}
}

func (m *moody) check(t *testing.T, p *puppet) {
	t.Helper()
	for call, n := range m.effects {
		if n != 1 {
			t.Errorf("call %s ran %d times", call, n)
		}
	}
	if len(m.effects) == 0 {
		t.Error("nothing was ever approved")
	}
	prompted := make(map[string]bool)
	for _, q := range p.prompts {
		if prompted[q.TurnID] && !q.Resume {
			t.Errorf("turn %s was prompted twice", q.TurnID)
		}
		prompted[q.TurnID] = true
	}
	if len(prompted) < 20 {
		t.Errorf("only %d turns were prompted", len(prompted))
	}
}
