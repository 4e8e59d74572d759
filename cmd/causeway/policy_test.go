package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/coder/websocket"
)

// tokenClient is an independent client that has come in with a named token.
type tokenClient struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
}

func dialToken(t *testing.T, address, token, clientID string) *tokenClient {
	t.Helper()
	ctx := testContext(t)
	conn, _, err := websocket.Dial(ctx, "ws://"+address+"/?tkn="+token, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	c := &tokenClient{t, ctx, conn}
	c.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":%q}}`, clientID))
	return c
}

func (c *tokenClient) send(msg string) {
	c.t.Helper()
	if err := c.conn.Write(c.ctx, websocket.MessageText, []byte(msg)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *tokenClient) next() string {
	c.t.Helper()
	_, msg, err := c.conn.Read(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(msg)
}

// ask sends a request and returns what comes next.
func (c *tokenClient) ask(msg string) string {
	c.t.Helper()
	c.send(msg)
	return c.next()
}

// wants fails unless the text holds all of these.
func wants(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, part := range all {
		if !strings.Contains(text, part) {
			t.Fatalf("got %s, want %s in it", text, part)
		}
	}
}

// TestPolicyFileDecidesLiveWhatTokensSee: two named tokens do not see each other's
// services. The policy file changes that while both are connected, in both
// directions and both ways, and a broken file changes nothing (AHP core, 15.7).
func TestPolicyFileDecidesLiveWhatTokensSee(t *testing.T) {
	d := stateDir(t)
	file := filepath.Join(d.Path(), "policy.yaml")
	write := func(text string) {
		t.Helper()
		next := file + ".new"
		if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, file); err != nil {
			t.Fatal(err)
		}
	}
	write("principals: {}\n")
	alice, bob := addToken(t, d, "alice"), addToken(t, d, "bob")
	h := serveInside(t, d, serveOptions{policy: file})
	a, b := dialToken(t, h.Address, alice, "a"), dialToken(t, h.Address, bob, "b")

	const subscribe = `{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":"ahp-client-services://"}}`
	wants(t, a.ask(subscribe), `"services":[]`)
	wants(t, b.ask(subscribe), `"services":[]`)
	ofAlice, ofBob := a.registerService(), b.registerService()

	call := func(id string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":4,"method":"clientService/request","params":{"serviceId":%q,"method":"m"}}`, id)
	}
	wants(t, a.ask(call(ofBob)), "-32008")
	wants(t, b.ask(call(ofAlice)), "-32008")

	write("principals:\n  alice: {see: [bob]}\n  bob: {see: [alice], call: [alice]}\n")
	wants(t, a.next(), "clientService/set", ofBob)
	wants(t, b.next(), "clientService/set", ofAlice)
	wants(t, a.ask(call(ofBob)), "-32009")
	b.send(call(ofAlice))
	asked := a.next()
	wants(t, asked, "clientService/handleRequest", ofAlice, `"senderClientId":"b"`)
	id, _ := jsonrpc.Member([]byte(asked), "id")
	a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"hello"}`, id))
	wants(t, b.next(), `"result":"hello"`)

	write("principals: [broken\n")
	write("principals:\n  bob: {see: [alice]}\n")
	wants(t, a.next(), "clientService/removed", ofBob)
	wants(t, b.ask(call(ofAlice)), "-32009")
	write("")
	wants(t, b.next(), "clientService/removed", ofAlice)
	wants(t, b.ask(call(ofAlice)), "-32008")
}

// registerService registers a service and reads the answer and the catalogue's
// change.
func (c *tokenClient) registerService() (id string) {
	c.t.Helper()
	answer := c.ask(`{"jsonrpc":"2.0","id":3,"method":"client/registerService","params":{"metadata":{}}}`)
	_, rest, _ := strings.Cut(answer, `"serviceId":"`)
	id, _, _ = strings.Cut(rest, `"`)
	wants(c.t, c.next(), "clientService/set", id)
	return id
}

// TestPolicyFileDecidesAboutSessions: who may have none sees none, also when it was
// following one; who may read changes nothing.
func TestPolicyFileDecidesAboutSessions(t *testing.T) {
	d := stateDir(t)
	file := filepath.Join(d.Path(), "policy.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("principals:\n  reader: {sessions: read, forward: [\"192.0.2.0/24:80\"]}\n")
	token := addToken(t, d, "reader")
	h := serveInside(t, d, serveOptions{policy: file})
	owner, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	wants(t, dialToken(t, h.Address, owner, "o").ask(`{"jsonrpc":"2.0","id":2,"method":"createSession","params":{"channel":"ahp-session:/s","provider":"shell"}}`), `"result":null`)
	c := dialToken(t, h.Address, token, "r")
	wants(t, c.ask(`{"jsonrpc":"2.0","id":2,"method":"createSession","params":{"channel":"ahp-session:/t","provider":"shell"}}`), "-32009")
	wants(t, c.ask(`{"jsonrpc":"2.0","id":3,"method":"createTcpConnection","params":{"channel":"ahp-tcp:/1","host":"127.0.0.1","port":1}}`), "-32009")
	wants(t, c.ask(`{"jsonrpc":"2.0","id":4,"method":"subscribe","params":{"channel":"ahp-session:/s"}}`), `"snapshot"`)
	write("principals:\n  reader: {sessions: none}\n")
	for {
		_, _, err = c.conn.Read(c.ctx)
		if err != nil {
			break
		}
	}
	if got := websocket.CloseStatus(err); got != websocket.StatusPolicyViolation {
		t.Fatalf("who follows what it may not see any more is closed with %v: %v", got, err)
	}
	c = dialToken(t, h.Address, token, "r")
	wants(t, c.ask(`{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":"ahp-session:/s"}}`), "-32001")
}

func addToken(t *testing.T, d datadir.Dir, name string) string {
	t.Helper()
	token, err := datadir.TokensAt(d.TokensPath()).Add(t.Context(), name, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return token
}
