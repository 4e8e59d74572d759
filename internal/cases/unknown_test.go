package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
)

// What one client says in words of a newer protocol reaches the others as it
// was; what makes no sense is refused, and nobody goes down (25).
func TestUnknownWordsTravelAndBreakNothing(t *testing.T) {
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		author := w.client("author")
		chat := w.chat(author)
		newer := w.raw("newer")
		newer.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.7.0"],"clientId":"newer","future":[1]}}`)
		newer.answer("1")

		draft := `{"text":"x","origin":{"kind":"user","via":"watch"},"attachments":[{"type":"hologram","uri":{"not":"a string"}}],"mood":"curious"}`
		if echo := newer.dispatch(chat.URI(), `{"type":"chat/draftChanged","draft":`+draft+`,"reason":"sync"}`); strings.Contains(echo, "rejectionReason") {
			t.Errorf("the draft was refused: %s", echo)
		}
		if err := chat.Wait(t.Context(), func(state any) bool { return state.(*ahp.ChatState).Draft != nil }); err != nil {
			t.Fatal(err)
		}
		if got := must(ahp.Marshal(chat.State().Draft))(t); !sameJSON(t, string(got), draft) {
			t.Errorf("the others see %s, want %s", got, draft)
		}
		for _, action := range []string{
			`{"type":"chat/telepathy","to":"everybody"}`,
			`{"type":"x-mine/poke"}`,
			`{"type":"chat/pendingMessageSet","kind":"urgent","id":"m","message":` + draft + `}`,
			`{"type":"chat/draftChanged","draft":"not an object"}`,
			`{"type":7}`,
		} {
			if echo := newer.dispatch(chat.URI(), action); !strings.Contains(echo, "rejectionReason") {
				t.Errorf("%s was not refused: %s", action, echo)
			}
		}
		newer.ping()
		if s := author.Status(); s.State != client.Live {
			t.Errorf("the other client is %v", s)
		}
	})
}

// Notifications nobody knows, or that name what is gone or never was, are
// dropped, in every shape, before and after the handshake (85, 94).
func TestStrayNotificationsAreDropped(t *testing.T) {
	methods := []string{
		"notifications/cancelled", "$/setTrace", "", "root/sessionAdded", "action", "clientService/notification",
		"unsubscribe", "dispatchAction", "channel/credit", "channel/frame", "$/cancelRequest", "root/progress",
	}
	params := []string{
		`,"params":{}`, `,"params":[]`, `,"params":[{"channel":"ahp-root://"},1]`, ``, `,"params":{"channel":null}`,
		`,"params":{"channel":7}`, `,"params":{"channel":"ahp-chat:/gone"}`, `,"params":{"channel":"ahp-new:/kind","id":1}`,
		`,"params":{"channel":"%s","clientSeq":1}`, `,"params":{"channel":"%s","clientSeq":-1,"action":{}}`, `,"params":{"id":1}`,
		`,"params":{"channel":"%s","bytes":1e99,"id":"s","serviceId":"none","progressToken":"finished","frame":"x"}`,
		`,"params":{"channel":"ahp-chat:/gone","clientSeq":9,"action":{"type":"chat/truncated"}}`,
	}
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		author := w.client("author")
		chat := w.chat(author)
		before := must(ahp.Marshal(chat.State()))(t)
		p := w.raw("stray")
		stray := func() {
			for _, m := range methods {
				for _, ps := range params {
					p.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q%s}`, m, strings.ReplaceAll(ps, "%s", chat.URI())))
				}
			}
		}
		stray()
		p.say(initialize("stray", chat.URI()))
		if got := p.hear(); !strings.Contains(got, `"id":1,"result"`) {
			t.Errorf("after stray notifications, initialize gets %s", got)
		}
		stray()
		p.ping()
		if got := must(ahp.Marshal(chat.State()))(t); string(got) != string(before) {
			t.Errorf("stray notifications changed the chat\nfrom %s\n  to %s", before, got)
		}
		w.turn(chat, "1")
		if n := author.Stats().Connections; n != 1 {
			t.Errorf("%d connections of the other client, want 1", n)
		}
	})
}
