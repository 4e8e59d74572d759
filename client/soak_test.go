package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/internal/simnet"
)

// TestClientsConvergeOverABadNetwork lets three clients type while their links
// stall, break at once or behind some byte, are slow or split messages, and the
// host answers reconnects by replay or by snapshots. In the end all agree with
// the host, and every action ended once and truthfully.
func TestClientsConvergeOverABadNetwork(t *testing.T) {
	for seed := range scale.Count(300) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(7, uint64(seed)))
				w := &world{t: t, net: simnet.New(uint64(seed)), agent: newPuppet()}
				if rng.IntN(2) == 0 { // a ring that is often too short
					w.opts.Limits = host.Limits{RingRecords: 3, ReplayBytes: 1}
				}
				w.start()
				t.Cleanup(w.stop)
				soak(t, w, rng)
			})
		})
	}
}

type typist struct {
	name    string
	c       *client.Client
	chat    *client.Chat
	actions []*client.Dispatch
}

func soak(t *testing.T, w *world, rng *rand.Rand) {
	var typists []*typist
	for n := range 3 {
		p := &typist{name: fmt.Sprint("desk-", n)}
		p.c = w.dial(p.name, client.Options{})
		if n == 0 {
			_, p.chat = w.newSession(p.c)
		} else {
			p.chat = must(p.c.Chat(t.Context(), typists[0].chat.URI()))(t)
		}
		typists = append(typists, p)
	}
	for step := range 60 {
		p := typists[rng.IntN(len(typists))]
		link := w.link(p.name)
		switch rng.IntN(14) {
		case 0:
			link.Cut()
		case 1:
			link.CutAfter(simnet.Direction(rng.IntN(2)), 1+rng.Int64N(3000))
		case 2:
			link.Stall(simnet.Direction(rng.IntN(2)))
		case 3, 4:
			link.Resume()
		case 5:
			link.Set(simnet.Profile{
				Latency: upTo(rng, 200*time.Millisecond), Jitter: upTo(rng, 50*time.Millisecond), MaxPieceBytes: rng.IntN(100),
			})
		case 6, 7:
			time.Sleep(upTo(rng, time.Minute))
		default:
			p.act(rng, step)
		}
	}
	for _, p := range typists {
		w.link(p.name).CutAfter(simnet.Up, 1<<40)
		w.link(p.name).CutAfter(simnet.Down, 1<<40)
		w.link(p.name).Resume()
	}
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	for _, p := range typists {
		p.check(t, w)
	}
}

func upTo(rng *rand.Rand, d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }

func (p *typist) act(rng *rand.Rand, step int) {
	id := fmt.Sprint(p.name, "-", step)
	switch rng.IntN(4) {
	case 0:
		p.actions = append(p.actions, p.chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(id)}))
	case 1:
		p.actions = append(p.actions, p.chat.Unqueue("never there")) // always refused
	default:
		a := &ahp.ChatPendingMessageSet{Kind: ahp.PendingSteering, ID: id, Message: ahp.UserMessage(id)}
		p.actions = append(p.actions, p.chat.Dispatch(a))
	}
}

func (p *typist) check(t *testing.T, w *world) {
	t.Helper()
	if s := p.c.Status(); s.State != client.Live {
		t.Fatalf("%s is %v", p.name, s)
	}
	wantSame(t, p.name, p.chat.State(), w.chatState(p.chat.URI()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n, d := range p.actions {
		err := d.Wait(ctx)
		var rejected *client.RejectedError
		_, hopeless := d.Action().(*ahp.ChatPendingMessageRemoved)
		switch {
		case errors.Is(err, client.ErrUnknownOutcome):
		case hopeless != errors.As(err, &rejected), !hopeless && err != nil:
			t.Errorf("%s: action %d ended %v", p.name, n, err)
		}
	}
}
