package cases

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

// kilobytes answers with as many KiB of text as the message says.
func kilobytes(message string) []string {
	n, err := strconv.Atoi(message)
	if err != nil {
		return []string{"? " + message}
	}
	pieces := make([]string, n)
	for i := range pieces {
		pieces[i] = strings.Repeat(string(rune('a'+i%26)), 1<<10)
	}
	return pieces
}

// A large snapshot arrives and costs nobody the connection (1, 37).
func TestALargeChatOpensWhileEverythingElseGoesOn(t *testing.T) {
	for _, kib := range []int{900, 1_100, 8 << 10, 40 << 10} {
		t.Run(fmt.Sprintf("%dKiB", kib), func(t *testing.T) {
			if testing.Short() && kib > 8<<10 {
				t.Skip("40 MiB take their time")
			}
			bubble(t, talker(kilobytes), func(t *testing.T, w *world) { largeChat(t, w, kib) })
		})
	}
}

func largeChat(t *testing.T, w *world, kib int) {
	chat := w.chat(w.client("author"))
	for _, message := range []string{"first", strconv.Itoa(kib), "last"} {
		w.turn(chat, message)
	}
	reader := w.client("reader")
	lively := w.chat(reader)
	opened := make(chan error, 1)
	go func() {
		whole, err := reader.Chat(t.Context(), chat.URI())
		if err == nil {
			if n := len(markdown(whole.State().Turns.At(1).ResponseParts)); n != kib<<10 {
				err = fmt.Errorf("%d bytes of text, want %d", n, kib<<10)
			}
		}
		opened <- err
	}()
	if err := reader.Ping(t.Context()); err != nil {
		t.Errorf("ping beside the snapshot: %v", err)
	}
	w.turn(lively, "hello")
	if err := <-opened; err != nil {
		t.Fatalf("open the large chat: %v", err)
	}
	if n := reader.Stats().Connections; n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// A bounded view leaves the large turn out, and paging brings it (1).
func TestALargeChatIsPaged(t *testing.T) {
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		chat := w.chat(w.client("author"))
		w.turn(chat, "2048")
		w.turn(chat, "last")
		part := must(w.client("reader").ChatView(t.Context(), chat.URI(), client.SubscribeOptions{Turns: 1}))(t)
		if got := part.State().Turns.Len(); got != 1 || part.State().TurnsNextCursor == nil {
			t.Fatalf("%d turns, cursor %v; want one, and a cursor", got, part.State().TurnsNextCursor)
		}
		if more := must(part.FetchTurns(t.Context()))(t); more {
			t.Error("there are more turns than two")
		}
		if got := len(markdown(part.State().Turns.At(0).ResponseParts)); got != 2<<20 {
			t.Errorf("the older turn has %d bytes, want %d", got, 2<<20)
		}
	})
}

// narrow is a relay that ends a connection over which a message above its bound
// would have to go, without saying why.
type narrow struct {
	transport.Conn
	most int
}

func (n *narrow) Read() ([]byte, error) {
	m, err := n.Conn.Read()
	if len(m) > n.most {
		_ = n.Close(transport.CodeNormal, "")
		return nil, &transport.CloseError{Code: transport.CodeNormal, Remote: true}
	}
	return m, err
}

// behind is a client behind a relay that carries no message above most.
func (w *world) behind(name string, most int) *client.Client {
	w.t.Helper()
	o := client.Options{ClientID: name, Dialer: w.net.Dialer(name)}
	dial := client.WebSocket(hostURL, o)
	c := client.New(w.t.Context(), func(ctx context.Context) (transport.Conn, error) {
		conn, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return &narrow{conn, most}, nil
	}, o)
	w.t.Cleanup(func() { _ = c.Close() })
	if err := c.Ready(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// Behind a relay that carries no large messages the request for a large chat
// fails, once; what else was open goes on, and the chat can be read in pages (1).
func TestASnapshotThatDoesNotFitFailsItsRequestOnce(t *testing.T) {
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		author := w.client("author")
		chat := w.chat(author)
		for range 4 {
			w.turn(chat, "600")
		}
		reader := w.behind("reader", 1<<20)
		lively := w.chat(reader)
		var lost *client.LostError
		if _, err := reader.Chat(t.Context(), chat.URI()); !errors.As(err, &lost) {
			t.Errorf("subscribe: %v, want a LostError", err)
		}
		if err := reader.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := reader.Stats().Connections; n != 2 {
			t.Errorf("%d connections, want the first and the one after the failure", n)
		}
		w.turn(lively, "hello")
		part := must(reader.ChatView(t.Context(), chat.URI(), client.SubscribeOptions{Turns: 1}))(t)
		if n := part.State().Turns.Len(); n != 1 {
			t.Errorf("%d turns in the view, want 1", n)
		}
	})
}

// short makes a host forget at once what a replay would need.
var short = host.Options{Limits: host.Limits{RingRecords: 4, ReplayBytes: 1}}

// limits are the two ways in which a large answer is lost: on the way, without a
// word of why, and at this side's own limit.
var limits = map[string]func(w *world, most int) *client.Client{
	"relay": func(w *world, most int) *client.Client { return w.behind("reader", most) },
	"own": func(w *world, most int) *client.Client {
		return w.clientWith(client.Options{
			ClientID: "reader", Dialer: w.net.Dialer("reader"), WebSocket: websocket.Options{MaxMessageBytes: most},
		})
	},
}

// A view of a chat that is too large as a whole comes back after a reconnect by
// snapshot, with the same view, and does not cost one connection after the other
// (1).
func TestAViewComesBackThoughTheWholeDoesNotFit(t *testing.T) {
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			bubbleWith(t, talker(kilobytes), short, func(t *testing.T, w *world) {
				chat := w.chat(w.client("author"))
				for range 4 {
					w.turn(chat, "600")
				}
				reader := limit(w, 1<<20)
				part := must(reader.ChatView(t.Context(), chat.URI(), client.SubscribeOptions{Turns: 1}))(t)
				lively := w.chat(reader)
				w.link("reader").Cut()
				last := w.turn(chat, "3")
				waitChat(t, part, func(s *ahp.ChatState) bool { return s.Turns.Len() > 0 && s.Turns.At(s.Turns.Len()-1).ID == last.ID })
				if n := part.State().Turns.Len(); n > 2 {
					t.Errorf("%d turns in the view, want those asked for", n)
				}
				w.turn(lively, "1")
				time.Sleep(time.Hour)
				if n := reader.Stats().Connections; n != 2 {
					t.Errorf("%d connections, want the one before the cut and the one after", n)
				}
			})
		})
	}
}

// A chat that has outgrown the way to its reader is given up, by itself; what
// else the reader follows goes on (1, 37).
func TestAStateThatNeverGetsThroughIsGivenUpAlone(t *testing.T) {
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			bubbleWith(t, talker(kilobytes), short, func(t *testing.T, w *world) {
				chat := w.chat(w.client("author"))
				w.turn(chat, "600")
				reader := limit(w, 1<<20)
				outgrown := must(reader.Chat(t.Context(), chat.URI()))(t)
				lively := w.chat(reader)
				w.link("reader").Cut()
				w.turn(chat, "600")
				<-outgrown.Done()
				if err := outgrown.Err(); !errors.Is(err, client.ErrUnreachableState) {
					t.Errorf("the chat ended with %v, want ErrUnreachableState", err)
				}
				time.Sleep(time.Minute) // the connection it went down with is replaced
				before := reader.Stats().Connections
				w.turn(lively, "1")
				time.Sleep(time.Hour)
				if n := reader.Stats().Connections; n != before || n > 10 {
					t.Errorf("%d connections, %d of them before the chat was given up", n, before)
				}
			})
		})
	}
}

// waitChat waits for a state of a chat, at most for an hour.
func waitChat(t *testing.T, chat *client.Chat, cond func(*ahp.ChatState) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := chat.Wait(ctx, func(s any) bool { return cond(s.(*ahp.ChatState)) }); err != nil {
		t.Fatal(err)
	}
}

// A client whose limit a chat has outgrown still lists, talks and removes (37).
func TestAStateAboveTheClientsLimitCanBeRemoved(t *testing.T) {
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		author := w.client("author")
		chat := w.chat(author)
		w.turn(chat, "4096")
		reader := w.clientWith(client.Options{Dialer: w.net.Dialer("reader"), WebSocket: websocket.Options{MaxMessageBytes: 2 << 20}})
		if _, err := reader.Chat(t.Context(), chat.URI()); !errors.Is(err, transport.ErrTooLarge) {
			t.Errorf("subscribe: %v, want ErrTooLarge", err)
		}
		if err := reader.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := reader.Ping(t.Context()); err != nil {
			t.Errorf("ping: %v", err)
		}
		var sessions []ahp.URI
		for s, err := range reader.ListSessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sessions = append(sessions, s.Resource)
		}
		if len(sessions) != 1 {
			t.Fatalf("sessions %v, want one", sessions)
		}
		if err := reader.DisposeSession(t.Context(), sessions[0]); err != nil {
			t.Errorf("dispose: %v", err)
		}
		if w.h.State(chat.URI()) != nil {
			t.Error("the chat is still there")
		}
	})
}

// A message over the host's bound ends one connection with 1009, before it was
// read; our own client does not send it (93).
func TestAMessageOverTheBoundCostsItsSenderAlone(t *testing.T) {
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		neighbour := w.client("neighbour")
		chat := w.chat(neighbour)
		big := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"` + strings.Repeat("x", 16<<20) + `"}}`

		foreign := w.raw("foreign")
		go func() { _ = foreign.conn.Write([][]byte{[]byte(big)}) }()
		_, err := foreign.conn.Read()
		var closed *transport.CloseError
		if !errors.As(err, &closed) || closed.Code != transport.CodeTooBig {
			t.Errorf("the sender read %v, want a close with 1009", err)
		}

		d := chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(strings.Repeat("y", 16<<20))})
		if err := d.Wait(t.Context()); !errors.Is(err, client.ErrTooLarge) {
			t.Errorf("our client: %v, want ErrTooLarge", err)
		}
		time.Sleep(time.Minute)
		w.turn(chat, "1")
		if n := neighbour.Stats().Connections; n != 1 {
			t.Errorf("%d connections of the neighbour, want 1", n)
		}
	})
}
