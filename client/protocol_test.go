package client_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

// The tests here have a host that says exactly what the test wants.

// scriptedBubble runs a test with a client that has just been welcomed.
func scriptedBubble(t *testing.T, test func(t *testing.T, c *client.Client, h *scripted, hosts chan *scripted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		hosts := make(chan *scripted, 1)
		c := client.New(t.Context(), scriptedHost(hosts), client.Options{ClientID: "me"})
		defer c.Close()
		h := <-hosts
		h.welcome(t)
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, c, h, hosts)
	})
}

func wantTitle(t *testing.T, s *client.Session, want string) {
	t.Helper()
	synctest.Wait()
	if got := s.State().Title; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
}

func TestHandshakeOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := make(chan *scripted, 1)
		c := client.New(t.Context(), scriptedHost(hosts), client.Options{
			ClientID: "me", Info: &ahp.Implementation{Name: "test"}, Locale: "en",
		})
		defer c.Close()
		h := <-hosts
		h.want(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://",`+
			`"protocolVersions":["1.1.0","1.0.0"],"clientId":"me","clientInfo":{"name":"test"},"locale":"en"}}`)
		h.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0.0","serverSeq":7,"snapshots":[],"serverInfo":{"name":"scripted"}}}`)
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if info := c.HostInfo(); info.ProtocolVersion != "1.0.0" || info.ServerInfo.Name != "scripted" {
			t.Errorf("host info %+v", info)
		}
		subscribeScripted(t, c, h, "title", 9)
		h.titled("new", 12)
		synctest.Wait()
		h.close()
		h = <-hosts
		h.want(t, `{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"channel":"ahp-root://","clientId":"me",`+
			`"lastSeenServerSeq":12,"subscriptions":["ahp-session:/s"]}}`)
		h.send(`{"jsonrpc":"2.0","id":1,"error":{"code":-32008,"message":"who?"}}`)
		h.want(t, `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"channel":"ahp-root://",`+
			`"protocolVersions":["1.1.0","1.0.0"],"clientId":"me","clientInfo":{"name":"test"},`+
			`"initialSubscriptions":["ahp-session:/s"],"locale":"en"}}`)
	})
}

// Case 21: nothing that a host sends around a snapshot is lost or counted twice.
func TestActionsAroundTheSnapshotAreAppliedOnce(t *testing.T) {
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, _ chan *scripted) {
		done := make(chan *client.Session, 1)
		go func() {
			s, err := c.Session(t.Context(), sessionURI)
			if err != nil {
				t.Error(err)
			}
			done <- s
		}()
		id := h.request(t, "subscribe")
		h.titled("contained in the snapshot", 9)
		h.titled("before the snapshot, after it in number", 11)
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"snapshot":%s}}`, id, sessionSnapshot("snapshot", 10))
		s := <-done
		wantTitle(t, s, "before the snapshot, after it in number")
		h.titled("live", 12)
		wantTitle(t, s, "live")
		h.titled("old", 11)
		wantTitle(t, s, "live")
	})
}

// Case 25: what this version does not know is carried or skipped, never fatal.
func TestUnknownThingsAreSkipped(t *testing.T) {
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, _ chan *scripted) {
		s := subscribeScripted(t, c, h, "title", 1)
		for n, message := range []string{
			`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-session:/s","action":{"type":"session/fromTheFuture","x":[1]},"serverSeq":2}}`,
			`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-new:/kind","action":{"type":"new/thing"},"serverSeq":3}}`,
			`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-session:/s","action":{"type":"session/titleChanged","title":"kept","color":"red"},"serverSeq":4,"why":{}}}`,
			`{"jsonrpc":"2.0","method":"root/fromTheFuture","params":{"channel":"ahp-root://"}}`,
			`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-session:/s"}}`,
			`{"jsonrpc":"2.0","method":"action","params":[]}`,
			`{"jsonrpc":"2.0","method":"root/sessionAdded","params":{"summary":7}}`,
			`{"jsonrpc":"2.0","method":"root/sessionSummaryChanged","params":{"session":"ahp-session:/other","changes":{"status":99999}}}`,
		} {
			h.send("%s", message)
			synctest.Wait()
			if state := c.Status().State; state != client.Live {
				t.Fatalf("message %d: the client is %v", n, state)
			}
		}
		wantTitle(t, s, "kept")
		if got := c.Stats().Malformed; got != 3 {
			t.Errorf("%d malformed, want 3", got)
		}
	})
}

// A known action that cannot be read may have changed the host's state: the
// channel is subscribed anew, once, and everything else goes on.
func TestUnreadableActionIsMendedByASnapshot(t *testing.T) {
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, _ chan *scripted) {
		s := subscribeScripted(t, c, h, "title", 1)
		h.send(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-session:/s","action":{"type":"session/titleChanged","title":7},"serverSeq":2}}`)
		id := h.request(t, "subscribe")
		h.titled("early", 4)
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"snapshot":%s}}`, id, sessionSnapshot("mended", 3))
		wantTitle(t, s, "early")
		if s.Err() != nil {
			t.Error(s.Err())
		}
	})
}

func TestUnreadableSnapshotFailsItsSubscriptionAlone(t *testing.T) {
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, hosts chan *scripted) {
		s := subscribeScripted(t, c, h, "title", 1)
		failed := make(chan error, 1)
		go func() {
			_, err := c.Chat(t.Context(), chatURI)
			failed <- err
		}()
		h.answer(t, "subscribe", `{"snapshot":{"resource":"ahp-chat:/c","state":[],"fromSeq":1}}`)
		if err := <-failed; err == nil {
			t.Error("a state that is no object was accepted")
		}
		h.titled("live", 2)
		wantTitle(t, s, "live")
		h.close()
		h = <-hosts
		h.answer(t, "reconnect", `{"type":"snapshot","snapshots":[{"resource":"ahp-session:/s","state":7,"fromSeq":9}]}`)
		<-s.Done()
		synctest.Wait() // the channel ends before the connection is live
		if c.Status().State != client.Live || s.Err() == nil {
			t.Errorf("client %v, session %v", c.Status(), s.Err())
		}
	})
}

// Telemetry is never replayed: after a reconnect it is subscribed again.
func TestTelemetryIsSubscribedAgain(t *testing.T) {
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, hosts chan *scripted) {
		const uri = "ahp-otlp:/logs/info"
		subscribed := make(chan error, 1)
		var ch *client.Channel
		go func() {
			var err error
			ch, err = c.Subscribe(t.Context(), uri, client.SubscribeOptions{})
			subscribed <- err
		}()
		h.answer(t, "subscribe", `{"snapshot":{"resource":"ahp-otlp:/logs/info","state":{},"fromSeq":1}}`)
		if err := <-subscribed; err != nil {
			t.Fatal(err)
		}
		h.close()
		h = <-hosts
		h.answer(t, "reconnect", `{"type":"replay","actions":[],"missing":["ahp-otlp:/logs/info"]}`)
		h.answer(t, "subscribe", `{"snapshot":{"resource":"ahp-otlp:/logs/info","state":{},"fromSeq":2}}`)
		synctest.Wait()
		if err := ch.Err(); err != nil {
			t.Errorf("the channel has ended: %v", err)
		}
	})
}

// Cases 100 and 101: any order of echo and other messages leaves one entry.
func TestEchoInAnyOrderLeavesOneEntry(t *testing.T) {
	for at := range 3 {
		scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, _ chan *scripted) {
			s := subscribeScripted(t, c, h, "title", 1)
			d := s.Dispatch(&ahp.SessionActiveClientSet{ActiveClient: ahp.SessionActiveClient{ClientID: "me"}})
			h.next(t)
			for n := range 3 {
				if n == at {
					h.send(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-session:/s","action":{"type":"session/activeClientSet","activeClient":{"clientId":"me","tools":[]}},"serverSeq":%d,"origin":{"clientId":"me","clientSeq":1}}}`, n+2)
				} else {
					h.titled(fmt.Sprint(n), n+2)
				}
				synctest.Wait()
				if got := len(s.State().ActiveClients); got != 1 {
					t.Errorf("echo at %d, after message %d: %d entries", at, n, got)
				}
			}
			if d.Wait(t.Context()) != nil || len(s.Unconfirmed()) != 0 {
				t.Errorf("action %v, %d unconfirmed", d.Err(), len(s.Unconfirmed()))
			}
		})
	}
}

// What a host sends before it has answered the handshake is not lost.
func TestMessagesBeforeTheHandshakesAnswerAreKept(t *testing.T) {
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, hosts chan *scripted) {
		s := subscribeScripted(t, c, h, "title", 1)
		h.close()
		h = <-hosts
		id := h.request(t, "reconnect")
		h.titled("too early", 3)
		synctest.Wait()
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"type":"replay","missing":[],"actions":[`+
			`{"channel":"ahp-session:/s","action":{"type":"session/isReadChanged","isRead":true},"serverSeq":2}]}}`, id)
		wantTitle(t, s, "too early")
		if !s.State().Status.Has(ahp.StatusIsRead) {
			t.Error("the replayed action was lost")
		}
	})
}

// AHP core, 8.1: in the snapshot variant a channel without a snapshot is gone.
func TestChannelsThatAReconnectDoesNotNameAreGone(t *testing.T) {
	for name, answer := range map[string]string{
		"replay":   `{"type":"replay","actions":[],"missing":["ahp-session:/s"]}`,
		"snapshot": `{"type":"snapshot","snapshots":[]}`,
		"both":     `{"type":"snapshot","snapshots":[` + sessionSnapshot("x", 5) + `],"missing":["ahp-session:/s"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, hosts chan *scripted) {
				s := subscribeScripted(t, c, h, "title", 1)
				d := s.SetTitle("sent")
				h.next(t)
				h.close()
				h = <-hosts
				unsent := s.SetTitle("unsent")
				h.answer(t, "reconnect", answer)
				<-s.Done()
				wantErr(t, "channel", s.Err(), client.ErrChannelGone)
				wantErr(t, "sent action", d.Err(), client.ErrUnknownOutcome)
				wantErr(t, "unsent action", unsent.Err(), client.ErrNotSent)
			})
		})
	}
}

func TestHostThatCountsAnewIsFollowed(t *testing.T) {
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, hosts chan *scripted) {
		s := subscribeScripted(t, c, h, "title", 1000)
		h.close()
		h = <-hosts
		h.answer(t, "reconnect", `{"type":"snapshot","snapshots":[`+sessionSnapshot("new count", 5)+`]}`)
		h.titled("live", 6)
		wantTitle(t, s, "live")
		h.close()
		h = <-hosts
		if m := h.next(t); !strings.Contains(m, `"lastSeenServerSeq":6,`) {
			t.Errorf("second reconnect: %s", m)
		}
	})
}

// A reconnect answer that cannot be read is not half applied: the next handshake
// begins anew.
func TestUnreadableReconnectBeginsAnew(t *testing.T) {
	for _, answer := range []string{
		`{"type":"fresh"}`, `{}`, `[]`, `null`,
		`{"type":"replay","missing":[],"actions":[{"channel":"ahp-session:/s","action":{"type":"session/titleChanged","title":"half"},"serverSeq":2},7]}`,
	} {
		scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, hosts chan *scripted) {
			s := subscribeScripted(t, c, h, "title", 1)
			d := s.SetTitle("sent")
			h.next(t)
			h.close()
			(<-hosts).answer(t, "reconnect", answer)
			h = <-hosts
			if got := s.Confirmed().(*ahp.SessionState).Title; got != "title" {
				t.Errorf("%s: half applied: %q", answer, got)
			}
			h.welcome(t, sessionSnapshot("anew", 3))
			wantErr(t, "action", d.Wait(t.Context()), client.ErrUnknownOutcome)
			wantTitle(t, s, "anew")
		})
	}
}

// Cases 1 and 37: a large snapshot arrives; one above this side's limit fails its
// request, and no reconnect repeats it.
func TestLargeSnapshots(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		text := strings.Repeat("x", 1<<20)
		for n := range 8 {
			w.h.Apply(chat.URI(), &ahp.ChatTurnStarted{TurnID: fmt.Sprint(n), StartedAt: "2026-10-01T00:00:00.000Z", Message: ahp.UserMessage(text)})
			w.h.Apply(chat.URI(), &ahp.ChatTurnComplete{TurnID: fmt.Sprint(n)})
		}
		time.Sleep(time.Minute)
		large := w.dial("large", client.Options{})
		seen := must(large.Chat(t.Context(), chat.URI()))(t)
		if n := seen.State().Turns.Len(); n != 8 {
			t.Errorf("%d turns of 8", n)
		}
		small := w.dial("small", client.Options{WebSocket: websocket.Options{MaxMessageBytes: 2 << 20}})
		_, err := small.Chat(t.Context(), chat.URI())
		wantErr(t, "subscribe above the limit", err, client.ErrConnectionLost)
		wantErr(t, "subscribe above the limit", err, transport.ErrTooLarge)
		if err := small.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		part := must(small.ChatView(t.Context(), chat.URI(), client.SubscribeOptions{Turns: 1}))(t)
		if n := part.State().Turns.Len(); n != 1 {
			t.Errorf("%d turns of 1", n)
		}
		time.Sleep(time.Minute)
		if n := small.Stats().Connections; n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
	})
}
