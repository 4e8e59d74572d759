package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/mcp"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/causeway-ahp/causeway/notify/webhook"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// receiver is a webhook of this machine, and an engine that may call it.
func receiver(fail func(error)) (url string, bodies <-chan string, engine *notify.Engine, stop func()) {
	got := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			fail(err)
		}
		got <- string(body)
	}))
	rule, err := webhook.ParseRule(hook.URL)
	if err != nil {
		fail(err)
	}
	route := webhook.New(webhook.Options{Allow: []webhook.Rule{rule}})
	engine, err = notify.New(context.Background(), notify.Options{
		Store: notify.NewMemoryStore(), Secrets: notify.NewMemorySecrets(), Types: []notify.RouteType{route},
	})
	if err != nil {
		fail(err)
	}
	return hook.URL, got, engine, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := engine.Shutdown(ctx); err != nil {
			fail(err)
		}
		route.Close()
		hook.Close()
	}
}

// newServer makes a server with the Go SDK whose tool waits until it may end.
func newServer(release <-chan struct{}) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "builds", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "build"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		select {
		case <-release:
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "built"}}}, nil, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	})
	return s
}

const greet = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

func build(id, hook string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"build","arguments":{},"notificationConfig":{"routes":[{"id":"me","type":"webhook","endpoint":%q,"triggers":["completed","failed","cancelled"]}]}}}`+"\n", id, hook)
}

// A Go MCP server gains notificationConfig by the transport it runs on.
func ExampleWithNotifications() {
	hook, bodies, engine, stop := receiver(func(err error) { panic(err) })
	defer stop()
	release := make(chan struct{})
	close(release)
	in, client := io.Pipe()
	out, listen := io.Pipe()
	go func() { _, _ = io.WriteString(client, greet+build(`"123"`, hook)) }()
	go func() { _, _ = io.Copy(io.Discard, out) }()

	transport := mcp.WithNotifications(&sdk.IOTransport{Reader: in, Writer: listen}, mcp.Options{Engine: engine})
	session, err := newServer(release).Connect(context.Background(), transport, nil)
	if err != nil {
		panic(err)
	}
	body := <-bodies
	fmt.Println(body[:strings.Index(body, ",")] + "}")
	_ = client.Close()
	_ = session.Wait()
	// Output: {"type":"mcp.tool_call.completed"}
}

// TestMiddleware: a server of the SDK behind the transport acknowledges before it runs,
// keeps an accepted call running when its client leaves, tells the webhook, and ends.
func TestMiddleware(t *testing.T) {
	hook, bodies, engine, stop := receiver(func(err error) { t.Error(err) })
	defer stop()
	release := make(chan struct{})
	in, client := io.Pipe()
	out, listen := io.Pipe()
	transport := mcp.WithNotifications(&sdk.IOTransport{Reader: in, Writer: listen}, mcp.Options{Engine: engine})
	session, err := newServer(release).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(client, greet+build(`"123"`, hook)) }()
	lines := bufio.NewScanner(out)
	for _, want := range []string{`"notificationConfig":{"supportedRouteTypes":["webhook"]}`, `"method":"notifications/config/acknowledged"`} {
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("got %s, want %s", lines.Text(), want)
		}
	}
	_ = client.Close()
	_ = out.Close() // nobody listens either
	release <- struct{}{}
	select {
	case body := <-bodies:
		if !strings.HasPrefix(body, `{"type":"mcp.tool_call.completed"`) {
			t.Errorf("told %s", body)
		}
	case <-time.After(time.Minute):
		t.Fatal("the webhook was not told")
	}
	if err := session.Wait(); err != nil {
		t.Logf("the session ended with %v", err)
	}
}
