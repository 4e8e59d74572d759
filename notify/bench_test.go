package notify_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/notify"
	"github.com/causeway-ahp/causeway/notify/sqlite"
	"github.com/causeway-ahp/causeway/notify/webhook"
	"github.com/go-json-experiment/json/jsontext"
)

// BenchmarkDelivery is a call from its admission to the arrival of its
// notification at a receiver on this machine, many at a time.
func BenchmarkDelivery(b *testing.B) {
	var arrived sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Done() }))
	defer server.Close()
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "notify.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	hook := webhook.New(webhook.Options{IdlePerTarget: 32})
	defer hook.Close()
	e, err := notify.New(context.WithoutCancel(b.Context()), notify.Options{
		Store: store, Secrets: notify.NewMemorySecrets(), Types: []notify.RouteType{hook},
		Limits: notify.Limits{ActiveCalls: 1 << 30, PendingItems: 1 << 30, Queued: 1 << 20, QueuedPerTarget: 1 << 20, Target: notify.TargetLimits{Rate: 1e6, Burst: 1e6, InFlight: 32}},
	})
	if err != nil {
		b.Fatal(err)
	}
	caller := notify.Caller{Principal: "alice", Private: true, Trusted: true}
	raw := []byte(`{"routes":[{"id":"a","type":"webhook","endpoint":"` + server.URL + `/hook","triggers":["completed"]}]}`)
	b.SetParallelism(64)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			arrived.Add(1)
			config, err := e.Check(raw, caller)
			if err != nil {
				b.Error(err)
				return
			}
			c, err := e.Admit(b.Context(), config, notify.Request{Caller: caller, RequestID: jsontext.Value(`1`), Tool: "build"})
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := c.Finish(b.Context(), notify.EndOfResult(jsontext.Value(`{"content":[{"type":"text","text":"done"}]}`))); err != nil {
				b.Error(err)
				return
			}
		}
	})
	arrived.Wait()
	b.StopTimer()
	if err := e.Shutdown(context.WithoutCancel(b.Context())); err != nil {
		b.Error(err)
	}
}
