package session

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport/memory"
	"github.com/go-json-experiment/json/jsontext"
)

// world is a host with puppet agents inside a bubble. Everything it orders is
// audited.
type world struct {
	t       *testing.T
	h       *host.Host
	f       *Feature
	puppet  *puppet
	audit   *audit
	serving sync.WaitGroup
}

// bubble runs a test in a world of its own with virtual time. A goroutine left
// behind fails it.
func bubble(t *testing.T, p *puppet, opts Options, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, p, opts)
		defer w.end()
		test(w)
	})
}

func newWorld(t *testing.T, p *puppet, opts Options) *world {
	t.Helper()
	opts.Providers = append([]agent.Provider{p}, opts.Providers...)
	w := &world{t: t, f: New(opts), puppet: p, audit: newAudit()}
	var err error
	w.h, err = host.New(context.Background(), host.Options{Features: []host.Feature{w.f}, Store: w.audit})
	if err != nil {
		t.Fatalf("new host: %v", err)
	}
	return w
}

// end shuts the host down and checks what must hold whatever happened.
func (w *world) end() {
	w.t.Helper()
	if err := w.h.Shutdown(context.Background()); err != nil {
		w.t.Errorf("shutdown: %v", err)
	}
	w.serving.Wait()
	w.audit.check(w.t, w.h)
	if n := w.puppet.alive(); n != 0 {
		w.t.Errorf("%d agents outlive the host", n)
	}
	if w.puppet.overlap {
		w.t.Error("an agent had two prompts at a time")
	}
}

// peer is a client that speaks literal messages.
type peer struct {
	t    *testing.T
	conn *memory.Conn
	name string
	id   int
	seq  int

	mu      sync.Mutex
	got     []string          // notifications not taken yet
	answers map[string]string // responses by id
}

// dial connects a client and initializes it.
func (w *world) dial(name string, subscriptions ...ahp.URI) *peer {
	w.t.Helper()
	p := w.connect(name)
	p.result("initialize", fmt.Sprintf(`{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":%q,"initialSubscriptions":%s}`,
		name, list(subscriptions)))
	return p
}

func list(uris []ahp.URI) string {
	quoted := make([]string, 0, len(uris))
	for _, u := range uris {
		quoted = append(quoted, strconv.Quote(u))
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

func (w *world) connect(name string) *peer {
	a, b := memory.Pair(memory.Options{})
	w.serving.Go(func() { _ = w.h.Serve(context.Background(), b, host.Local) })
	p := &peer{t: w.t, conn: a, name: name, answers: make(map[string]string)}
	go p.read()
	return p
}

// reconnect continues p on a new connection, subscribed to the channels.
func (w *world) reconnect(p *peer, subscriptions ...ahp.URI) *peer {
	w.t.Helper()
	q := w.connect(p.name)
	q.seq = p.seq
	q.result("reconnect", fmt.Sprintf(`{"channel":"ahp-root://","clientId":%q,"lastSeenServerSeq":0,"subscriptions":%s}`,
		p.name, list(subscriptions)))
	return q
}

// resume is reconnect in a world that is never quiet.
func (w *world) resume(p *peer, subscriptions ...ahp.URI) *peer {
	q := w.connect(p.name)
	q.seq = p.seq
	q.request("reconnect", fmt.Sprintf(`{"channel":"ahp-root://","clientId":%q,"lastSeenServerSeq":0,"subscriptions":%s}`,
		p.name, list(subscriptions)))
	return q
}

// cut ends the connection.
func (p *peer) cut() {
	_ = p.conn.Close(1000, "")
	synctest.Wait()
}

func (p *peer) read() {
	for {
		data, err := p.conn.Read()
		if err != nil {
			return
		}
		m, err := jsonrpc.Scan(data)
		p.mu.Lock()
		if err == nil && m.Kind == jsonrpc.KindResponse {
			p.answers[m.ID.String()] = string(data)
		} else {
			p.got = append(p.got, string(data))
		}
		p.mu.Unlock()
	}
}

// take returns the notifications received since the last call, once the world is
// quiet.
func (p *peer) take() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	got := p.got
	p.got = nil
	return got
}

// taken are those of one method whose text holds all the words.
func (p *peer) taken(method string, words ...string) (found []string) {
next:
	for _, m := range p.take() {
		if !strings.Contains(m, `"method":"`+method+`"`) {
			continue
		}
		for _, word := range words {
			if !strings.Contains(m, word) {
				continue next
			}
		}
		found = append(found, m)
	}
	return found
}

func (p *peer) send(msg string) {
	p.t.Helper()
	if err := p.conn.Write([][]byte{[]byte(msg)}); err != nil {
		p.t.Errorf("%s: write: %v", p.name, err)
	}
}

// request sends a request and returns its id.
func (p *peer) request(method, params string) string {
	p.t.Helper()
	p.id++
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.id, method, params))
	return strconv.Itoa(p.id)
}

// answer returns the response to a request, "" while there is none.
func (p *peer) answer(id string) string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answers[id]
}

// call sends a request, waits until the world is quiet and returns the response.
func (p *peer) call(method, params string) jsontext.Value {
	p.t.Helper()
	a := p.answer(p.request(method, params))
	if a == "" {
		p.t.Fatalf("%s: no response to %s", p.name, method)
	}
	return jsontext.Value(a)
}

// result is call for a request that must succeed.
func (p *peer) result(method, params string) jsontext.Value {
	p.t.Helper()
	a := p.call(method, params)
	r, ok := jsonrpc.Member(a, "result")
	if !ok {
		p.t.Fatalf("%s: %s %s failed: %s", p.name, method, params, a)
	}
	return r
}

// refused is call for a request that must fail with the code.
func (p *peer) refused(code int64, method, params string) {
	p.t.Helper()
	checkError(p.t, p.call(method, params), code)
}

func checkError(t *testing.T, response jsontext.Value, code int64) {
	t.Helper()
	e, _ := jsonrpc.Member(response, "error")
	got, _ := jsonrpc.Member(e, "code")
	if string(got) != strconv.FormatInt(code, 10) {
		t.Errorf("answer %s, want error %d", response, code)
	}
}

// subscribe subscribes to channels.
func (p *peer) subscribe(channels ...ahp.URI) {
	p.t.Helper()
	for _, c := range channels {
		p.result("subscribe", fmt.Sprintf(`{"channel":%q}`, c))
	}
}

// post dispatches an action without waiting.
func (p *peer) post(channel ahp.URI, action string) {
	p.t.Helper()
	p.seq++
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":%s}}`, channel, p.seq, action))
}

// dispatch dispatches an action that must be accepted.
func (p *peer) dispatch(channel ahp.URI, action string) {
	p.t.Helper()
	if reason := p.try(channel, action); reason != "" {
		p.t.Fatalf("%s: %s was refused: %s", p.name, action, reason)
	}
}

// try dispatches an action and returns why it was refused, "" if it was not. The
// notifications stay to be taken.
func (p *peer) try(channel ahp.URI, action string) string {
	p.t.Helper()
	p.post(channel, action)
	synctest.Wait()
	origin := fmt.Sprintf(`"origin":{"clientId":%q,"clientSeq":%d}`, p.name, p.seq)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.got {
		if strings.Contains(m, origin) {
			return rejection(m)
		}
	}
	p.t.Fatalf("%s: no echo of %s", p.name, action)
	return ""
}

func rejection(envelope string) string {
	m, err := jsonrpc.Scan([]byte(envelope))
	if err != nil {
		return ""
	}
	raw, _ := jsonrpc.Member(m.Params, "rejectionReason")
	reason, _ := jsonrpc.StringValue(raw)
	return reason
}

// session creates a session, and returns it with its default chat, to both of
// which the peer is then subscribed.
func (w *world) session(p *peer) (session, chat ahp.URI) {
	w.t.Helper()
	session = "ahp-session:/" + p.name
	p.result("createSession", `{"channel":"`+session+`"}`)
	s := w.state(session)
	if s.Lifecycle != ahp.LifecycleReady || s.DefaultChat == nil {
		w.t.Fatalf("session is %s, default chat %v", s.Lifecycle, s.DefaultChat)
	}
	p.subscribe(session, *s.DefaultChat)
	p.take()
	return session, *s.DefaultChat
}

// start is a world with one client, its session and its chat.
func start(t *testing.T, p *puppet, opts Options, test func(w *world, a *peer, session, chat ahp.URI)) {
	t.Helper()
	bubble(t, p, opts, func(w *world) {
		a := w.dial("a")
		session, chat := w.session(a)
		test(w, a, session, chat)
	})
}

func (w *world) chat(uri ahp.URI) *ahp.ChatState {
	w.t.Helper()
	s, ok := w.h.State(uri).(*ahp.ChatState)
	if !ok {
		w.t.Fatalf("there is no chat %s", uri)
	}
	return s
}

func (w *world) state(uri ahp.URI) *ahp.SessionState {
	w.t.Helper()
	s, ok := w.h.State(uri).(*ahp.SessionState)
	if !ok {
		w.t.Fatalf("there is no session %s", uri)
	}
	return s
}

// turns lists the finished turns as id=state.
func (w *world) turns(chat ahp.URI) (list []string) {
	w.t.Helper()
	for _, turn := range w.chat(chat).Turns.All() {
		list = append(list, turn.ID+"="+turn.State)
	}
	return list
}

// transcript is the text of a finished turn.
func (w *world) transcript(chat ahp.URI, turnID string) string {
	w.t.Helper()
	s := w.chat(chat)
	i, ok := s.Turns.Find(turnID)
	if !ok {
		w.t.Fatalf("no finished turn %s", turnID)
	}
	var b strings.Builder
	for _, p := range s.Turns.At(i).ResponseParts.All() {
		switch p := p.Part.(type) {
		case *ahp.MarkdownPart:
			b.WriteString(p.Content.String())
		case *ahp.ErrorPart:
			fmt.Fprintf(&b, "[%s: %s]", p.Error.ErrorType, p.Error.Message)
		}
	}
	return b.String()
}

// equal fails the test when two lists differ.
func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func startTurn(id, text string) string {
	return fmt.Sprintf(`{"type":"chat/turnStarted","turnId":%q,"startedAt":%q,"message":%s}`, id, host.Timestamp(time.Now()), message(text))
}

func message(text string) string {
	return fmt.Sprintf(`{"text":%q,"origin":{"kind":"user"}}`, text)
}

func cancelTurn(id string) string {
	return fmt.Sprintf(`{"type":"chat/turnCancelled","turnId":%q,"duration":1}`, id)
}

func queue(id, text string) string { return pend("queued", id, text) }

func pend(kind, id, text string) string {
	return fmt.Sprintf(`{"type":"chat/pendingMessageSet","kind":%q,"id":%q,"message":%s}`, kind, id, message(text))
}

func approve(turn, call, more string) string {
	return fmt.Sprintf(`{"type":"chat/toolCallConfirmed","turnId":%q,"toolCallId":%q,"approved":true,"confirmed":"user-action"%s}`, turn, call, more)
}

func deny(turn, call, more string) string {
	return fmt.Sprintf(`{"type":"chat/toolCallConfirmed","turnId":%q,"toolCallId":%q,"approved":false,"reason":"denied"%s}`, turn, call, more)
}

// counted is the sum of a counter over its labels.
func (w *world) counted(name string, labels ...string) (sum float64) {
	w.t.Helper()
	families, err := w.h.Metrics().Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "causeway_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			if len(labels) == 0 || m.GetLabel()[0].GetValue() == labels[0] {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
