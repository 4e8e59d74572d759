package cases

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/transport"
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
		if testing.Short() && kib > 8<<10 {
			t.Logf("short: %d KiB left out", kib)
			continue
		}
		t.Run(fmt.Sprintf("%dKiB", kib), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { largeChat(t, kib) })
		})
	}
}

func largeChat(t *testing.T, kib int) {
	w := newWorld(t, kilobytes)
	author := w.client("author")
	chat := w.chat(author)
	for _, message := range []string{"first", strconv.Itoa(kib), "last"} {
		turn, err := chat.Send(t.Context(), message)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reader := w.client("reader")
	lively := w.chat(reader)
	opened := make(chan error, 1)
	go func() {
		whole, err := reader.Chat(t.Context(), chat.URI())
		if err == nil && len(text(whole.State(), 1)) != kib<<10 {
			err = fmt.Errorf("%d bytes of text, want %d", len(text(whole.State(), 1)), kib<<10)
		}
		opened <- err
	}()
	if err := reader.Ping(t.Context()); err != nil {
		t.Errorf("ping beside the snapshot: %v", err)
	}
	turn, err := lively.Send(t.Context(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(t.Context()); err != nil {
		t.Errorf("a turn beside the snapshot: %v", err)
	}
	if err := <-opened; err != nil {
		t.Fatalf("open the large chat: %v", err)
	}
	if s := reader.Stats(); s.Connections != 1 {
		t.Errorf("%d connections, want 1", s.Connections)
	}
}

// text is the markdown of a turn.
func text(s *ahp.ChatState, turn int) string {
	return s.Turns.At(turn).ResponseParts.At(0).Part.(*ahp.MarkdownPart).Content.String()
}

// A bounded view leaves the large turn out, and paging brings it (1).
func TestALargeChatIsPaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, kilobytes)
		chat := w.chat(w.client("author"))
		for _, message := range []string{"2048", "last"} {
			turn, err := chat.Send(t.Context(), message)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := turn.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		part, err := w.client("reader").ChatView(t.Context(), chat.URI(), client.SubscribeOptions{Turns: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := part.State().Turns.Len(); got != 1 || part.State().TurnsNextCursor == nil {
			t.Fatalf("%d turns, cursor %v; want one, and a cursor", got, part.State().TurnsNextCursor)
		}
		more, err := part.FetchTurns(t.Context())
		if err != nil || more {
			t.Fatalf("more %v, error %v", more, err)
		}
		if got := len(text(part.State(), 0)); got != 2<<20 {
			t.Errorf("the older turn has %d bytes, want %d", got, 2<<20)
		}
	})
}

// A message over the host's bound ends one connection with 1009, before it was
// read; our own client does not send it (93).
func TestAMessageOverTheBoundCostsItsSenderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, kilobytes)
		neighbour := w.client("neighbour")
		chat := w.chat(neighbour)
		big := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"` + strings.Repeat("x", 16<<20) + `"}}`

		foreign := w.raw("foreign")
		go func() { _ = foreign.Write([][]byte{[]byte(big)}) }()
		_, err := foreign.Read()
		var closed *transport.CloseError
		if !errors.As(err, &closed) || closed.Code != transport.CodeTooBig {
			t.Errorf("the sender read %v, want a close with 1009", err)
		}

		d := chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(strings.Repeat("y", 16<<20))})
		if err := d.Wait(t.Context()); !errors.Is(err, client.ErrTooLarge) {
			t.Errorf("our client: %v, want ErrTooLarge", err)
		}
		time.Sleep(time.Minute)
		turn, err := chat.Send(t.Context(), "1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if s := neighbour.Stats(); s.Connections != 1 {
			t.Errorf("%d connections of the neighbour, want 1", s.Connections)
		}
	})
}
