package cases

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// The habits of a widely used client that other hosts had to bend to: each is
// taken, or refused with a reason that can be read, and none costs the connection
// or the history (27).
func TestAnEditorsHabitsAreAnswered(t *testing.T) {
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		author := w.client("author")
		session := w.session(author)
		chat := must(session.DefaultChat(t.Context()))(t)
		w.turn(chat, "1")
		first, _ := w.greeted("editor", session.URI())
		_ = first.conn.Close(1000, "")

		p := w.raw("editor")
		p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"clientId":"editor","lastSeenServerSeq":%d,"subscriptions":["ahp-root:",%q]}}`, w.h.Seq(), session.URI()))
		if m := p.answer("1"); !strings.Contains(m, `"type":"replay"`) {
			t.Errorf("reconnect without a channel: %s", m)
		}
		if m := p.dispatch(chat.URI(), `{"type":"session/titleChanged","title":"x"}`); !strings.Contains(m, `"rejectionReason":"`) {
			t.Errorf("a session's action sent to its chat: %s", m)
		}
		if m := p.dispatch(session.URI(), `{"type":"session/titleChanged","title":"renamed"}`); strings.Contains(m, "rejectionReason") {
			t.Errorf("the same sent to the session: %s", m)
		}
		derived := "ahp-chat://editor/" + base64.RawURLEncoding.EncodeToString([]byte(session.URI()))
		if m := p.ask("2", "subscribe", fmt.Sprintf(`{"channel":%q}`, derived)); !strings.Contains(m, `"code":-32008`) {
			t.Errorf("a chat whose URI was guessed: %s", m)
		}
		complete := fmt.Sprintf(`{"channel":%q,"kind":"userMessage","text":"@","offset":1}`, session.URI())
		if m := p.ask("3", "completions", complete); m != `{"jsonrpc":"2.0","id":3,"result":{"items":[]}}` {
			t.Errorf("completions of a session: %s", m)
		}
		p.ping()
		if n := chat.State().Turns.Len(); n != 1 {
			t.Errorf("%d turns are left of one", n)
		}
	})
}
