package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport/websocket"
	"github.com/go-json-experiment/json/jsontext"
)

// raw is a client that writes literal messages.
type raw struct {
	t    *testing.T
	conn *websocket.Conn
	seq  int // dispatches so far
}

// raw connects from a place and says nothing.
func (w *world) raw(name string) *raw {
	w.t.Helper()
	conn := value(websocket.Dial(w.t.Context(), hostURL, websocket.DialOptions{Dialer: w.net.Dialer(name)}))(
		w.t, func(c *websocket.Conn) { _ = c.Close(1000, "") })
	return &raw{t: w.t, conn: conn}
}

// greeted connects and initializes, with the channels as initial subscriptions.
// The answer is returned.
func (w *world) greeted(name string, channels ...ahp.URI) (*raw, string) {
	w.t.Helper()
	p := w.raw(name)
	p.say(initialize(name, channels...))
	return p, p.hear()
}

func initialize(name string, channels ...ahp.URI) string {
	quoted := make([]string, len(channels))
	for i, c := range channels {
		quoted[i] = fmt.Sprintf("%q", c)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":%q,"initialSubscriptions":[%s]}}`,
		name, strings.Join(quoted, ","))
}

func (p *raw) say(messages ...string) {
	p.t.Helper()
	batch := make([][]byte, len(messages))
	for i, m := range messages {
		batch[i] = []byte(m)
	}
	if err := p.conn.Write(batch); err != nil {
		p.t.Fatal(err)
	}
}

// hear returns the next message, which must be a message of the protocol.
func (p *raw) hear() string {
	p.t.Helper()
	m, err := p.conn.Read()
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := jsonrpc.Scan(m); err != nil {
		p.t.Fatalf("the host sent %s: %v", m, err)
	}
	return string(m)
}

// ask sends a request and returns the answer; what comes before is dropped.
func (p *raw) ask(id, method, params string) string {
	p.t.Helper()
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return p.answer(id)
}

// answer returns the next answer to a request; what comes before is dropped.
func (p *raw) answer(id string) string {
	p.t.Helper()
	for {
		m := p.hear()
		if got, ok := jsonrpc.Member([]byte(m), "id"); ok && string(got) == id {
			return m
		}
	}
}

// ping asks for a sign of life.
func (p *raw) ping() {
	p.t.Helper()
	const id = `"still here"`
	if got, want := p.ask(id, "ping", `{"channel":"ahp-root://"}`), `{"jsonrpc":"2.0","id":`+id+`,"result":null}`; got != want {
		p.t.Errorf("ping is answered with %s", got)
	}
}

// dispatch sends an action and returns its echo.
func (p *raw) dispatch(channel ahp.URI, action string) string {
	p.t.Helper()
	p.seq++
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":%s}}`, channel, p.seq, action))
	for {
		if m := p.hear(); strings.Contains(m, fmt.Sprintf(`"clientSeq":%d}`, p.seq)) {
			return m
		}
	}
}

// member reads a member of a message by the names on the way to it.
func member(t *testing.T, m string, names ...string) jsontext.Value {
	t.Helper()
	v := []byte(m)
	for _, name := range names {
		next, ok := jsonrpc.Member(v, name)
		if !ok {
			t.Fatalf("%.200s has no %s", m, strings.Join(names, "."))
		}
		v = next
	}
	return v
}

// sameJSON reports whether two texts are one JSON value.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	x, y := jsontext.Value(a), jsontext.Value(b)
	for _, v := range []*jsontext.Value{&x, &y} {
		if err := v.Canonicalize(); err != nil {
			t.Fatal(err)
		}
	}
	return string(x) == string(y)
}
