package service_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/go-json-experiment/json/jsontext"
)

// peer is a client that speaks literal messages and keeps what it was sent.
type peer struct {
	w    *world
	name string
	conn transport.Conn

	mu  sync.Mutex
	got []string
	end error
	jam chan struct{} // while it is not nil, the peer does not read on

	nextID int // of requests of the helpers below
}

// join opens a connection and completes its handshake, with or without following
// the catalogue. The world is quiet afterwards.
func (w *world) join(name string, channels ...string) *peer {
	w.t.Helper()
	conn, err := w.Dial(name)
	if err != nil {
		w.t.Fatal(err)
	}
	p := &peer{w: w, name: name, conn: conn, nextID: 1_000_000}
	w.serving.Go(p.read)
	list := `[]`
	if len(channels) > 0 {
		list = `["` + strings.Join(channels, `","`) + `"]`
	}
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":%q,"initialSubscriptions":%s}}`, name, list))
	if got := p.take(); len(got) != 1 || !strings.Contains(got[0], `"result"`) {
		w.t.Fatalf("handshake of %s: %q", name, got)
	}
	return p
}

func (p *peer) read() {
	for {
		msg, err := p.conn.Read()
		p.mu.Lock()
		if err != nil {
			p.end = err
			p.mu.Unlock()
			return
		}
		p.got = append(p.got, string(msg))
		jam := p.jam
		p.mu.Unlock()
		if jam != nil {
			<-jam
		}
	}
}

// stall makes the peer stop reading after the next message, until the result is
// called. The end of its connection it notices only then.
func (p *peer) stall() (resume func()) {
	jam := make(chan struct{})
	p.mu.Lock()
	p.jam = jam
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		p.jam = nil
		p.mu.Unlock()
		close(jam)
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

func (p *peer) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end
}

func (p *peer) send(msgs ...string) {
	p.w.t.Helper()
	for _, msg := range msgs {
		if err := p.conn.Write([][]byte{[]byte(msg)}); err != nil {
			p.w.t.Fatalf("write: %v", err)
		}
	}
}

func (p *peer) close() { _ = p.conn.Close(transport.CodeNormal, "") }

// register registers a service and returns its id. Only the answer comes.
func (p *peer) register(metadata string) string {
	p.w.t.Helper()
	p.nextID++
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"client/registerService","params":{"channel":"ahp-client-services://","metadata":%s}}`, p.nextID, metadata))
	got := p.take()
	i := slices.IndexFunc(got, func(m string) bool { return strings.Contains(m, `"result":{"serviceId":`) })
	if i < 0 {
		p.w.t.Fatalf("register: %q", got)
	}
	return member(got[i], "result", "serviceId")
}

// member returns a string or the text of a value inside an object.
func member(msg string, path ...string) string {
	v := jsontext.Value(msg)
	for _, name := range path {
		v, _ = jsonrpc.Member(v, name)
	}
	if s, ok := jsonrpc.StringValue(v); ok {
		return s
	}
	return string(v)
}

func callMessage(id, serviceID, params, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"clientService/request","params":{"channel":"ahp-client-services://","serviceId":%q,"method":"m","params":%s%s}}`, id, serviceID, params, more)
}

func notifyMessage(serviceID, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","serviceId":%q,"method":"m","params":%s}}`, serviceID, params)
}

func resultMessage(id, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func cancelMessage(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%s}}`, id)
}
