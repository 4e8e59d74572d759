package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestTelemetryReachesACollector: logs, spans and metrics of a host arrive at the paths
// of an OTLP collector, and a refusal of it is told.
func TestTelemetryReachesACollector(t *testing.T) {
	type export struct{ path, body string }
	exports := make(chan export, 100)
	var first atomic.Bool
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: content of type %q", r.URL.Path, r.Header.Get("Content-Type"))
		}
		if r.URL.Path == "/v1/logs" && first.CompareAndSwap(false, true) {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		exports <- export{r.URL.Path, string(body)}
	}))
	defer collector.Close()
	d := stateDir(t)
	serveInside(t, d, serveOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	var errs notebook
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		root := newRoot()
		root.SetArgs([]string{"telemetry", "--data", d.Path(), "--level", "debug", "--export", collector.URL + "/"})
		root.SetOut(io.Discard)
		root.SetErr(&errs)
		if err := root.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("telemetry: %v", err)
		}
	}()
	want := map[string]string{"/v1/logs": `"severityText":"DEBUG"`, "/v1/traces": `"name":"turn"`, "/v1/metrics": `"name":"causeway_connections"`}
	began := time.Now()
	for len(want) > 0 && time.Since(began) < scriptWait {
		root := newRoot() // a turn, and connections that come and go
		root.SetArgs([]string{"run", "--data", d.Path(), "--yes", "echo a secret"})
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		if err := root.ExecuteContext(ctx); err != nil {
			t.Fatal(err)
		}
		select {
		case e := <-exports:
			if part := want[e.path]; part != "" && strings.Contains(e.body, part) {
				delete(want, e.path)
			}
			if strings.Contains(e.body, "a secret") {
				t.Errorf("%s has a payload", e.path)
			}
		case <-time.After(time.Second):
		}
	}
	for path := range want {
		t.Errorf("nothing of use came to %s", path)
	}
	cancel()
	<-ended
	if !strings.Contains(errs.String(), "429") {
		t.Errorf("the refusal is not told: %s", errs.String())
	}
}

// TestTelemetryRefusals: what makes no sense is said before anything is dialled.
func TestTelemetryRefusals(t *testing.T) {
	for _, args := range [][]string{{"--level", "loud"}, {"--export", "collector:4318"}, {"everything"}} {
		root := newRoot()
		root.SetArgs(append([]string{"telemetry", "--data", t.TempDir()}, args...))
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		var usage *usageError
		if err := root.Execute(); !errors.As(err, &usage) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
