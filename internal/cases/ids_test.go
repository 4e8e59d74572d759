package cases

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/host/endpoint"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/coder/websocket"
)

// door opens a host on a real socket and returns its URL.
func door(t *testing.T) string {
	t.Helper()
	h := must(host.New(context.Background(), host.Options{}))(t)
	e := must(endpoint.New(context.Background(), h, endpoint.Options{}))(t)
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := e.Serve(listener); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		serving.Wait()
	})
	return "ws://" + listener.Addr().String() + "/"
}

// Over a real socket, with a client of another make, an id comes back in the
// spelling it was sent, or is refused; none changes its type or its value
// (80, 81, 82, 83).
func TestAnIDComesBackAsItWasSent(t *testing.T) {
	c, _, err := websocket.Dial(t.Context(), door(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	exchange := func(request string) string {
		t.Helper()
		if err := c.Write(t.Context(), websocket.MessageText, []byte(request)); err != nil {
			t.Fatal(err)
		}
		_, m, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(m)
	}
	exchange(initialize("stranger"))
	for _, id := range []string{
		`0`, `7`, `-1`, `-0`, `"0"`, `"7"`, `""`, `"abc"`, `"1"`, `"01"`, `"1e3"`, `"true"`, `"null"`, `"é"`, `"a\"b"`,
		`2147483647`, `2147483648`, `4294967296`, `9007199254740991`, `9007199254740992`, `9007199254740993`,
		`9223372036854775807`, `9223372036854775808`, `18446744073709551616`,
	} {
		request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping","params":{"channel":"ahp-root://"}}`, id)
		if got, want := exchange(request), `{"jsonrpc":"2.0","id":`+id+`,"result":null}`; got != want {
			t.Errorf("id %s is answered with %s", id, got)
		}
	}
	// Another spelling of one string may come back in either.
	if got := exchange(`{"jsonrpc":"2.0","id":"\u0031","method":"ping","params":{"channel":"ahp-root://"}}`); !sameJSON(t, got, `{"jsonrpc":"2.0","id":"1","result":null}`) {
		t.Errorf("an escaped id is answered with %s", got)
	}
	for _, id := range []string{`1.5`, `3.14`, `1e20`, `1E2`, `null`, `true`, `[1]`} {
		got := exchange(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping","params":{"channel":"ahp-root://"}}`, id))
		if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
			t.Errorf("id %s is answered with %s", id, got)
		}
	}
}

// Many clients that all count their requests from one get each its own answers
// (75).
func TestEqualIDsOfManyClientsNeverMeet(t *testing.T) {
	const requests = 50
	clients := scale.Count(500)
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		var callers []*raw
		var own []ahp.URI
		for i := range clients {
			p, _ := w.greeted(fmt.Sprint("client", i))
			uri := fmt.Sprintf("ahp-session:/%d", i)
			p.ask("2", "createSession", fmt.Sprintf(`{"channel":%q}`, uri))
			callers, own = append(callers, p), append(own, uri)
		}
		var calling sync.WaitGroup
		for i, p := range callers {
			calling.Go(func() { askOwn(t, p, own[i], requests) })
		}
		calling.Wait()
	})
}

// askOwn sends requests with ascending ids that only their sender would send, all
// at once, and checks that each answer is its own.
func askOwn(t *testing.T, p *raw, session ahp.URI, n int) {
	var batch [][]byte
	for id := 3; id < 3+n; id++ {
		batch = append(batch, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"subscribe","params":{"channel":%q}}`, id, session))
	}
	if err := p.conn.Write(batch); err != nil {
		t.Error(err)
		return
	}
	want := fmt.Sprintf(`"result":{"snapshot":{"resource":%q,`, session)
	for id := 3; id < 3+n; {
		m, err := p.conn.Read()
		if err != nil {
			t.Error(err)
			return
		}
		if !strings.Contains(string(m), `"id":`) || strings.Contains(string(m), `"method":`) {
			continue // a notification
		}
		if prefix := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s`, id, want); !strings.HasPrefix(string(m), prefix) {
			t.Errorf("got %.200s, want %s", m, prefix)
		}
		id++
	}
}
