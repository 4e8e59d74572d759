package cases

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// What one client says in words of a newer protocol reaches the others as it
// was; what makes no sense is refused, and nobody goes down (25, 94).
func TestUnknownWordsTravelAndBreakNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, kilobytes)
		author := w.client("author")
		chat := w.chat(author)
		newer := w.raw("newer")
		say(t, newer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.7.0"],"clientId":"newer","future":[1]}}`)
		answer(t, newer)

		draft := `{"text":"x","origin":{"kind":"user","via":"watch"},"attachments":[{"type":"hologram","uri":{"not":"a string"}}],"mood":"curious"}`
		say(t, newer, dispatch(chat.URI(), 1, `{"type":"chat/draftChanged","draft":`+draft+`,"reason":"sync"}`))
		if echo := answer(t, newer); strings.Contains(echo, "rejectionReason") {
			t.Errorf("the draft was refused: %s", echo)
		}
		err := chat.Wait(t.Context(), func(state any) bool { return state.(*ahp.ChatState).Draft != nil })
		if err != nil {
			t.Fatal(err)
		}
		got, err := ahp.Marshal(chat.State().Draft)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, got, draft) {
			t.Errorf("the others see %s, want %s", got, draft)
		}

		for seq, action := range []string{
			`{"type":"chat/telepathy","to":"everybody"}`,
			`{"type":"x-mine/poke"}`,
			`{"type":"chat/pendingMessageSet","kind":"urgent","id":"m","message":` + draft + `}`,
			`{"type":"chat/draftChanged","draft":"not an object"}`,
			`{"type":7}`,
		} {
			say(t, newer, dispatch(chat.URI(), seq+2, action))
			if echo := answer(t, newer); !strings.Contains(echo, "rejectionReason") {
				t.Errorf("%s was not refused: %s", action, echo)
			}
		}
		for _, params := range []string{`{}`, `[]`, `{"channel":7}`, `{"channel":"ahp-chat:/none","clientSeq":9,"action":{"type":"chat/truncated"}}`} {
			for _, method := range []string{"notifications/cancelled", "dispatchAction", "unsubscribe", "channel/credit", "action"} {
				say(t, newer, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
			}
		}
		say(t, newer, `{"jsonrpc":"2.0","id":"last","method":"ping","params":{"channel":"ahp-root://"}}`)
		if got := answer(t, newer); got != `{"jsonrpc":"2.0","id":"last","result":null}` {
			t.Errorf("after all that, ping gets %s", got)
		}
		if s := author.Status(); s.State != client.Live {
			t.Errorf("the other client is %v", s)
		}
	})
}

type literal interface {
	Write([][]byte) error
	Read() ([]byte, error)
}

func say(t *testing.T, c literal, msg string) {
	t.Helper()
	if err := c.Write([][]byte{[]byte(msg)}); err != nil {
		t.Fatal(err)
	}
}

func answer(t *testing.T, c literal) string {
	t.Helper()
	msg, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jsonrpc.Scan(msg); err != nil {
		t.Fatalf("%s: %v", msg, err)
	}
	return string(msg)
}

func dispatch(channel ahp.URI, seq int, action string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":%s}}`, channel, seq, action)
}

func sameJSON(t *testing.T, a jsontext.Value, b string) bool {
	t.Helper()
	x, y := a.Clone(), jsontext.Value(b)
	if err := x.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	if err := y.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return string(x) == string(y)
}
