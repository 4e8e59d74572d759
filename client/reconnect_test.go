package client_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/reducer"
)

// The tests here cut the link of a client at every point where it matters
// (cases 5, 97, 102, 109). The effect of an action is a prompt of the agent.

const latency = 50 * time.Millisecond

// typing is a client with a chat, over a link with latency.
type typing struct {
	*world
	c    *client.Client
	chat *client.Chat
}

func newTyping(t *testing.T, w *world) *typing {
	c := w.dial("laptop", client.Options{})
	_, chat := w.newSession(c)
	w.link("laptop").Set(simnet.Profile{Latency: latency})
	return &typing{w, c, chat}
}

// settled waits for an action and returns how it ended, then lets the world come
// to rest and checks what must always hold.
func (y *typing) settled(d interface{ Done() <-chan struct{} }) {
	y.t.Helper()
	select {
	case <-d.Done():
	case <-time.After(10 * time.Minute):
		y.t.Fatal("the action never ended")
	}
	waitState(y.t, y.c, client.Live)
	time.Sleep(time.Minute)
	wantSame(y.t, "chat", y.chat.State(), y.chatState(y.chat.URI()))
	if n := y.c.Stats().Pending; n != 0 {
		y.t.Errorf("%d actions pending", n)
	}
}

func (y *typing) wantEffects(n int) {
	y.t.Helper()
	if got := y.agent.prompted(); len(got) != n {
		y.t.Errorf("the agent was prompted %d times, want %d: %q", len(got), n, got)
	}
}

func (y *typing) start() (*client.Turn, *client.Dispatch) {
	turn := y.chat.Start(ahp.UserMessage("go"))
	return turn, client.DispatchOf(turn)
}

func TestCutBeforeTheHostReadsHasNoEffect(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		y := newTyping(t, w)
		turn, d := y.start()
		time.Sleep(latency / 2) // half-way to the host
		w.link("laptop").Cut()
		y.settled(d)
		wantErr(t, "action", d.Err(), client.ErrUnknownOutcome)
		_, err := turn.Wait(t.Context())
		wantErr(t, "turn", err, client.ErrUnknownOutcome)
		y.wantEffects(0)
	})
}

func TestCutAfterTheHostAppliedHasOneEffect(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		y := newTyping(t, w)
		w.link("laptop").Stall(simnet.Down)
		turn, d := y.start()
		time.Sleep(2 * latency)
		w.link("laptop").Cut()
		w.link("laptop").Resume()
		y.settled(d)
		if d.Err() != nil {
			t.Errorf("action: %v, want confirmed by the replay", d.Err())
		}
		must(turn.Wait(t.Context()))(t)
		y.wantEffects(1)
	})
}

func TestCutWithTheEchoOnTheWireHasOneEffect(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		y := newTyping(t, w)
		_, d := y.start()
		time.Sleep(latency + latency/2)
		w.link("laptop").Cut()
		y.settled(d)
		if d.Err() != nil {
			t.Errorf("action: %v, want confirmed by the replay", d.Err())
		}
		y.wantEffects(1)
	})
}

// The link is cut behind every byte of what the host sends after the first cut:
// the upgrade, the reconnect response, and what is live behind it.
func TestCutDuringTheReconnectResponseHasOneEffect(t *testing.T) {
	const bytes = 2000
	step := bytes / scale.Count(400)
	for at := 1; at <= bytes; at += step {
		bubble(t, func(t *testing.T, w *world) {
			y := newTyping(t, w)
			w.link("laptop").Stall(simnet.Down)
			turn, d := y.start()
			time.Sleep(2 * latency)
			w.link("laptop").Cut()
			w.link("laptop").Resume()
			w.link("laptop").CutAfter(simnet.Down, int64(at))
			y.settled(d)
			if d.Err() != nil {
				t.Errorf("cut after %d bytes: action: %v", at, d.Err())
			}
			must(turn.Wait(t.Context()))(t)
			y.wantEffects(1)
		})
	}
}

// Twenty actions wait for the connection, which breaks again behind every byte
// of their drain. What was written may be of unknown outcome, at most once each
// and in order; the rest goes out later.
func TestCutDuringTheDrainLosesAndDoublesNothing(t *testing.T) {
	const bytes = 6000
	step := bytes / scale.Count(400)
	for at := 1; at <= bytes; at += step {
		bubble(t, func(t *testing.T, w *world) { drain(t, w, at) })
	}
}

func drain(t *testing.T, w *world, at int) {
	y := newTyping(t, w)
	w.link("laptop").Cut()
	var list []*client.Dispatch
	for i := range 20 {
		message := ahp.UserMessage(fmt.Sprint(i))
		list = append(list, y.chat.Dispatch(&ahp.ChatPendingMessageSet{Kind: ahp.PendingSteering, ID: fmt.Sprint(i), Message: message}))
	}
	seen := collect(t, w, y.chat.URI())
	w.link("laptop").CutAfter(simnet.Up, int64(at))
	for _, d := range list {
		y.settled(d)
	}
	applied := seen()
	if !slices.IsSortedFunc(applied, func(a, b int) int { return a - b }) {
		t.Errorf("cut after %d bytes: applied in the order %v", at, applied)
	}
	for i, d := range list {
		times := 0
		for _, n := range applied {
			if n == i {
				times++
			}
		}
		switch {
		case d.Err() == nil && times != 1, times > 1:
			t.Errorf("cut after %d bytes: action %d ended %v and was applied %d times", at, i, d.Err(), times)
		case d.Err() != nil && !errors.Is(d.Err(), client.ErrUnknownOutcome):
			t.Errorf("cut after %d bytes: action %d ended %v", at, i, d.Err())
		}
	}
}

// collect follows a chat with a client of its own and returns the steering
// messages in the order in which the host applied them.
func collect(t *testing.T, w *world, chat ahp.URI) func() []int {
	t.Helper()
	c := w.dial("observer", client.Options{})
	watched := must(c.Chat(t.Context(), chat))(t)
	var ids []int
	done := make(chan struct{})
	go func() {
		defer close(done)
		for u, err := range watched.Updates(t.Context()) {
			if err != nil {
				return
			}
			if a, ok := u.Action.(*ahp.ChatPendingMessageSet); ok {
				var n int
				if _, err := fmt.Sscan(a.ID, &n); err != nil {
					t.Error(err)
				}
				ids = append(ids, n)
			}
		}
	}()
	return func() []int {
		_ = watched.Close()
		<-done
		return ids
	}
}

// Case 102: ten own actions, of which four were echoed, three applied with the
// echo lost, and three never arrived.
func TestTenActionsEndTruthfully(t *testing.T) {
	for _, by := range []string{"replay", "snapshot"} {
		t.Run(by, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) { tenActions(t, w, by) })
		})
	}
}

func tenActions(t *testing.T, w *world, by string) {
	if by == "snapshot" {
		restartWith(w, host.Limits{RingRecords: 1, ReplayBytes: 1})
	}
	y := newTyping(t, w)
	link := w.link("laptop")
	var list []*client.Dispatch
	send := func(n int) {
		for range n {
			_, d := y.chat.Queue(ahp.UserMessage(strings.Repeat("x", 600)))
			list = append(list, d)
		}
	}
	w.agent.turn = untilCancelled // so that nothing leaves the queue
	must(y.chat.Send(t.Context(), "hold"))(t)
	send(4)
	time.Sleep(time.Second)
	link.Stall(simnet.Down)
	send(3)
	time.Sleep(time.Second)
	link.Stall(simnet.Up)
	send(3)
	time.Sleep(time.Second)
	link.Cut()
	link.Resume()
	if n := len(y.chat.State().QueuedMessages); n != 10 {
		t.Errorf("%d messages visible during the loss, want 10", n)
	}
	for _, d := range list {
		y.settled(d)
	}
	if n := len(y.chat.State().QueuedMessages); n != 7 {
		t.Errorf("%d messages in the end, want 7", n)
	}
	for i, d := range list {
		// A snapshot does not tell what it contains of ours.
		unknown := i >= 7 || by == "snapshot" && i >= 4
		if got := errors.Is(d.Err(), client.ErrUnknownOutcome); got != unknown || !unknown && d.Err() != nil {
			t.Errorf("action %d: %v", i, d.Err())
		}
	}
	if s := y.c.Stats(); (s.Snapshots > 0) != (by == "snapshot") {
		t.Errorf("reconnected by %+v, want %s", s, by)
	}
}

// restartWith replaces the host by one with limits.
func restartWith(w *world, limits host.Limits) {
	w.stop()
	w.opts.Limits = limits
	w.start()
}

// Case 109: actions made without a connection stay visible over the refresh and
// go out after it; one of them is refused, none is silently gone.
func TestOfflineActionsSurviveTheRefresh(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		restartWith(w, host.Limits{RingRecords: 1, ReplayBytes: 1})
		y := newTyping(t, w)
		other := w.dial("desk", client.Options{})
		theirs := must(other.Chat(t.Context(), y.chat.URI()))(t)
		w.link("laptop").Refuse(true)
		w.link("laptop").Cut()
		waitState(t, y.c, client.Reconnecting)

		refused := y.chat.Dispatch(&ahp.ChatPendingMessageRemoved{Kind: ahp.PendingQueued, ID: "none"})
		var kept []*client.Dispatch
		for i := range 4 {
			kept = append(kept, y.chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(fmt.Sprint(i))}))
		}
		for range 50 { // more than the ring holds
			if err := theirs.Dispatch(&ahp.ChatIsReadChanged{IsRead: true}).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := theirs.Dispatch(&ahp.ChatIsReadChanged{}).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if d := y.chat.State().Draft; d == nil || d.Text != "3" || len(y.chat.Unconfirmed()) != 5 {
			t.Errorf("draft %v, %d unconfirmed", d, len(y.chat.Unconfirmed()))
		}
		w.link("laptop").Refuse(false)
		y.settled(kept[3])
		var rejected *client.RejectedError
		if !errors.As(refused.Err(), &rejected) {
			t.Errorf("first action: %v, want a rejection", refused.Err())
		}
		for i, d := range kept {
			if d.Err() != nil {
				t.Errorf("action %d: %v", i, d.Err())
			}
		}
		if d := theirs.State().Draft; d == nil || d.Text != "3" {
			t.Errorf("the other client sees the draft %v", d)
		}
	})
}

// Case 113: a rejection reaches every view of the client that made the action,
// and changes nothing for others.
func TestRejectionReachesEveryViewOfTheClient(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c, other := w.dial("laptop", client.Options{}), w.dial("desk", client.Options{})
		_, chat := w.newSession(c)
		second := must(c.Chat(t.Context(), chat.URI()))(t)
		theirs := must(other.Chat(t.Context(), chat.URI()))(t)
		before := theirs.State()
		w.link("laptop").Stall(simnet.Up)
		// The host never lets a client start a turn without a text.
		turn := chat.Start(ahp.UserMessage(" "))
		for _, view := range []*client.Chat{chat, second} {
			if view.State().ActiveTurn == nil {
				t.Error("a view does not show the own action")
			}
		}
		w.link("laptop").Resume()
		var rejected *client.RejectedError
		if err := turn.Accepted(t.Context()); !errors.As(err, &rejected) {
			t.Errorf("turn: %v, want a rejection", err)
		}
		for _, view := range []*client.Chat{chat, second} {
			if view.State().ActiveTurn != nil {
				t.Error("a view still shows the rejected action")
			}
		}
		if theirs.State() != before {
			t.Error("the rejection changed the state of another client")
		}
	})
}

func TestTwoClientsTypingAtOnceConverge(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c, other := w.dial("laptop", client.Options{}), w.dial("desk", client.Options{})
		_, chat := w.newSession(c)
		theirs := must(other.Chat(t.Context(), chat.URI()))(t)
		w.link("laptop").Set(simnet.Profile{Latency: latency})
		w.link("desk").Set(simnet.Profile{Latency: 3 * latency, Jitter: latency})
		var last []*client.Dispatch
		for i := range 30 {
			a := chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(fmt.Sprint("a", i))})
			b := theirs.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(fmt.Sprint("b", i))})
			if chat.State().Draft.Text != fmt.Sprint("a", i) || theirs.State().Draft.Text != fmt.Sprint("b", i) {
				t.Error("what is typed does not show")
			}
			last = []*client.Dispatch{a, b}
			time.Sleep(latency / 5)
		}
		for _, d := range last {
			if err := d.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute)
		wantSame(t, "laptop", chat.State(), w.chatState(chat.URI()))
		wantSame(t, "desk", theirs.State(), w.chatState(chat.URI()))
	})
}

// AHP core, 8.1: a volatile channel is not replayed but missing, and the client
// subscribes to it again at once.
func TestVolatileChannelIsFreshOneRoundTripAfterTheReconnect(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		uri := ahp.URI(ahp.ResourceWatchPrefix + "1")
		root := func(text string) *ahp.ResourceWatchState { return &ahp.ResourceWatchState{Root: text} }
		if err := w.h.Create(uri, root("before"), ""); err != nil {
			t.Fatal(err)
		}
		c := w.dial("laptop", client.Options{})
		watch := must(c.Subscribe(t.Context(), uri, client.SubscribeOptions{}))(t)
		session, _ := w.newSession(c)
		wantErr(t, "title", session.SetTitle("seen").Wait(t.Context()), nil) // a number newer than every channel
		w.link("laptop").Set(simnet.Profile{Latency: latency})
		w.link("laptop").Cut()
		w.h.Remove(uri)
		if err := w.h.Create(uri, root("after"), ""); err != nil {
			t.Fatal(err)
		}
		waitBack(t, c)
		live := time.Now()
		err := watch.Wait(t.Context(), func(s any) bool { return s.(*ahp.ResourceWatchState).Root == "after" })
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(live); took > 2*latency {
			t.Errorf("fresh after %v, want one round trip", took)
		}
		if s := c.Stats(); s.Replays != 1 || session.Err() != nil {
			t.Errorf("reconnected by %+v; session: %v", s, session.Err())
		}
	})
}

func TestVolatileChannelThatIsGoneEnds(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		uri := ahp.URI(ahp.ResourceWatchPrefix + "1")
		if err := w.h.Create(uri, reducer.New(ahp.KindResourceWatch), ""); err != nil {
			t.Fatal(err)
		}
		c := w.dial("laptop", client.Options{})
		watch := must(c.Subscribe(t.Context(), uri, client.SubscribeOptions{}))(t)
		w.link("laptop").Cut()
		w.h.Remove(uri)
		<-watch.Done()
		wantErr(t, "channel", watch.Err(), client.ErrChannelGone)
	})
}

// Case 20: the host is killed in mid-turn and comes back without memory.
func TestHostKilledAndRestarted(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.agent.turn = untilCancelled
		c := w.dial("laptop", client.Options{})
		list := must(c.Sessions(t.Context()))(t)
		_, chat := w.newSession(c)
		turn := must(chat.Send(t.Context(), "go"))(t)
		synctest.Wait()
		if n := len(list.Items()); n != 1 || !list.Fresh() {
			t.Errorf("%d sessions, fresh %v", n, list.Fresh())
		}
		w.kill("laptop")
		synctest.Wait()
		if s := c.Status(); s.State != client.Reconnecting || s.Err == nil || list.Fresh() {
			t.Errorf("status %v, list fresh %v while the host is dead", s, list.Fresh())
		}
		time.Sleep(time.Hour)
		down := c.Status()
		if down.State != client.Reconnecting || time.Since(down.Since) < time.Hour {
			t.Errorf("status %v since %v", down, time.Since(down.Since))
		}
		w.start()
		_, err := turn.Wait(t.Context())
		wantErr(t, "turn", err, client.ErrChannelGone)
		waitState(t, c, client.Live)
		synctest.Wait()
		if n := len(list.Items()); n != 0 || !list.Fresh() {
			t.Errorf("%d sessions, fresh %v after the restart", n, list.Fresh())
		}
		_, again := w.newSession(c) // the client itself goes on
		w.agent.turn = nil
		turn = must(again.Send(t.Context(), "hello"))(t)
		must(turn.Wait(t.Context()))(t)
	})
}

// Case 32: the network is pulled without a word.
func TestSilentNetworkIsNoticedAndHealed(t *testing.T) {
	// When only the way up is dead the client still hears the host's pings, and it
	// is the host that misses the answers and ends the connection.
	const clientNotices, hostNotices = 45 * time.Second, 65 * time.Second
	for name, c := range map[string]struct {
		ds    []simnet.Direction
		limit time.Duration
	}{
		"both": {nil, clientNotices},
		"down": {[]simnet.Direction{simnet.Down}, clientNotices},
		"up":   {[]simnet.Direction{simnet.Up}, hostNotices},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				y := newTyping(t, w)
				w.link("laptop").Stall(c.ds...)
				pulled := time.Now()
				waitState(t, y.c, client.Reconnecting)
				if took := time.Since(pulled); took > c.limit {
					t.Errorf("noticed after %v", took)
				}
				d := y.chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage("typed in the dark")})
				time.Sleep(2 * time.Minute)
				w.link("laptop").Resume()
				y.settled(d)
				if d.Err() != nil {
					t.Errorf("action: %v", d.Err())
				}
			})
		})
	}
}
