package mcp

import (
	"bytes"
	"context"
	"sync"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// maxAdmissions bounds the calls of a link that are being admitted at once; the
// next one waits, and with it what the client sends after it.
const maxAdmissions = 16

// link stands between one client and one server over connections that carry whole
// messages in order, such as stdio. Its owner calls fromClient and fromServer, each
// from one goroutine, and close at the end.
type link struct {
	gate     *gate
	toServer func(message []byte) error
	toClient func(message []byte) error

	// ctx is the life of the link. The calls' goroutines end with it.
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
	slots  chan struct{}

	mu        sync.Mutex
	calls     map[jsonrpc.ID]*linkCall // admitted and being admitted, by the client's id
	tokens    map[string]*linkCall     // by progress token, once admitted
	late      lateCalls
	asks      *asks
	greetings map[jsonrpc.ID]struct{} // initialize and server/discover, unanswered
	said      greeting                // what the client said of itself
	left      bool                    // the client has gone
}

func newLink(ctx context.Context, g *gate, toServer, toClient func([]byte) error) *link {
	l := &link{
		gate: g, toServer: toServer, toClient: toClient,
		slots:     make(chan struct{}, maxAdmissions),
		calls:     make(map[jsonrpc.ID]*linkCall),
		tokens:    make(map[string]*linkCall),
		greetings: make(map[jsonrpc.ID]struct{}),
		late:      lateCalls{byID: make(map[jsonrpc.ID]*linkCall)},
		asks:      newAsks(),
	}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	return l
}

// fromClient takes a message of the client. The error is that of toServer or, for
// an answer of our own, of toClient.
func (l *link) fromClient(message []byte) error {
	m, err := jsonrpc.Scan(message)
	switch {
	case err != nil:
		return l.unread(message)
	case m.Kind == jsonrpc.KindRequest:
		return l.request(m, message)
	case m.Kind == jsonrpc.KindNotification && m.Method == methodCancelled:
		l.cancelled(m)
	}
	return l.toServer(message)
}

// unread passes what is not one message of JSON-RPC, such as a batch: the server
// answers it as it sees fit. A configuration hidden in it is refused, since it would
// reach a server that is not to see it.
func (l *link) unread(message []byte) error {
	if bytes.Contains(message, []byte(configMember)) {
		return l.toClient(jsonrpc.AppendError(nil, jsonrpc.ID{}, errHidden))
	}
	return l.toServer(message)
}

var errHidden = jsonrpc.Errorf(jsonrpc.CodeInvalidRequest,
	"a call with %s must be one message of its own, not part of a batch", configMember)

func (l *link) request(m jsonrpc.Message, message []byte) error {
	switch m.Method {
	case methodInitialize, methodDiscover:
		l.greet(m)
	case methodCallTool:
		if hasConfig(m) {
			return l.begin(m, message)
		}
		if bytes.Contains(m.Params, []byte(vendor)) {
			message = withMember(message, "params", withoutVendorMeta(m.Params))
		}
	case methodToolResult, methodToolCancel:
		return l.toClient(l.own(m))
	}
	return l.toServer(message)
}

// greet notes a request whose response will name the server's capabilities.
func (l *link) greet(m jsonrpc.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.greetings) < maxGreetings {
		l.greetings[m.ID] = struct{}{}
	}
	if m.Method == methodInitialize {
		l.said = readGreeting(m)
	}
}

// maxGreetings bounds the greetings without an answer: nobody needs a second one.
const maxGreetings = 16

// declares reports whether capabilities of a client name the feature.
func declares(capabilities jsontext.Value) bool {
	return memberAt(capabilities, configMember) != nil ||
		memberAt(capabilities, "experimental", configMember) != nil ||
		memberAt(capabilities, "extensions", extension) != nil
}

// fromServer takes a message of the server. The error is that of toClient.
func (l *link) fromServer(message []byte) error {
	m, err := jsonrpc.Scan(message)
	if err != nil {
		return l.toClient(message)
	}
	switch {
	case m.Kind == jsonrpc.KindResponse:
		return l.response(m, message)
	case m.Kind == jsonrpc.KindNotification && m.Method == methodProgress:
		if l.progress(m) {
			return nil
		}
	case m.Kind == jsonrpc.KindRequest && l.lingers():
		return l.toServer(answerForTheAbsent(m))
	}
	return l.toClient(message)
}

// answerForTheAbsent answers a request of the server to a client that has gone: a
// tool that waits for the answer would wait until its deadline.
func answerForTheAbsent(m jsonrpc.Message) []byte {
	if m.Method == "ping" {
		return jsonrpc.AppendResult(nil, m.ID, raw(`{}`))
	}
	return jsonrpc.AppendError(nil, m.ID, jsonrpc.Errorf(jsonrpc.CodeInternal, "the client has left"))
}

func (l *link) response(m jsonrpc.Message, message []byte) error {
	if l.asks.answer(m) {
		return nil
	}
	l.mu.Lock()
	_, greeting := l.greetings[m.ID]
	delete(l.greetings, m.ID)
	c := l.calls[m.ID]
	if c != nil && c.ticket == nil {
		c = nil // it has not reached the server: the response is to something else
	}
	late := l.late.take(m.ID)
	l.mu.Unlock()
	switch {
	case late != nil:
		late.ticket.late(l.ctx, m)
		return nil
	case c != nil && l.end(c):
		defer close(c.over)
		return l.toClient(c.ticket.answered(l.ctx, m, message))
	case greeting && m.Error == nil:
		message = withMember(message, "result", l.gate.advertise(m.Result))
	}
	return l.toClient(message)
}

// progress fires the streaming trigger of a call. It reports whether the
// notification ends here, because the client did not ask for it.
func (l *link) progress(m jsonrpc.Message) bool {
	token := string(memberAt(m.Params, "progressToken"))
	l.mu.Lock()
	c := l.tokens[token]
	l.mu.Unlock()
	if c == nil {
		return isOwnToken(token)
	}
	c.ticket.streaming(l.ctx, m.Params)
	return c.ownToken
}

// lingers reports whether calls go on without their client.
func (l *link) lingers() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left && len(l.calls) > 0
}

func (l *link) clientLeft() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left
}
