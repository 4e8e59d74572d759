package client_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/go-json-experiment/json/jsontext"
)

// hostSession makes a session on the host itself.
func (w *world) hostSession(n int) ahp.URI {
	w.t.Helper()
	uri := fmt.Sprintf("%s%03d", ahp.SessionPrefix, n)
	s := reducer.New(ahp.KindSession).(*ahp.SessionState)
	s.Title, s.Lifecycle = fmt.Sprint("session ", n), ahp.LifecycleReady
	s.ActiveClients, s.Chats = []ahp.SessionActiveClient{}, []ahp.ChatSummary{}
	if err := w.h.Create(uri, s, ""); err != nil {
		w.t.Fatal(err)
	}
	return uri
}

// wantList compares a list with the host's.
func wantList(t *testing.T, c *client.Client, list *client.SessionList) {
	t.Helper()
	synctest.Wait()
	var want []ahp.SessionSummary
	for s, err := range c.ListSessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, s)
	}
	if !list.Fresh() {
		t.Error("the list is not fresh")
	}
	wantSame(t, "list", list.Items(), append([]ahp.SessionSummary{}, want...))
}

// Case 18: the list is the host's after connecting, in between, and after what
// happened while the client was away.
func TestSessionListFollowsTheHost(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		restartWith(w, host.Limits{PageSize: 3})
		var uris []ahp.URI
		for n := range 10 {
			uris = append(uris, w.hostSession(n))
		}
		c := w.dial("laptop", client.Options{})
		list := must(c.Sessions(t.Context()))(t)
		if n := len(list.Items()); n != 10 {
			t.Errorf("%d sessions after connecting", n)
		}
		wantList(t, c, list)

		change := func(k int) {
			w.hostSession(100 + k)
			w.h.Apply(uris[k], &ahp.SessionTitleChanged{Title: "renamed"})
			w.h.Apply(uris[k], &ahp.SessionActivityChanged{Activity: new("busy")})
			w.h.Apply(uris[k+1], &ahp.SessionActivityChanged{Activity: new("busy")})
			w.h.Apply(uris[k+1], &ahp.SessionActivityChanged{})
			w.h.Remove(uris[k+2])
		}
		change(0)
		wantList(t, c, list)

		w.link("laptop").Refuse(true)
		w.link("laptop").Cut()
		waitState(t, c, client.Reconnecting)
		change(3)
		if list.Fresh() || len(list.Items()) != 10 {
			t.Errorf("fresh %v, %d sessions while away", list.Fresh(), len(list.Items()))
		}
		w.link("laptop").Refuse(false)
		waitState(t, c, client.Live)
		wantList(t, c, list)
		list.Close()
		for _, err := range list.Updates(t.Context()) {
			wantErr(t, "updates of a closed list", err, client.ErrClosed)
		}
	})
}

// The list is right although much changes while its pages are on the way.
func TestSessionListIsRightWhilePagesAreOnTheWay(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		restartWith(w, host.Limits{PageSize: 2})
		var uris []ahp.URI
		for n := range 20 {
			uris = append(uris, w.hostSession(n))
		}
		c := w.dial("laptop", client.Options{})
		w.link("laptop").Set(simnet.Profile{Latency: latency})
		var churn sync.WaitGroup
		churn.Go(func() {
			for n := range 20 {
				time.Sleep(latency / 2)
				w.h.Apply(uris[n], &ahp.SessionTitleChanged{Title: fmt.Sprint("renamed ", n)})
				w.hostSession(100 + n)
				if n%3 == 0 {
					w.h.Remove(uris[n])
				}
			}
		})
		list := must(c.Sessions(t.Context()))(t)
		churn.Wait()
		time.Sleep(time.Second)
		wantList(t, c, list)
	})
}

// Case 19: a session the client creates itself is one row at every instant,
// whichever of notification and result is first.
func TestOwnSessionIsOneRowInAnyOrder(t *testing.T) {
	const added = `{"jsonrpc":"2.0","method":"root/sessionAdded","params":{"channel":"ahp-root://","summary":{"resource":"ahp-session:/s","provider":"p","title":"new","status":1,"createdAt":"2026-10-01T00:00:00.000Z","modifiedAt":"2026-10-01T00:00:00.000Z"}}}`
	for _, order := range []string{"before", "after", "twice"} {
		t.Run(order, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hosts := make(chan *scripted, 1)
				c := client.New(t.Context(), scriptedHost(hosts), client.Options{})
				defer c.Close()
				h := <-hosts
				h.welcome(t)
				go func() {
					h.answer(t, "subscribe", `{"snapshot":{"resource":"ahp-root://","state":{"agents":[]},"fromSeq":0}}`)
					h.answer(t, "listSessions", `{"items":[]}`)
				}()
				if err := c.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				list := must(c.Sessions(t.Context()))(t)
				var lengths []int
				var watching sync.WaitGroup
				watching.Go(func() {
					for items, err := range list.Updates(t.Context()) {
						if err != nil {
							return
						}
						lengths = append(lengths, len(items))
					}
				})
				created := make(chan error, 1)
				go func() {
					p := ahp.CreateSessionParams{Channel: sessionURI}
					created <- c.Call(t.Context(), ahp.MethodCreateSession, p, nil)
				}()
				id := h.request(t, "createSession")
				if order != "after" {
					h.send(added)
				}
				synctest.Wait()
				h.send(`{"jsonrpc":"2.0","id":%s,"result":null}`, id)
				if err := <-created; err != nil {
					t.Error(err)
				}
				if order != "before" {
					h.send(added)
				}
				synctest.Wait()
				list.Close()
				watching.Wait()
				if slices.Max(lengths) != 1 {
					t.Errorf("list lengths %v", lengths)
				}
			})
		})
	}
}

func TestListingIsTriedAgainWhenTheHostFailsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := make(chan *scripted, 1)
		c := client.New(t.Context(), scriptedHost(hosts), client.Options{})
		defer c.Close()
		h := <-hosts
		h.welcome(t)
		go func() {
			h.answer(t, "subscribe", `{"snapshot":{"resource":"ahp-root://","state":{"agents":[]},"fromSeq":0}}`)
			h.fail(t, "listSessions", -32603, "not now")
			h.answer(t, "listSessions", `{"items":[]}`)
		}()
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if list := must(c.Sessions(t.Context()))(t); !list.Fresh() {
			t.Error("not fresh")
		}
	})
}

func TestNotificationsReachTheirListeners(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		must(c.Root(t.Context()))(t)
		var got []string
		remove := c.OnNotification(ahp.MethodSessionRemoved, func(params jsontext.Value) { got = append(got, string(params)) })
		w.h.Remove(w.hostSession(1))
		synctest.Wait()
		remove()
		w.h.Remove(w.hostSession(2))
		synctest.Wait()
		if want := `{"channel":"ahp-root://","session":"ahp-session:/001"}`; len(got) != 1 || got[0] != want {
			t.Errorf("heard %q", got)
		}
	})
}
