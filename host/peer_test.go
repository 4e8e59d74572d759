package host

import (
	"fmt"
	"sync"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/transport"
)

// peer is a client that speaks literal messages and keeps what it was sent.
type peer struct {
	w    *world
	conn transport.Conn

	mu  sync.Mutex
	got []string
}

// peer opens a connection whose principal world.Dial takes from the name.
func (w *world) peer(name string) *peer {
	w.t.Helper()
	conn, err := w.Dial(name)
	if err != nil {
		w.t.Fatal(err)
	}
	p := &peer{w: w, conn: conn}
	w.serving.Go(p.read)
	return p
}

func (p *peer) read() {
	for {
		msg, err := p.conn.Read()
		p.mu.Lock()
		if err != nil {
			p.mu.Unlock()
			return
		}
		p.got = append(p.got, string(msg))
		p.mu.Unlock()
	}
}

// take returns what came since the last call, once the world is quiet.
func (p *peer) take() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	got := p.got
	p.got = nil
	return got
}

func (p *peer) send(msgs ...string) {
	p.w.t.Helper()
	for _, msg := range msgs {
		if err := p.conn.Write([][]byte{[]byte(msg)}); err != nil {
			p.w.t.Fatalf("write: %v", err)
		}
	}
}

func (p *peer) initialize(clientID string, channels ...string) {
	p.w.t.Helper()
	list := ""
	for i, c := range channels {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf("%q", c)
	}
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":%q,"initialSubscriptions":[%s]}}`, clientID, list))
}

func (p *peer) close() { _ = p.conn.Close(transport.CodeNormal, "") }
