package mcp

import (
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/notify"
)

// maxGreeted bounds the sessions whose greeting is remembered; over it one of them is
// forgotten, and counts as one that declared nothing.
const maxGreeted = 10_000

// greeting is what a client said of itself when it began a session.
type greeting struct {
	client  string
	capable bool
}

func readGreeting(m jsonrpc.Message) greeting {
	var g greeting
	g.client, _ = jsonrpc.StringValue(memberAt(m.Params, "clientInfo", "name"))
	g.capable = declares(memberAt(m.Params, "capabilities"))
	return g
}

// greetings are those of the sessions that go through a Handler, by the id the server
// gave them.
type greetings struct {
	mu sync.Mutex
	of map[string]greeting
}

func (g *greetings) note(session string, what greeting) {
	if session == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil {
		g.of = make(map[string]greeting)
	}
	if len(g.of) >= maxGreeted {
		for old := range g.of {
			delete(g.of, old)
			break
		}
	}
	g.of[session] = what
}

func (g *greetings) get(session string) greeting {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.of[session]
}

func (g *greetings) forget(session string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.of, session)
}

// caller is who calls by a request.
func (h *Handler) caller(r *http.Request, c *toolCall) notify.Caller {
	said := h.greetings.get(r.Header.Get(headerSession))
	if stateless(r) {
		said.client, _ = jsonrpc.StringValue(memberAt(c.meta, metaClientInfo, "name"))
	}
	return notify.Caller{
		Principal: h.gate.Principal, Client: said.client, Private: private(r), Capability: said.capable || c.declares(),
	}
}

// metaClientInfo is where a call of the stateless era says what its client is.
const metaClientInfo = "io.modelcontextprotocol/clientInfo"

// private reports whether nobody on the way can read a request: it is encrypted, or
// it does not leave the machine.
func private(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	name, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}
