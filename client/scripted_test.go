package client_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
)

// scripted is one connection of a host that is the test itself: it says exactly
// what it is told to.
type scripted struct {
	conn     *memory.Conn
	messages chan []byte // closed when the connection is over
}

// scriptedHost hands every connection to the test.
func scriptedHost(hosts chan<- *scripted) client.DialFunc {
	return func(ctx context.Context) (transport.Conn, error) {
		near, far := memory.Pair(memory.Options{})
		h := &scripted{conn: far, messages: make(chan []byte, 1024)}
		go h.read()
		select {
		case hosts <- h:
			return near, nil
		case <-ctx.Done():
			_ = near.Close(transport.CodeNormal, "")
			return nil, context.Cause(ctx)
		}
	}
}

func (h *scripted) read() {
	defer close(h.messages)
	defer h.conn.Close(transport.CodeNormal, "")
	for {
		m, err := h.conn.Read()
		if err != nil {
			return
		}
		h.messages <- m
	}
}

func (h *scripted) send(format string, args ...any) {
	_ = h.conn.Write([][]byte{fmt.Appendf(nil, format, args...)})
}

func (h *scripted) close() { _ = h.conn.Close(transport.CodeGoingAway, "") }

// next returns the next message.
func (h *scripted) next(t testing.TB) string {
	t.Helper()
	select {
	case m, ok := <-h.messages:
		if !ok {
			t.Fatal("the client has closed the connection")
		}
		return string(m)
	case <-time.After(time.Hour):
		t.Fatal("the client says nothing")
	}
	return ""
}

func (h *scripted) want(t testing.TB, message string) {
	t.Helper()
	if got := h.next(t); got != message {
		t.Errorf("received %s\n    want %s", got, message)
	}
}

// request waits for a request of a method and returns its id.
func (h *scripted) request(t testing.TB, method string) string {
	t.Helper()
	m := []byte(h.next(t))
	name, _ := jsonrpc.Member(m, "method")
	if got, _ := jsonrpc.StringValue(name); got != method {
		t.Fatalf("received %s, want a %s", m, method)
	}
	id, _ := jsonrpc.Member(m, "id")
	return string(id)
}

// answer answers the next request, which must be of the method.
func (h *scripted) answer(t testing.TB, method, result string) {
	t.Helper()
	h.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, h.request(t, method), result)
}

func (h *scripted) fail(t testing.TB, method string, code int, text string) {
	t.Helper()
	h.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, h.request(t, method), code, text)
}

// welcome answers initialize.
func (h *scripted) welcome(t testing.TB, snapshots ...string) {
	t.Helper()
	h.answer(t, "initialize", `{"protocolVersion":"1.1.0","serverSeq":0,"snapshots":[`+strings.Join(snapshots, ",")+`]}`)
}

const (
	sessionURI = "ahp-session:/s"
	chatURI    = "ahp-chat:/c"
)

// sessionSnapshot is a session with a title at a number.
func sessionSnapshot(title string, seq int) string {
	return fmt.Sprintf(`{"resource":%q,"state":{"provider":"p","title":%q,"status":1,"lifecycle":"ready","activeClients":[],"chats":[]},"fromSeq":%d}`, sessionURI, title, seq)
}

// titled sends a foreign change of the title.
func (h *scripted) titled(title string, seq int) {
	h.send(`{"jsonrpc":"2.0","method":"action","params":{"channel":%q,"action":{"type":"session/titleChanged","title":%q},"serverSeq":%d}}`, sessionURI, title, seq)
}
