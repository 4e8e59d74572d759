package main

import (
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/telemetry"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/host/endpoint"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// TestTelemetryIsOTLP: what a host says of itself is read by the decoders of the
// OpenTelemetry collector, and means there what it meant here.
func TestTelemetryIsOTLP(t *testing.T) {
	ctx := t.Context()
	f := telemetry.New(telemetry.Options{Version: "1.2.3", Every: 50 * time.Millisecond})
	log := slog.New(f.Handler(slog.DiscardHandler))
	h, err := host.New(ctx, host.Options{Features: []host.Feature{f}})
	if err != nil {
		t.Fatal(err)
	}
	door, err := endpoint.New(ctx, h, endpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = door.Serve(ln) })
	defer func() {
		if err := door.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		serving.Wait()
	}()
	c, err := client.Dial(ctx, "ws://"+ln.Addr().String()+"/", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	payloads := func(method string, channel ahp.URI) <-chan jsontext.Value {
		list := make(chan jsontext.Value, 1000)
		remove := c.OnNotification(method, func(params jsontext.Value) {
			if payload, ok := jsonrpc.Member(params, "payload"); ok {
				select {
				case list <- payload:
				default:
				}
			}
		})
		t.Cleanup(remove)
		ch, err := c.Subscribe(ctx, channel, client.SubscribeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ch.Close() })
		return list
	}
	logs := payloads(ahp.MethodExportLogs, telemetry.LogsPrefix+"warn")
	log.Warn("what happened", "n", 1<<60, "ok", true, "ratio", 0.5)
	checkLogs(t, <-logs)
	checkMetrics(t, <-payloads(ahp.MethodExportMetrics, telemetry.MetricsURI))
}

func checkLogs(t *testing.T, payload []byte) {
	read, err := new(plog.JSONUnmarshaler).UnmarshalLogs(payload)
	if err != nil {
		t.Fatalf("%s: %v", payload, err)
	}
	from := read.ResourceLogs().At(0)
	if v, _ := from.Resource().Attributes().Get("service.version"); v.Str() != "1.2.3" {
		t.Errorf("version %q", v.Str())
	}
	r := from.ScopeLogs().At(0).LogRecords().At(0)
	n, _ := r.Attributes().Get("n")
	ok, _ := r.Attributes().Get("ok")
	ratio, _ := r.Attributes().Get("ratio")
	if r.Body().Str() != "what happened" || r.SeverityNumber() != plog.SeverityNumberWarn || n.Int() != 1<<60 || !ok.Bool() || ratio.Double() != 0.5 {
		t.Errorf("read as %v %v with %v", r.Body().Str(), r.SeverityNumber(), r.Attributes().AsRaw())
	}
	if age := time.Since(r.Timestamp().AsTime()); age < 0 || age > time.Minute {
		t.Errorf("the record is of %v", r.Timestamp().AsTime())
	}
}

func checkMetrics(t *testing.T, payload []byte) {
	read, err := new(pmetric.JSONUnmarshaler).UnmarshalMetrics(payload)
	if err != nil {
		t.Fatalf("%s: %v", payload, err)
	}
	kinds := make(map[pmetric.MetricType]int)
	list := read.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	for i := range list.Len() {
		m := list.At(i)
		kinds[m.Type()]++
		if m.Type() != pmetric.MetricTypeHistogram {
			continue
		}
		for j := range m.Histogram().DataPoints().Len() {
			p := m.Histogram().DataPoints().At(j)
			sum := uint64(0)
			for k := range p.BucketCounts().Len() {
				sum += p.BucketCounts().At(k)
			}
			if sum != p.Count() || p.BucketCounts().Len() != p.ExplicitBounds().Len()+1 {
				t.Errorf("%s: %d in buckets of %d", m.Name(), sum, p.Count())
			}
		}
	}
	if kinds[pmetric.MetricTypeSum] == 0 || kinds[pmetric.MetricTypeGauge] == 0 || kinds[pmetric.MetricTypeHistogram] == 0 {
		t.Errorf("kinds: %v", kinds)
	}
}
