package notify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/notify"
	"github.com/causeway-ahp/causeway/notify/secretdir"
	"github.com/causeway-ahp/causeway/notify/sqlite"
	"github.com/causeway-ahp/causeway/notify/webhook"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"
)

// buffer is written by several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// planted are secrets in every place a caller can put one.
var planted = map[string]string{
	"signing key":   "whsec_UExBTlRFRHNlY3JldFBMQU5URURzZWNyZXQ=",
	"header":        "PLANTEDheaderPLANTEDheader",
	"query":         "PLANTEDqueryPLANTEDquery",
	"result":        "PLANTEDresultPLANTEDresult",
	"error message": "PLANTEDerrorPLANTEDerror",
	"progress":      "PLANTEDprogressPLANTEDprogress",
	"argument":      "PLANTEDargumentPLANTEDargument",
}

// TestAcceptance14PlantedSecretsAreNowhere goes through everything the engine
// does with secrets on the way, and searches everything that comes out of it.
func TestAcceptance14PlantedSecretsAreNowhere(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	var status atomic.Int64
	status.Store(http.StatusInternalServerError)
	var asked atomic.Value // the header of the last request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Header.Get("Authorization"))
		w.WriteHeader(int(status.Load()))
		fmt.Fprint(w, planted["query"])
	}))
	defer server.Close()
	var out buffer // all that comes out
	e, store := secretive(t, dir, server.URL, &out)
	desk := e.Desk()

	who := notify.Caller{Principal: "alice", Private: true}
	raw := fmt.Sprintf(`{"routes":[{"id":"a","type":"webhook","endpoint":%q,"triggers":["completed","failed","streaming"],"options":{"payload":"full",
		"signing":{"secret":%q},"headers":{"Authorization":%q}}}]}`, server.URL+"/hook?token="+planted["query"], planted["signing key"], "Bearer "+planted["header"])
	config, err := e.Check([]byte(raw), who)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "%v %+v %#v\n", config.Routes[0].Inline(), config.Routes[0].Inline(), config.Routes[0].Inline())
	request := notify.Request{Caller: who, RequestID: jsontext.Value(`1`), Tool: "build", Arguments: []byte(planted["argument"])}
	var notes []string
	for _, end := range []notify.End{
		notify.EndOfResult(jsontext.Value(`{"content":[{"type":"text","text":"password=` + planted["result"] + `"}]}`)),
		notify.EndOfError(1, "Bearer "+planted["error message"]),
	} {
		c, err := e.Admit(ctx, config, request)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", c.Ack().Params())
		if err := c.Progress(ctx, jsontext.Value(`{"message":"token: Bearer `+planted["progress"]+`"}`)); err != nil {
			t.Fatal(err)
		}
		r, err := c.Finish(ctx, end)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", r.Meta())
		notes = append(notes, r.Notifications...)
	}
	await(t, func() bool { return strings.Count(out.String(), "notification attempt") >= 2 })
	if got := asked.Load(); got != "Bearer "+planted["header"] {
		t.Errorf("the endpoint was sent the header %q, so the test proves nothing", got)
	}
	status.Store(http.StatusGone) // dead letters
	for _, id := range notes {
		if err := desk.Redeliver(ctx, id, ""); err != nil && !errors.Is(err, notify.ErrNotDue) {
			t.Fatal(err)
		}
	}
	await(t, func() bool { return strings.Contains(out.String(), "permanent") })
	_, refused := e.Check([]byte(strings.ReplaceAll(raw, `"webhook"`, `"pigeon"`)), who)
	_, insecure := e.Admit(ctx, config, notify.Request{Caller: notify.Caller{Principal: "bob"}, Tool: "build"})
	for _, err := range []error{refused, insecure} {
		var bad *notify.ConfigError
		if !errors.As(err, &bad) {
			t.Fatalf("%v, want a refusal", err)
		}
		fmt.Fprintf(&out, "%v %s\n", err, bad.Data())
	}
	tell(t, desk, &out, notes)
	if err := e.Shutdown(context.WithoutCancel(ctx)); err != nil {
		t.Error(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	search(t, dir, out.String())
}

// secretive is an engine whose log and metrics are part of what comes out.
func secretive(t *testing.T, dir, allowed string, out *buffer) (*notify.Engine, notify.Store) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "notify.db"))
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := secretdir.Open(filepath.Join(dir, "secrets"))
	if err != nil {
		t.Fatal(err)
	}
	rule, err := webhook.ParseRule(allowed)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	hook := webhook.New(webhook.Options{Allow: []webhook.Rule{rule}})
	t.Cleanup(hook.Close)
	e, err := notify.New(context.WithoutCancel(t.Context()), notify.Options{
		Store: store, Secrets: secrets, Types: []notify.RouteType{hook}, Metrics: registry,
		Log: slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		families, err := registry.Gather()
		if err != nil || len(families) == 0 {
			t.Errorf("metrics: %d, %v", len(families), err)
		}
		for name, secret := range planted {
			if strings.Contains(fmt.Sprint(families), secret) {
				t.Errorf("the %s stands in the metrics", name)
			}
		}
	})
	return e, store
}

// tell prints everything a desk shows.
func tell(t *testing.T, desk *notify.Desk, out *buffer, notes []string) {
	t.Helper()
	ctx := t.Context()
	items, err := desk.Items(ctx, notify.ItemQuery{})
	if err != nil || len(items) < 2 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	endpoints, err := desk.Endpoints(ctx, "")
	if err != nil || len(endpoints) != 1 {
		t.Fatalf("%d endpoints, %v", len(endpoints), err)
	}
	show := []any{items, endpoints}
	for _, it := range items {
		s, err := desk.Call(ctx, "", it.CallID)
		if err != nil {
			t.Fatal(err)
		}
		show = append(show, s)
	}
	for _, id := range notes {
		d, err := desk.Item(ctx, id)
		if err != nil || d.Body == nil {
			t.Fatalf("%s: %v", id, err)
		}
		show = append(show, d)
	}
	for _, v := range show {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(out, "%s\n%+v\n", raw, v)
	}
}

// search looks for what was planted. In the database the query of an endpoint
// stands, because it must be sent; every other secret may stand only in the
// directory of secrets.
func search(t *testing.T, dir, out string) {
	t.Helper()
	if len(out) < 1000 {
		t.Errorf("only %d bytes came out, the test sees nothing", len(out))
	}
	var db []byte
	for _, name := range []string{"notify.db", "notify.db-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			db = append(db, data...)
		}
	}
	for name, secret := range planted {
		for form, text := range map[string]string{"as it is": secret, "without prefix": strings.TrimPrefix(secret, "whsec_")} {
			if strings.Contains(out, text) {
				t.Errorf("the %s came out, %s", name, form)
			}
			if name != "query" && bytes.Contains(db, []byte(text)) {
				t.Errorf("the %s stands in the database, %s", name, form)
			}
		}
	}
}

// await waits for something that happens in real time.
func await(t *testing.T, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it did not happen")
		}
	}
}
