package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
)

// Case 3: replayed envelopes travel the way of live ones: three listeners on two
// channels see the fifty of the gap once, in order, before what is live.
func TestReplayTakesTheWayOfLiveUpdates(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		s, chat := w.newSession(c)
		var all sync.WaitGroup
		seen := make([][]uint64, 3)
		listen := func(i int, h *client.Channel) {
			all.Go(func() {
				for u, err := range h.Updates(t.Context()) {
					if err != nil {
						return
					}
					if u.Kind == client.Applied && len(u.Envelope) > 0 {
						seen[i] = append(seen[i], u.ServerSeq)
					}
				}
			})
		}
		listen(0, chat.Channel)
		listen(1, chat.Channel)
		listen(2, s.Channel)
		synctest.Wait()
		change := func(from, to int) (a []uint64) {
			for i := from; i < to; i++ {
				w.h.Apply(chat.URI(), &ahp.ChatDraftChanged{Draft: ahp.UserMessage(fmt.Sprint(i))})
				a = append(a, w.h.Seq())
			}
			return a
		}
		rename := func(from, to int) (a []uint64) {
			for i := from; i < to; i++ {
				w.h.Apply(s.URI(), &ahp.SessionTitleChanged{Title: fmt.Sprint(i)})
				a = append(a, w.h.Seq())
			}
			return a
		}
		chats, sessions := change(0, 5), rename(0, 5)
		synctest.Wait()
		w.link("laptop").Cut()
		chats, sessions = append(chats, change(5, 55)...), append(sessions, rename(5, 55)...)
		waitBack(t, c)
		chats, sessions = append(chats, change(55, 60)...), append(sessions, rename(55, 60)...)
		synctest.Wait()
		_ = chat.Close()
		_ = s.Close()
		all.Wait()
		for i, want := range [][]uint64{chats, chats, sessions} {
			if !slices.Equal(seen[i], want) {
				t.Errorf("listener %d saw\n     %v\nwant %v", i, seen[i], want)
			}
		}
		if n := c.Stats().Replays; n != 1 {
			t.Errorf("%d replays, want 1", n)
		}
	})
}

// collectKinds follows a channel and returns what it has seen so far.
func collectKinds(ctx context.Context, h *client.Channel) func() []client.Update {
	var mu sync.Mutex
	var list []client.Update
	go func() {
		for u, err := range h.Updates(ctx) {
			if err != nil {
				return
			}
			mu.Lock()
			list = append(list, u)
			mu.Unlock()
		}
	}()
	return func() []client.Update {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

func TestUpdatesTellTheLifeOfAnAction(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		s, chat := w.newSession(c)
		seen := collectKinds(t.Context(), s.Channel)
		kept := collectKinds(t.Context(), chat.Channel)
		seen()
		if err := s.SetTitle("mine").Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		refused := chat.Unqueue("nothing").Wait(t.Context())
		w.link("laptop").Stall()
		lost := s.SetTitle("lost")
		synctest.Wait()
		w.link("laptop").Cut()
		w.link("laptop").Resume()
		wantErr(t, "lost", lost.Wait(t.Context()), client.ErrUnknownOutcome)

		wantUpdates(t, seen(), "snapshot 0", "pending 1", "confirmed 0", "pending 1", "dropped 0")
		last := seen()[4]
		if !errors.Is(last.Err, client.ErrUnknownOutcome) || last.State.(*ahp.SessionState).Title != "mine" {
			t.Errorf("dropped: %v, title %q", last.Err, last.State.(*ahp.SessionState).Title)
		}
		updates := kept()
		wantUpdates(t, updates, "snapshot 0", "pending 1", "rejected 0")
		if u := updates[2]; u.Err.Error() != refused.Error() || u.ServerSeq == 0 || len(u.Envelope) == 0 {
			t.Errorf("rejected: %+v", u)
		}
	})
}

// wantUpdates compares kinds and numbers of unconfirmed actions.
func wantUpdates(t *testing.T, got []client.Update, want ...string) {
	t.Helper()
	var text []string
	for _, u := range got {
		text = append(text, fmt.Sprintf("%v %d", u.Kind, u.Unconfirmed))
	}
	if !slices.Equal(text, want) {
		t.Errorf("updates %q, want %q", text, want)
	}
}

// An own action is confirmed by its echo, also when something foreign is first.
func TestForeignActionsAreShownUnderOwnOnes(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		s, _ := w.newSession(c)
		seen := collectKinds(t.Context(), s.Channel)
		seen()
		w.link("laptop").Stall()
		s.SetTitle("mine")
		w.h.Apply(s.URI(), &ahp.SessionTitleChanged{Title: "theirs"})
		w.link("laptop").Resume()
		updates := seen()
		wantUpdates(t, updates, "snapshot 0", "pending 1", "applied 1", "confirmed 0")
		for _, u := range updates[1:] {
			if title := u.State.(*ahp.SessionState).Title; title != "mine" {
				t.Errorf("%v shows %q, want the own title throughout", u.Kind, title)
			}
		}
	})
}

func TestSlowReaderIsToldAndGoesOnFromASnapshot(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		_ = chat.Close()
		chat = must(c.ChatView(t.Context(), chat.URI(), client.SubscribeOptions{Buffer: 4}))(t)
		draft := func(n int) {
			w.h.Apply(chat.URI(), &ahp.ChatDraftChanged{Draft: ahp.UserMessage(fmt.Sprint(n))})
		}
		var got []string
		for u, err := range chat.Updates(t.Context()) {
			switch {
			case errors.Is(err, client.ErrSlowReader):
				got = append(got, "slow")
				continue
			case err != nil:
				t.Fatal(err)
			}
			text := "none"
			if d := u.State.(*ahp.ChatState).Draft; d != nil {
				text = d.Text
			}
			got = append(got, fmt.Sprintf("%v %s", u.Kind, text))
			switch len(got) {
			case 1:
				for n := range 10 { // more than the buffer holds
					draft(n)
				}
				synctest.Wait()
			case 3:
				draft(10)
			}
			if text == "10" {
				break
			}
		}
		want := []string{"snapshot none", "slow", "snapshot 9", "applied 10"}
		if !slices.Equal(got, want) {
			t.Errorf("updates %q, want %q", got, want)
		}
		if n := c.Stats().SlowReaders; n != 1 {
			t.Errorf("%d slow readers counted", n)
		}
	})
}

// A replay is one piece, and longer than the buffer of a reader that keeps up.
func TestReplayIsNeverTooMuchForAReader(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		_ = chat.Close()
		chat = must(c.ChatView(t.Context(), chat.URI(), client.SubscribeOptions{Buffer: 4}))(t)
		seen := collectKinds(t.Context(), chat.Channel)
		w.link("laptop").Cut()
		for n := range 100 {
			w.h.Apply(chat.URI(), &ahp.ChatDraftChanged{Draft: ahp.UserMessage(fmt.Sprint(n))})
		}
		waitBack(t, c)
		if n := len(seen()); n != 101 || c.Stats().SlowReaders != 0 {
			t.Errorf("%d updates, %d slow readers", n, c.Stats().SlowReaders)
		}
	})
}

func TestUpdatesEndWithTheirReason(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		s, chat := w.newSession(c)
		ends := func(what string, h *client.Channel, ctx context.Context, act func(), want error) {
			t.Helper()
			var last error
			n := 0
			for _, err := range h.Updates(ctx) {
				if n++; n == 1 {
					act()
				}
				last = err
			}
			wantErr(t, what, last, want)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		ends("cancelled", chat.Channel, ctx, func() { cancel(why) }, why)
		second := must(c.Chat(t.Context(), chat.URI()))(t)
		ends("handle closed", second.Channel, t.Context(), func() { _ = second.Close() }, client.ErrClosed)
		if chat.Err() != nil {
			t.Errorf("the other handle ended as well: %v", chat.Err())
		}
		ends("disposed", s.Channel, t.Context(), func() {
			must(c.Root(t.Context()))(t)
			if err := c.DisposeSession(t.Context(), s.URI()); err != nil {
				t.Error(err)
			}
		}, client.ErrChannelGone)
		ends("of what is gone", s.Channel, t.Context(), func() {}, client.ErrChannelGone)
		root := must(c.Root(t.Context()))(t)
		ends("client closed", root.Channel, t.Context(), func() { go c.Close() }, client.ErrClosed)
	})
}

func TestLastHandleUnsubscribes(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		s, chat := w.newSession(c)
		second := must(c.Chat(t.Context(), chat.URI()))(t)
		_ = chat.Close()
		_ = chat.Close() // once more is allowed
		wantErr(t, "action of a closed handle", chat.Dispatch(&ahp.ChatIsReadChanged{}).Err(), client.ErrClosed)
		if err := second.Dispatch(&ahp.ChatIsReadChanged{IsRead: true}).Wait(t.Context()); err != nil {
			t.Errorf("the other handle: %v", err)
		}
		w.link("laptop").Stall()
		d := second.Dispatch(&ahp.ChatIsReadChanged{})
		synctest.Wait()
		_ = second.Close()
		wantErr(t, "action under way", d.Err(), client.ErrUnknownOutcome)
		wantErr(t, "wait on a closed handle", second.Wait(t.Context(), func(any) bool { return false }), client.ErrClosed)
		w.link("laptop").Resume()
		third := must(c.Chat(t.Context(), chat.URI()))(t)
		wantSame(t, "subscribed again", third.State(), w.chatState(chat.URI()))
		if s.Err() != nil {
			t.Error(s.Err())
		}
	})
}

// Two handles of a channel share one subscription on the wire and one state.
func TestHandlesShareOneSubscription(t *testing.T) {
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, _ chan *scripted) {
		first := subscribeScripted(t, c, h, "title", 1)
		second := must(c.Session(t.Context(), sessionURI))(t)
		h.titled("theirs", 2)
		synctest.Wait()
		if first.State() != second.State() || second.State().Title != "theirs" {
			t.Errorf("two states: %+v and %+v", first.State(), second.State())
		}
		first.SetTitle("mine")
		if first.State() != second.State() || second.State().Title != "mine" {
			t.Errorf("two states: %+v and %+v", first.State(), second.State())
		}
		if m := h.next(t); !strings.Contains(m, `"dispatchAction"`) {
			t.Errorf("received %s, want the action and no second subscribe", m)
		}
		_ = first.Close()
		_ = first.Close()
		synctest.Wait()
		if n := len(h.messages); n != 0 {
			t.Errorf("%d messages when a handle of two was closed: %s", n, h.next(t))
		}
		_ = second.Close()
		h.want(t, `{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-session:/s"}}`)
	})
}

func TestSubscribeCanBeGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		_ = chat.Close()
		w.link("laptop").Stall()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Chat(ctx, chat.URI())
		wantErr(t, "subscribe", err, context.DeadlineExceeded)
		w.link("laptop").Resume()
		again := must(c.Chat(t.Context(), chat.URI()))(t)
		if err := again.Dispatch(&ahp.ChatIsReadChanged{IsRead: true}).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		wantSame(t, "state", again.State(), w.chatState(chat.URI()))
	})
}

// The protocol tells the end of a session to those who follow the root, and that
// of a chat to those who follow its session. A range over one alone ends too.
func TestUpdatesEndWithTheSession(t *testing.T) {
	for _, kind := range []ahp.Kind{ahp.KindChat, ahp.KindSession} {
		bubble(t, func(t *testing.T, w *world) {
			c, other := w.dial("laptop", client.Options{}), w.dial("desk", client.Options{})
			s, chat := w.newSession(c)
			uri := chat.URI()
			if kind == ahp.KindSession {
				uri = s.URI()
			}
			theirs := must(other.Subscribe(t.Context(), uri, client.SubscribeOptions{}))(t)
			ended := make(chan error, 1)
			go func() {
				var last error
				for _, err := range theirs.Updates(t.Context()) {
					last = err
				}
				ended <- last
			}()
			time.Sleep(10 * time.Minute) // quiet, and still there
			select {
			case err := <-ended:
				t.Fatalf("%s: ended with %v while it existed", kind, err)
			default:
			}
			if err := c.DisposeSession(t.Context(), s.URI()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
			select {
			case err := <-ended:
				wantErr(t, string(kind), err, client.ErrChannelGone)
			default:
				t.Errorf("%s: the range has not ended", kind)
			}
			if n := other.Stats().Connections; n != 1 {
				t.Errorf("%s: %d connections, want 1", kind, n)
			}
		})
	}
}
