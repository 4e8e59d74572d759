package relaybench_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/host/endpoint"
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/internal/relaybench"
)

// open connects two ends through a real host on a loopback socket.
func open(tb testing.TB) *relaybench.Ends {
	tb.Helper()
	ctx := context.Background()
	h, err := host.New(ctx, host.Options{Features: []host.Feature{service.New(service.Options{})}})
	if err != nil {
		tb.Fatal(err)
	}
	door, err := endpoint.New(ctx, h, endpoint.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = door.Serve(ln) })
	e, err := relaybench.Causeway(ctx, "ws://"+ln.Addr().String()+"/")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
		if err := door.Shutdown(ctx); err != nil {
			tb.Error(err)
		}
		serving.Wait()
	})
	return e
}

// TestCompare measures next to nothing, against itself.
func TestCompare(t *testing.T) {
	r := measure.NewReport("test")
	if err := relaybench.Compare(t.Context(), open(t), open(t), 2, 1, r, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 10 {
		t.Errorf("%d figures", len(r.Figures))
	}
	for _, f := range r.Figures {
		if f.Value <= 0 || f.Ratio <= 0 {
			t.Errorf("%s: %v, ratio %v", f.Name, f.Value, f.Ratio)
		}
	}
}

func BenchmarkStream(b *testing.B) {
	for name, size := range map[string]int{"200B": 200, "16KiB": 16 << 10} {
		b.Run(name, func(b *testing.B) {
			e := open(b)
			b.ReportAllocs()
			b.ResetTimer()
			got, err := e.Stream(b.Context(), size, b.N)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(got.CPU.Nanoseconds()), "cpu-ns/op")
		})
	}
}

func BenchmarkCalls(b *testing.B) {
	e := open(b)
	b.ReportAllocs()
	b.ResetTimer()
	got, err := e.Calls(200, b.N)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(got.CPU.Nanoseconds()), "cpu-ns/op")
}
