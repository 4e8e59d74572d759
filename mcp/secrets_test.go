package mcp_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/mcp"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/causeway-ahp/causeway/notify/webhook"
	"github.com/go-json-experiment/json"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// output collects what a stream is given.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) Close() error { return nil }

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// TestSecretsStayHere is row 14 at the edge: the secrets of a configuration, accepted or
// refused, stand in nothing that the client, the log, the lists or the body show
// (tool-call notifications, 10.2).
func TestSecretsStayHere(t *testing.T) {
	const planted = "cGxhbnRlZC1zZWNyZXQtcGxhbnRlZC1zZWNyZXQ="
	headers := make(chan http.Header, 10)
	var bodies, log, client output
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(&bodies, r.Body); err != nil {
			t.Error(err)
		}
		headers <- r.Header
	}))
	defer hook.Close()
	rule, err := webhook.ParseRule(hook.URL)
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	route := webhook.New(webhook.Options{Allow: []webhook.Rule{rule}})
	defer route.Close()
	engine, err := notify.New(context.WithoutCancel(t.Context()), notify.Options{
		Store: notify.NewMemoryStore(), Secrets: notify.NewMemorySecrets(), Types: []notify.RouteType{route}, Log: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	close(release)
	in, speak := io.Pipe()
	transport := mcp.WithNotifications(&sdk.IOTransport{Reader: in, Writer: &client}, mcp.Options{Engine: engine, Log: logger})
	session, err := newServer(release).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	secret := `"options":{"signing":{"secret":"whsec_` + planted + `"},"headers":{"Authorization":{"secret":"Bearer ` + planted + `"}}},`
	good := strings.Replace(build("1", hook.URL+"/?key="+planted), `"triggers"`, secret+`"triggers"`, 1)
	bad := strings.Replace(build("2", "https://elsewhere.example/?key="+planted+"#x"), `"triggers"`, secret+`"triggers"`, 1)
	if _, err := io.WriteString(speak, greet+good+bad); err != nil {
		t.Fatal(err)
	}
	select {
	case h := <-headers:
		if h.Get("Authorization") != "Bearer "+planted {
			t.Errorf("the receiver got %q", h.Get("Authorization"))
		}
	case <-time.After(time.Minute):
		t.Fatal("the webhook was not told")
	}
	_ = speak.Close()
	_ = session.Wait() // the end of the input
	shown := map[string]string{"the client": client.String(), "the log": log.String(), "the body": bodies.String()}
	items, err := engine.Desk().Items(t.Context(), notify.ItemQuery{})
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	detail, err := engine.Desk().Item(t.Context(), items[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	endpoints, err := engine.Desk().Endpoints(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	lists, err := json.Marshal([]any{items, detail, endpoints})
	if err != nil {
		t.Fatal(err)
	}
	shown["the lists"] = string(lists)
	for where, text := range shown {
		if strings.Contains(text, planted) {
			t.Errorf("%s shows a secret:\n%s", where, text)
		}
	}
	if !strings.Contains(shown["the client"], `"rejectedRoutes":[{"id":"me"`) {
		t.Errorf("nothing was refused: %s", shown["the client"])
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if err := engine.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}
