package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/notify"
)

// brittle is a store whose commits fail while broken is set.
type brittle struct {
	*notify.MemoryStore
	broken atomic.Bool
}

func (b *brittle) Update(ctx context.Context, fn func(notify.Tx) error) error {
	if b.broken.Load() {
		return errors.New("no space left on device")
	}
	return b.MemoryStore.Update(ctx, fn)
}

// TestStoreFails is case 137: a store that fails damages no call. One that cannot be
// promised is refused before it has run; one that has run gets its response, which says
// that its outcome was not recorded, and the log says so as well.
func TestStoreFails(t *testing.T) {
	store, hook := &brittle{MemoryStore: notify.NewMemoryStore()}, &hookType{out: func([]byte) error { return nil }}
	e, err := notify.New(context.WithoutCancel(t.Context()), notify.Options{
		Store: store, Secrets: notify.NewMemorySecrets(), Types: []notify.RouteType{hook},
	})
	if err != nil {
		t.Fatal(err)
	}
	toServer, toClient := make(chan string, 10), make(chan string, 10)
	send := func(c chan string) func([]byte) error { return func(m []byte) error { c <- string(m); return nil } }
	l := newLink(t.Context(), newGate(Options{Engine: e}), send(toServer), send(toClient))
	defer func() {
		store.broken.Store(false)
		l.close(errShutdown)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := e.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	}()
	call := func(id string) {
		t.Helper()
		if err := l.fromClient([]byte(callMessage(id, "x", `{}`, `{}`, "completed"))); err != nil {
			t.Fatal(err)
		}
		asked := <-toServer
		if err := l.fromServer([]byte(`{"jsonrpc":"2.0","id":` + string(memberAt(raw(asked), "id")) + `,"error":{"code":-32601,"message":"no"}}`)); err != nil {
			t.Fatal(err)
		}
	}
	call("1")
	if ack := <-toClient; !strings.Contains(ack, methodAcknowledged) {
		t.Fatalf("got %s", ack)
	}
	if m := <-toServer; !strings.Contains(m, methodCallTool) {
		t.Fatalf("the server got %s", m)
	}
	store.broken.Store(true)
	if err := l.fromServer([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)); err != nil {
		t.Fatal(err)
	}
	if m := <-toClient; !strings.Contains(m, `"content":[]`) || !strings.Contains(m, `"not_recorded"`) {
		t.Errorf("the response is %s", m)
	}
	call("2")
	if m := <-toClient; !strings.Contains(m, `"code":-32603`) || len(toServer) != 0 {
		t.Errorf("a call that cannot be promised: %s, and the server got %d messages", m, len(toServer))
	}
}

// TestHTTPServerBreaksOff: a server that demands authorization is heard by the client
// itself; one that breaks off in the middle of an accepted call makes it fail.
func TestHTTPServerBreaksOff(t *testing.T) {
	var forbidden atomic.Bool
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		m, err := jsonrpc.Scan(body)
		switch {
		case err != nil:
			t.Errorf("the server got %q", body)
		case forbidden.Load():
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="x"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
		case m.Method == methodListTools:
			writeMessage(w, http.StatusOK, jsonrpc.AppendResult(nil, m.ID, raw(`{"tools":[{"name":"x"}]}`)))
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\ndata: {\"cut")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	defer upstream.Close()
	w := &httpWorld{t: t, bodies: make(chan []byte, 10)}
	e := newEngine(t, notify.Options{}, &hookType{out: func(b []byte) error { w.bodies <- b; return nil }})
	c := &conversation{t: t, url: w.gateway(upstream.URL, e), era: era{stateless: true}}

	s := readEvents(t, c.post(t.Context(), callMessage(`7`, "x", `{}`, `{}`, "failed")))
	id := s.acknowledged(`7`)
	if m := s.next(); !strings.Contains(string(m), "notifications/message") {
		t.Errorf("first came %s", m)
	}
	if m := s.next(); string(memberAt(m, "error", "code")) != "-32603" {
		t.Errorf("the response is %s", m)
	}
	b := w.body()
	if !bytes.Contains(b, []byte(id)) || !bytes.Contains(b, []byte(`"upstream_lost"`)) {
		t.Errorf("told %s", b)
	}

	forbidden.Store(true)
	res := c.post(t.Context(), callMessage(`8`, "x", `{}`, `{}`, "failed"))
	if res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("status %d, %v", res.StatusCode, res.Header)
	}
}

// TestOnlyLocal: a page of a foreign origin, and a foreign name for this machine, are
// refused; the programs and pages of this machine are served.
func TestOnlyLocal(t *testing.T) {
	h := OnlyLocal(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"127.0.0.1:8931", "", 200}, {"localhost", "", 200}, {"[::1]:8931", "", 200}, {"LOCALHOST:1", "http://localhost:6274", 200},
		{"127.8.8.8", "https://127.0.0.1", 200},
		{"evil.example:8931", "", 403}, {"127.0.0.1.evil.example", "", 403}, {"", "", 403}, {"10.0.0.1", "", 403},
		{"127.0.0.1", "https://evil.example", 403}, {"127.0.0.1", "null", 403}, {"127.0.0.1", "http://localhost.evil.example", 403},
		{"::ffff:127.0.0.1", "", 200},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("host %q, origin %q: %d, want %d", c.host, c.origin, w.Code, c.want)
		}
	}
}

// FuzzLink: whatever the two sides say, nothing panics, and what does not mention the
// feature reaches the other side byte for byte and in order.
func FuzzLink(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`, `[1]`, `x`, ``,
		callMessage("1", "x", `{}`, `{}`, "completed"), `{"jsonrpc":"2.0","id":0,"method":"initialize","params":7}`,
	} {
		f.Add(seed, seed)
	}
	e, err := notify.New(context.WithoutCancel(f.Context()), notify.Options{
		Store: notify.NewMemoryStore(), Secrets: notify.NewMemorySecrets(), Types: []notify.RouteType{&hookType{out: func([]byte) error { return nil }}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, fromClient, fromServer string) {
		var mu sync.Mutex
		var toServer, toClient []string
		keep := func(list *[]string) func([]byte) error {
			return func(m []byte) error {
				mu.Lock()
				defer mu.Unlock()
				*list = append(*list, string(m))
				return nil
			}
		}
		l := newLink(t.Context(), newGate(Options{Engine: e}), keep(&toServer), keep(&toClient))
		if err := errors.Join(l.fromClient([]byte(fromClient)), l.fromServer([]byte(fromServer))); err != nil {
			t.Fatal(err)
		}
		l.clientGone()
		l.serverGone()
		l.close(errShutdown)
		unaware := func(text string) bool {
			m, err := jsonrpc.Scan([]byte(text))
			return !strings.Contains(text, configMember) && !strings.Contains(text, "causeway") && !strings.Contains(text, `\`) &&
				(err != nil || m.Kind != jsonrpc.KindResponse)
		}
		mu.Lock()
		defer mu.Unlock()
		if unaware(fromClient) && (len(toServer) == 0 || toServer[0] != fromClient) {
			t.Errorf("the server got %q of %q", toServer, fromClient)
		}
		if unaware(fromServer) && unaware(fromClient) && (len(toClient) != 1 || toClient[0] != fromServer) {
			t.Errorf("the client got %q of %q", toClient, fromServer)
		}
	})
}
