package cases

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/client"
	"github.com/gobwas/ws"
)

const ping = `{"jsonrpc":"2.0","id":9,"method":"ping","params":{"channel":"ahp-root://"}}`

// Each text that is no request is answered once, with the code that says whether
// it was JSON at all; nothing of it is done, and the connection goes on (87, 90).
func TestEveryMalformedTextIsOneErrorOfItsKind(t *testing.T) {
	const notJSON, noRequest = -32700, -32600
	create := `{"jsonrpc":"2.0","id":5,"method":"createSession","params":{"channel":"ahp-session:/x"}}`
	notify := `{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-root://"}}`
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		p, _ := w.greeted("a")
		for _, tc := range []struct {
			text string
			code int
			id   string
		}{
			{``, notJSON, `null`},
			{`x`, notJSON, `null`},
			{`{"jsonrpc":"2.0","id":5,"method":"createSession"`, notJSON, `null`},
			{`{'jsonrpc':'2.0'}`, notJSON, `null`},
			{create + `,`, notJSON, `null`},
			{create + create, notJSON, `null`},
			{"\x00", notJSON, `null`},
			{`[` + create + `,]`, notJSON, `null`},
			{`[]`, noRequest, `null`},
			{`[` + create + `,` + notify + `]`, noRequest, `null`},
			{`[` + notify + `,` + notify + `]`, noRequest, `null`},
			{`[[` + create + `]]`, noRequest, `null`},
			{`[` + strings.Repeat(create+`,`, 9_999) + create + `]`, noRequest, `null`},
			{`null`, noRequest, `null`},
			{`7`, noRequest, `null`},
			{`"ping"`, noRequest, `null`},
			{`{}`, noRequest, `null`},
			{`{"id":5,"method":"ping"}`, noRequest, `5`},
			{`{"jsonrpc":"1.0","id":5,"method":"ping"}`, noRequest, `5`},
			{`{"jsonrpc":2.0,"id":5,"method":"ping"}`, noRequest, `5`},
			{`{"jsonrpc":"2.0","id":"a","method":7}`, noRequest, `"a"`},
			{`{"jsonrpc":"2.0","id":5}`, noRequest, `null`},
			{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, noRequest, `null`},
			{`{"jsonrpc":"2.0","id":5,"method":"ping","params":"x"}`, noRequest, `5`},
		} {
			p.say(tc.text, ping)
			want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,`, tc.id, tc.code)
			if got := p.hear(); !strings.HasPrefix(got, want) {
				t.Errorf("%.60q is answered with %s, want %s", tc.text, got, want)
			}
			if got := p.hear(); got != `{"jsonrpc":"2.0","id":9,"result":null}` {
				t.Errorf("ping behind %.60q is answered with %s", tc.text, got)
			}
			time.Sleep(10 * time.Second) // many in a short time would end the connection
		}
		if w.h.State("ahp-session:/x") != nil {
			t.Error("a request inside a malformed text was carried out")
		}
	})
}

// textFrame is one masked frame.
func textFrame(fin bool, op ws.OpCode, payload string) []byte {
	return ws.MustCompileFrame(ws.MaskFrame(ws.NewFrame(op, fin, []byte(payload))))
}

// Frames that break the rules end their own connection with the code for it, in
// the middle of everybody else's traffic (91).
func TestABrokenFrameCostsItsSenderAlone(t *testing.T) {
	badClose := "\x03\xe8\xc3\x28"
	for name, tc := range map[string]struct {
		frames []byte
		code   ws.StatusCode
	}{
		"two bytes":          {textFrame(true, ws.OpText, "\xc3\x28"), 1007},
		"surrogate":          {textFrame(true, ws.OpText, "\xed\xa0\x80"), 1007},
		"above the range":    {textFrame(true, ws.OpText, "\xf5\x80\x80\x80"), 1007},
		"inside JSON":        {textFrame(true, ws.OpText, `{"jsonrpc":"2.0","id":2,"method":"`+"\xff"+`"}`), 1007},
		"in a close reason":  {textFrame(true, ws.OpClose, badClose), 1007},
		"binary":             {textFrame(true, ws.OpBinary, ping), 1003},
		"reserved operation": {textFrame(true, 0x3, "x"), 1002},
		"split character": {append(textFrame(false, ws.OpText, `{"jsonrpc":"2.0","id":2,"method":"`+"\xe2"),
			textFrame(true, ws.OpContinuation, "\x82\xac"+`"}`)...), 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
				neighbour := w.client("neighbour")
				chat := w.chat(neighbour)
				conn := w.upgraded("breaker")
				write(t, conn, textFrame(true, ws.OpText, initialize("breaker")))
				write(t, conn, tc.frames)
				if code := closeCode(t, conn, tc.code == 0); code != tc.code {
					t.Errorf("closed with %d, want %d", code, tc.code)
				}
				w.turn(chat, "10")
				if s := neighbour.Status(); s.State != client.Live || neighbour.Stats().Connections != 1 {
					t.Errorf("the neighbour is %v", s)
				}
			})
		})
	}
}

// upgraded is a socket behind its upgrade.
func (w *world) upgraded(name string) net.Conn {
	w.t.Helper()
	d := ws.Dialer{NetDial: func(ctx context.Context, _, _ string) (net.Conn, error) { return w.net.Dial(ctx, name, hostAddr) }}
	conn, early, _, err := d.Dial(w.t.Context(), hostURL)
	if err != nil || early != nil {
		w.t.Fatalf("upgrade: %v, early frames %v", err, early != nil)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func write(t *testing.T, conn net.Conn, b []byte) {
	t.Helper()
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
}

// closeCode reads to the close frame and returns its code, or returns 0 when a
// second message comes and that is good.
func closeCode(t *testing.T, conn net.Conn, second bool) ws.StatusCode {
	t.Helper()
	for messages := 0; ; {
		h := must(ws.ReadHeader(conn))(t)
		payload := make([]byte, min(h.Length, 1<<20))
		if _, err := io.ReadFull(conn, payload); err != nil {
			t.Fatal(err)
		}
		switch h.OpCode {
		case ws.OpClose:
			code, _ := ws.ParseCloseFrameData(payload)
			return code
		case ws.OpText:
			if messages++; messages == 2 && second {
				return 0
			}
		}
	}
}

// While a request is in flight its id is taken, for its own connection alone; a
// cancel ends the one it names, and nothing else (74, 75, 77, 84).
func TestAnIDMeansARequestOfItsOwnConnection(t *testing.T) {
	var open chan struct{}
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		uri := w.session(w.client("author")).URI()
		synctest.Wait()
		open = make(chan struct{})
		w.agents.open = func(context.Context) error { <-open; return nil }
		a, _ := w.greeted("a")
		b, _ := w.greeted("b")
		slow := func(p *raw, id, chat string) {
			p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"createChat","params":{"channel":%q,"chat":"ahp-chat:/%s"}}`, id, uri, chat))
		}
		slow(a, `7`, "a")
		slow(a, `"7"`, "a2")
		slow(b, `7`, "b")
		synctest.Wait()
		wantAnswer(t, a, `7`, `"code":-32600`, ping7)
		cancel := func(p *raw, id string) {
			p.say(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`)
		}
		cancel(a, `8`) // nobody's
		cancel(a, `9`) // answered long ago
		cancel(b, `"7"`)
		a.ping()
		b.ping()
		cancel(a, `7`)
		if m := a.answer(`7`); !strings.Contains(m, `"code":-32800`) {
			t.Errorf("the cancelled request is answered with %s", m)
		}
		cancel(a, `7`)
		close(open)
		for id, p := range map[string]*raw{`"7"`: a, `7`: b} {
			if m := p.answer(id); !strings.Contains(m, `"result"`) {
				t.Errorf("request %s is answered with %s", id, m)
			}
		}
		wantAnswer(t, a, `7`, `"result":null`, ping7) // free again
	})
}

const ping7 = `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"channel":"ahp-root://"}}`

func wantAnswer(t *testing.T, p *raw, id, part, request string) {
	t.Helper()
	p.say(request)
	if m := p.answer(id); !strings.Contains(m, part) {
		t.Errorf("%s is answered with %s, want %s", request, m, part)
	}
}
