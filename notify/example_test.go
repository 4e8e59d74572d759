package notify_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/causeway-ahp/causeway/notify"
	"github.com/causeway-ahp/causeway/notify/webhook"
	"github.com/go-json-experiment/json/jsontext"
)

// An edge takes a call under the configuration its caller sent, acknowledges it,
// runs the tool, and says how it ended.
func Example() {
	ctx := context.Background()
	told := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		told <- r.Header.Get("webhook-id")
	}))
	defer server.Close()
	rule, err := webhook.ParseRule(server.URL) // as --allow-webhook does
	if err != nil {
		fmt.Println(err)
		return
	}
	hook := webhook.New(webhook.Options{Allow: []webhook.Rule{rule}})
	defer hook.Close()
	engine, err := notify.New(ctx, notify.Options{
		Store: notify.NewMemoryStore(), Secrets: notify.NewMemorySecrets(), Types: []notify.RouteType{hook},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Shutdown(ctx) }()

	caller := notify.Caller{Principal: "local", Private: true}
	config, err := engine.Check([]byte(`{"routes":[{"id":"primary","type":"webhook","endpoint":"`+server.URL+`/hook","triggers":["completed","failed"]}]}`), caller)
	if err != nil {
		fmt.Println(err) // a *notify.ConfigError with code and data
		return
	}
	call, err := engine.Admit(ctx, config, notify.Request{Caller: caller, RequestID: jsontext.Value(`"123"`), Tool: "build"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("acknowledge:", call.Ack().Accepted)
	report, err := call.Finish(ctx, notify.EndOfResult(jsontext.Value(`{"content":[]}`)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ended:", report.Trigger, "told:", <-told == report.Notifications[0])
	// Output:
	// acknowledge: [primary]
	// ended: completed told: true
}
