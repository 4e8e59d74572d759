package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// patience is what a test waits at most for another goroutine. It decides nothing but
// how a broken test ends.
const patience = time.Minute

// tools are those of the SDK server in these tests.
type tools struct {
	started chan struct{} // a wait tool has begun
	release chan struct{} // it may end
	stopped chan error    // it was cancelled
}

// server makes an MCP server with the official Go SDK.
func (k *tools) server() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, nil)
	type input struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("no such file")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "steps"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		for i := range 2 {
			if token := r.Params.GetProgressToken(); token != nil {
				if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(i + 1)}); err != nil {
					return nil, nil, err
				}
			}
		}
		<-k.release
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "two steps"}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		k.started <- struct{}{}
		select {
		case <-k.release:
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "waited"}}}, nil, nil
		case <-ctx.Done():
			k.stopped <- context.Cause(ctx)
			return nil, nil, ctx.Err()
		}
	})
	return s
}

// httpWorld is an SDK server behind a gateway, or behind nothing.
type httpWorld struct {
	t      *testing.T
	tools  *tools
	bodies chan []byte // what the hook got
	bare   string      // URL of the server itself
	url    string      // URL of the gateway
}

type era struct {
	name      string
	stateless bool
	json      bool // the server answers without streams
}

var eras = []era{
	{name: "sessions"}, {name: "sessions-json", json: true}, {name: "stateless", stateless: true},
}

func newHTTPWorld(t *testing.T, e era, o notify.Options) *httpWorld {
	t.Helper()
	w := &httpWorld{t: t, bodies: make(chan []byte, 100), tools: &tools{
		started: make(chan struct{}, 10), release: make(chan struct{}), stopped: make(chan error, 10),
	}}
	s := w.tools.server()
	upstream := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: e.stateless, JSONResponse: e.json, PropagateRequestCancellation: e.stateless}))
	t.Cleanup(upstream.Close)
	w.bare = upstream.URL
	hook := &hookType{out: func(b []byte) error { w.bodies <- b; return nil }}
	w.url = w.gateway(upstream.URL, newEngine(t, o, hook))
	return w
}

func (w *httpWorld) gateway(upstream string, e *notify.Engine) string {
	u, err := url.Parse(upstream)
	if err != nil {
		w.t.Fatal(err)
	}
	h := NewHandler(context.WithoutCancel(w.t.Context()), NewProxy(u, nil), Options{Engine: e, Server: "peer"})
	front := httptest.NewServer(OnlyLocal(h))
	w.t.Cleanup(func() {
		front.CloseClientConnections()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		h.Shutdown(ctx)
		front.Close()
	})
	return front.URL + "/mcp"
}

// conversation speaks MCP by hand, as no client library would let a test.
type conversation struct {
	t       *testing.T
	url     string
	era     era
	session string
}

const statelessMeta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func (w *httpWorld) talk(e era, url string) *conversation {
	c := &conversation{t: w.t, url: url, era: e}
	if e.stateless {
		return c
	}
	res := c.post(w.t.Context(), `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	c.session = res.Header.Get(headerSession)
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	res = c.post(w.t.Context(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	_ = res.Body.Close()
	return c
}

func (c *conversation) request(ctx context.Context, method, body string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set(headerSession, c.session)
		r.Header.Set(headerVersion, "2025-11-25")
	}
	if c.era.stateless {
		r.Header.Set(headerVersion, versionStateless)
		name, _ := jsonrpc.StringValue(memberAt(raw(body), "method"))
		r.Header.Set(headerMethod, name)
		if tool, ok := jsonrpc.StringValue(memberAt(raw(body), "params", "name")); ok {
			r.Header.Set(headerName, tool)
		}
	}
	return r
}

func (c *conversation) do(r *http.Request) *http.Response {
	c.t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatalf("%s %s: %v", r.Method, c.url, err)
	}
	c.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func (c *conversation) post(ctx context.Context, body string) *http.Response {
	c.t.Helper()
	if c.era.stateless {
		body = string(withMemberAt(raw(body), raw(statelessMeta), "params", "_meta"))
	}
	return c.do(c.request(ctx, http.MethodPost, body))
}

// call is the message of a call with a configuration for triggers.
func callMessage(id, tool, arguments, options string, triggers ...string) string {
	quoted := make([]string, len(triggers))
	for i, t := range triggers {
		quoted[i] = string(quote(t))
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,"notificationConfig":{"routes":[{"id":"a","type":"webhook","endpoint":"https://hook/a","triggers":[%s]}],"options":%s}}}`,
		id, tool, arguments, strings.Join(quoted, ","), options)
}

// events reads messages off a stream.
type events struct {
	t    *testing.T
	body io.Reader
	p    eventParser
	got  []event
	last string // id of the last one
}

func readEvents(t *testing.T, res *http.Response) *events {
	t.Helper()
	if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") || res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("status %d, %q instead of a stream: %s", res.StatusCode, kind, body)
	}
	return &events{t: t, body: bufio.NewReader(res.Body)}
}

// next returns the next message, nil at the end of the stream.
func (e *events) next() jsontext.Value {
	e.t.Helper()
	buf := make([]byte, 4096)
	for {
		for len(e.got) > 0 {
			ev := e.got[0]
			e.got = e.got[1:]
			if ev.id != "" {
				e.last = ev.id
			}
			if ev.message() {
				return ev.data
			}
		}
		n, err := e.body.Read(buf)
		if ferr := e.p.feed(buf[:n], func(ev event) { e.got = append(e.got, ev) }); ferr != nil {
			e.t.Fatal(ferr)
		}
		if err != nil && len(e.got) == 0 {
			return nil
		}
	}
}

// acknowledged reads the acknowledgement and returns the call's id.
func (e *events) acknowledged(requestID string) (callID string) {
	e.t.Helper()
	m := e.next()
	method, _ := jsonrpc.StringValue(memberAt(m, "method"))
	callID, _ = jsonrpc.StringValue(memberAt(m, "params", "callId"))
	if method != methodAcknowledged || string(memberAt(m, "params", "requestId")) != requestID || callID == "" {
		e.t.Fatalf("first came %s instead of the acknowledgement of %s", m, requestID)
	}
	return callID
}

func (w *httpWorld) body() jsontext.Value {
	w.t.Helper()
	select {
	case b := <-w.bodies:
		return b
	case <-time.After(patience):
		w.t.Fatal("no notification came")
		return nil
	}
}

// told wants the next notification to be of a trigger of a call.
func (w *httpWorld) told(callID, trigger string) {
	w.t.Helper()
	b := w.body()
	got, _ := jsonrpc.StringValue(memberAt(b, "data", "trigger"))
	id, _ := jsonrpc.StringValue(memberAt(b, "data", "callId"))
	if got != trigger || id != callID {
		w.t.Errorf("told %s of %s, want %s of %s", got, id, trigger, callID)
	}
}

func (w *httpWorld) started() {
	w.t.Helper()
	select {
	case <-w.tools.started:
	case <-time.After(patience):
		w.t.Fatal("the tool did not start")
	}
}

func forEachEra(t *testing.T, test func(t *testing.T, w *httpWorld, e era)) {
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) { test(t, newHTTPWorld(t, e, notify.Options{}), e) })
	}
}

// TestAcceptance03AcknowledgedBeforeTheToolStarts is rows 1 and 3 of the acceptance tests: literal shapes over
// HTTP, a text for an id, the acknowledgement before the tool starts and before the
// result, also before a server that answers without streams.
func TestAcceptance03AcknowledgedBeforeTheToolStarts(t *testing.T) {
	forEachEra(t, func(t *testing.T, w *httpWorld, e era) {
		c := w.talk(e, w.url)
		s := readEvents(t, c.post(t.Context(), callMessage(`"123"`, "wait", `{}`, `{}`, "completed")))
		id := s.acknowledged(`"123"`)
		w.started()
		close(w.tools.release)
		result := s.next()
		if string(memberAt(result, "id")) != `"123"` || !strings.Contains(string(result), "waited") {
			t.Errorf("result: %s", result)
		}
		w.told(id, "completed")
		report := memberAt(result, "result", "_meta", extension)
		if got, _ := jsonrpc.StringValue(memberAt(report, "callId")); got != id || memberAt(report, "notificationIds") == nil {
			t.Errorf("report: %s", report)
		}
		if more := s.next(); more != nil {
			t.Errorf("after the result came %s", more)
		}
	})
}

// TestAcceptance04NothingChangesForTheUnaware is row 4: whoever does not use the feature gets what the server itself
// would have answered, status and headers included, but for the capability.
func TestAcceptance04NothingChangesForTheUnaware(t *testing.T) {
	messages := []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","arguments":{"text":"\u00e9 <&>"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"fail","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nothing","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"no/such","params":{}}`,
		`{"jsonrpc":"2.0","id":5,"method":"ping"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`,
		`not JSON at all`,
	}
	forEachEra(t, func(t *testing.T, w *httpWorld, e era) {
		direct, through := w.talk(e, w.bare), w.talk(e, w.url)
		for _, m := range messages {
			want, got := answer(direct.post(t.Context(), m)), answer(through.post(t.Context(), m))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: the gateway changed the answer (-server +gateway):\n%s", m, diff)
			}
		}
	})
}

// answer is what of a response must pass unchanged.
func answer(res *http.Response) map[string]any {
	body, err := io.ReadAll(res.Body)
	out := map[string]any{"status": res.StatusCode, "type": res.Header.Get("Content-Type"), "err": err}
	var p eventParser
	var messages []any
	take := func(e event) {
		var v any
		if json.Unmarshal(e.data, &v) != nil {
			v = string(e.data)
		}
		messages = append(messages, v)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		_ = p.feed(body, take)
	} else {
		take(event{data: body})
	}
	out["messages"] = messages
	return out
}

// TestHTTPCapability: the greeting of each era carries the capability in all three
// places.
func TestHTTPCapability(t *testing.T) {
	forEachEra(t, func(t *testing.T, w *httpWorld, e era) {
		c := &conversation{t: t, url: w.url, era: e}
		m := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
		if e.stateless {
			m = `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{}}`
		}
		got := answer(c.post(t.Context(), m))
		text := string(marshal(got["messages"]))
		for _, want := range []string{
			`"notificationConfig":{"supportedRouteTypes":["webhook"]}`, `"experimental":{"notificationConfig"`, extension, `"tools":`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in %s", want, text)
			}
		}
	})
}

// TestAcceptance02HTTPRefusesTheWholeCall is row 2 over HTTP: the status is 400 in the stateless era, nothing
// is acknowledged, and the tool has not run.
func TestAcceptance02HTTPRefusesTheWholeCall(t *testing.T) {
	forEachEra(t, func(t *testing.T, w *httpWorld, e era) {
		c := w.talk(e, w.url)
		m := callMessage(`1`, "wait", `{}`, `{}`, "completed")
		m = strings.Replace(m, `{"id":"a",`, `{"id":"s","type":"signal","endpoint":"SIGUSR2","triggers":["completed"]},{"id":"a",`, 1)
		res := c.post(t.Context(), m)
		body, _ := io.ReadAll(res.Body)
		want := http.StatusOK
		if e.stateless {
			want = http.StatusBadRequest
		}
		if res.StatusCode != want || string(memberAt(body, "error", "code")) != "-32602" ||
			string(memberAt(body, "error", "data", "unsupportedRouteTypes")) != `["signal"]` {
			t.Errorf("status %d, want %d: %s", res.StatusCode, want, body)
		}
		r := c.request(t.Context(), http.MethodPost, m)
		r.Header.Set("Accept", "application/json")
		res = c.do(r)
		body, _ = io.ReadAll(res.Body)
		if res.StatusCode != want || !bytes.Contains(body, []byte(`"reason":"no_stream"`)) {
			t.Errorf("without a stream: status %d: %s", res.StatusCode, body)
		}
		if len(w.tools.started) != 0 {
			t.Error("the tool has run")
		}
	})
}

// TestAcceptance06HTTPClientGone is row 6: a client that breaks off its stream leaves its call
// running, and the webhook gets the outcome; with onDisconnect cancel it is cancelled,
// at the server too.
func TestAcceptance06HTTPClientGone(t *testing.T) {
	forEachEra(t, func(t *testing.T, w *httpWorld, e era) {
		c := w.talk(e, w.url)
		for _, mode := range []string{"detach", "cancel"} {
			ctx, cut := context.WithCancel(t.Context())
			s := readEvents(t, c.post(ctx, callMessage(`7`, "wait", `{}`, `{"onDisconnect":"`+mode+`"}`, "completed", "cancelled")))
			id := s.acknowledged(`7`)
			w.started()
			cut()
			if mode == "detach" {
				w.tools.release <- struct{}{}
				w.told(id, "completed")
				continue
			}
			w.told(id, "cancelled")
			if e.json {
				continue // the SDK does not tell a handler that its JSON response is not awaited
			}
			select {
			case <-w.tools.stopped:
			case <-time.After(patience):
				t.Error("the server was not told")
			}
		}
	})
}

// TestAcceptance24ResumedStreamSeesBothAgain is row 24: a client of a session whose stream breaks takes it up again,
// sees the acknowledgement and the result, and causes no second delivery.
func TestAcceptance24ResumedStreamSeesBothAgain(t *testing.T) {
	e := eras[0]
	w := newHTTPWorld(t, e, notify.Options{})
	c := w.talk(e, w.url)
	ctx, cut := context.WithCancel(t.Context())
	s := readEvents(t, c.post(ctx, callMessage(`7`, "wait", `{}`, `{}`, "completed")))
	id := s.acknowledged(`7`)
	w.started()
	cut()
	again := c.request(t.Context(), http.MethodGet, "")
	first, _, _ := strings.Cut(s.last, "_"+strings.Split(s.last, "_")[len(strings.Split(s.last, "_"))-1])
	again.Header.Set(headerLastEventID, first+"_0")
	s = readEvents(t, c.do(again))
	if got := s.acknowledged(`7`); got != id {
		t.Errorf("call %s, want %s", got, id)
	}
	close(w.tools.release)
	if m := s.next(); !strings.Contains(string(m), "waited") {
		t.Errorf("result: %s", m)
	}
	w.told(id, "completed")
	again = c.request(t.Context(), http.MethodGet, "")
	again.Header.Set(headerLastEventID, first+"_1")
	s = readEvents(t, c.do(again))
	if m := s.next(); !strings.Contains(string(m), "waited") {
		t.Errorf("the result again: %s", m)
	}
	if m := s.next(); m != nil || len(w.bodies) != 0 {
		t.Errorf("after the end came %s, and %d notifications", m, len(w.bodies))
	}
	stranger := w.talk(e, w.url)
	again = stranger.request(t.Context(), http.MethodGet, "")
	again.Header.Set(headerLastEventID, first+"_0")
	if res := stranger.do(again); res.StatusCode != http.StatusBadRequest {
		t.Errorf("another session resumes the stream: status %d", res.StatusCode)
	}
}

// TestHTTPCancelled: in a session a client cancels by a notification; the server hears
// of it and the stream ends without a response.
func TestHTTPCancelled(t *testing.T) {
	e := eras[0]
	w := newHTTPWorld(t, e, notify.Options{})
	c := w.talk(e, w.url)
	s := readEvents(t, c.post(t.Context(), callMessage(`7`, "wait", `{}`, `{}`, "cancelled")))
	id := s.acknowledged(`7`)
	w.started()
	c.post(t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	w.told(id, "cancelled")
	if m := s.next(); m != nil {
		t.Errorf("a cancelled request got %s", m)
	}
	select {
	case <-w.tools.stopped:
	case <-time.After(patience):
		t.Error("the server was not told")
	}
}

// TestHTTPDeadline: at the deadline the client gets an answer, the webhook is told, and
// the server is told to stop.
func TestHTTPDeadline(t *testing.T) {
	for _, e := range []era{eras[0], eras[2]} {
		t.Run(e.name, func(t *testing.T) {
			w := newHTTPWorld(t, e, notify.Options{})
			s := readEvents(t, w.talk(e, w.url).post(t.Context(), callMessage(`7`, "wait", `{}`, `{"timeoutMs":50}`, "timeout")))
			id := s.acknowledged(`7`)
			if m := s.next(); string(memberAt(m, "result", "isError")) != "true" ||
				string(memberAt(m, "result", "_meta", extension, "trigger")) != `"timeout"` {
				t.Errorf("answer: %s", m)
			}
			w.told(id, "timeout")
			select {
			case <-w.tools.stopped:
			case <-time.After(patience):
				t.Error("the server was not told")
			}
		})
	}
}

// TestHTTPStreaming: progress fires streaming although the client asked for none, and
// the client sees none.
func TestHTTPStreaming(t *testing.T) {
	for _, e := range []era{eras[0], eras[2]} {
		t.Run(e.name, func(t *testing.T) {
			w := newHTTPWorld(t, e, notify.Options{})
			s := readEvents(t, w.talk(e, w.url).post(t.Context(), callMessage(`7`, "steps", `{}`, `{}`, "streaming", "completed")))
			id := s.acknowledged(`7`)
			w.told(id, "streaming")
			close(w.tools.release)
			if m := s.next(); !strings.Contains(string(m), "two steps") {
				t.Errorf("result: %s", m)
			}
			for b := w.body(); ; b = w.body() { // the second step may have been told as well
				if string(memberAt(b, "data", "trigger")) == `"completed"` {
					break
				}
			}
		})
	}
}
