package cases

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/internal/simnet"
)

// How long each end may take to notice that the network is silent: its pings,
// and its patience for the answers.
const (
	clientNotices = 45 * time.Second
	hostNotices   = 65 * time.Second
	// goodbye is how long the end of a connection may wait for a last answer.
	goodbye = 5 * time.Second
)

// A peer that falls silent without a word is noticed, and the host keeps nothing
// of its connection (32).
func TestTheHostDropsWhoFallsSilent(t *testing.T) {
	for name, dark := range map[string][]simnet.Direction{
		"both": nil, "to the host": {simnet.Up}, "from the host": {simnet.Down},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
				c := w.client("laptop")
				chat := w.chat(c)
				if n := w.connections(); n != 1 {
					t.Fatalf("%v connections", n)
				}
				w.link("laptop").Stall(dark...)
				w.net.Link("laptop", hostAddr).Refuse(true)
				time.Sleep(hostNotices)
				synctest.Wait()
				if n := w.connections(); n != 0 {
					t.Errorf("%v connections %v after the silence began", n, hostNotices)
				}
				if s := c.Status(); s.State != client.Reconnecting {
					t.Errorf("the client is %v", s)
				}
				time.Sleep(2*time.Minute - hostNotices)
				w.link("laptop").Refuse(false)
				w.link("laptop").Resume()
				waitState(t, c, client.Live)
				w.turn(chat, "1")
			})
		})
	}
}

// A client that changes to another network goes on there, while the host still
// holds its old connection for a live one; that one is closed at once (32).
func TestANewNetworkTakesOverFromADeadOne(t *testing.T) {
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		var place atomic.Value
		place.Store("cable")
		c := w.clientWith(client.Options{ClientID: "laptop", Dialer: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return w.net.Dial(ctx, place.Load().(string), addr)
		}})
		chat := w.chat(c)
		w.link("cable").Stall()
		place.Store("radio")
		pulled := time.Now()
		waitState(t, c, client.Reconnecting)
		d := chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage("typed meanwhile")})
		waitState(t, c, client.Live)
		if took := time.Since(pulled); took > clientNotices {
			t.Errorf("live again after %v", took)
		}
		if time.Since(pulled)+goodbye >= hostNotices {
			t.Error("by now the host has noticed by itself")
		}
		time.Sleep(goodbye)
		if n, replaced := w.connections(), w.closes("replaced"); n != 1 || replaced != 1 {
			t.Errorf("%v connections, %v replaced; want the new one alone", n, replaced)
		}
		if err := d.Wait(t.Context()); err != nil {
			t.Errorf("what was typed meanwhile: %v", err)
		}
		w.turn(chat, "1")
		if s := c.Stats(); s.Replays != 1 {
			t.Errorf("reconnected by %+v, want a replay", s)
		}
	})
}

// A turn that nobody watches is neither dropped nor shown as running for ever:
// lists follow it, and who comes back finds all of it (11).
func TestATurnThatNobodyWatchesIsKept(t *testing.T) {
	var goOn chan struct{}
	long := func(ctx context.Context, a *actor, p agent.Prompt) agent.Outcome {
		_ = a.Emit(ctx, agent.Text{TurnID: p.TurnID, Text: "begun, "})
		<-goOn
		_ = a.Emit(ctx, agent.Text{TurnID: p.TurnID, Text: "done"})
		return agent.Outcome{}
	}
	bubble(t, long, func(t *testing.T, w *world) {
		goOn = make(chan struct{}) // of this bubble
		author, watcher := w.client("author"), w.client("watcher")
		list := must(watcher.Sessions(t.Context()))(t)
		chat := w.chat(author)
		must(chat.Send(t.Context(), "go"))(t)
		uri := chat.URI()
		_ = author.Close()
		time.Sleep(time.Hour)
		wantListed(t, "while it runs", list.Items(), ahp.StatusInProgress)
		close(goOn)
		synctest.Wait()
		wantListed(t, "after its end", list.Items(), ahp.StatusIdle)

		late := w.client("late")
		wantListed(t, "to a newcomer", must(late.Sessions(t.Context()))(t).Items(), ahp.StatusIdle)
		back := must(late.Chat(t.Context(), uri))(t)
		if got := text(back.State()); got != "begun, done" {
			t.Errorf("the turn reads %q", got)
		}
	})
}

func wantListed(t *testing.T, when string, items []ahp.SessionSummary, want ahp.Status) {
	t.Helper()
	if len(items) != 1 || items[0].Status.Activity() != want {
		t.Errorf("%s: listed as %+v, want one session of status %d", when, items, want)
	}
}

// A session asked for again after its answer was lost is the same session (7).
func TestASessionAskedForTwiceIsOne(t *testing.T) {
	const create = `{"channel":"ahp-session:/chosen"}`
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		first, _ := w.greeted("a")
		w.link("a").Stall(simnet.Down)
		first.say(`{"jsonrpc":"2.0","id":2,"method":"createSession","params":` + create + `}`)
		synctest.Wait()
		w.link("a").Cut()
		w.link("a").Resume()
		again := w.raw("a")
		if m := again.ask("1", "reconnect", `{"channel":"ahp-root://","clientId":"a","lastSeenServerSeq":0,"subscriptions":[]}`); !strings.Contains(m, `"result"`) {
			t.Fatalf("reconnect: %s", m)
		}
		if m := again.ask("2", "createSession", create); !strings.Contains(m, `"code":-32003`) {
			t.Errorf("the second creation is answered with %s", m)
		}
		if m := again.ask("3", "listSessions", `{"channel":"ahp-root://"}`); strings.Count(m, `"resource"`) != 1 {
			t.Errorf("listed: %s", m)
		}
	})
}
