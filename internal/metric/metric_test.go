package metric

import (
	"maps"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"
)

// shown is a histogram as it is read.
type shown struct {
	count  uint64
	sum    float64
	bounds map[float64]uint64
}

func read(t testing.TB, h *Histogram) shown {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(h)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	m := families[0].GetMetric()[0].GetHistogram()
	s := shown{count: m.GetSampleCount(), sum: m.GetSampleSum(), bounds: make(map[float64]uint64)}
	for _, b := range m.GetBucket() {
		s.bounds[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	return s
}

// Every value is in the first bucket whose bound is not below it, and in all of those
// above.
func TestHistogramBuckets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOf(rapid.Int64Range(-10, math.MaxInt64/1024)).Draw(rt, "values")
		h := Durations("x_seconds", "x")
		sum := 0.0
		for _, v := range values {
			h.Observe(v)
			sum += time.Duration(max(v, 0)).Seconds()
		}
		got := read(t, h)
		if got.count != uint64(len(values)) || math.Abs(got.sum-sum) > 1e-6*sum {
			rt.Fatalf("%d values of %v, want %d of %v", got.count, got.sum, len(values), sum)
		}
		if len(got.bounds) != durationBuckets {
			rt.Fatalf("%d buckets, want %d", len(got.bounds), durationBuckets)
		}
		for i := range durationBuckets {
			bound, want := int64(durationUnit)<<i, uint64(0)
			for _, v := range values {
				if v <= bound {
					want++
				}
			}
			if n, ok := got.bounds[time.Duration(bound).Seconds()]; n != want || !ok {
				rt.Errorf("%d values up to %v, want %d", n, time.Duration(bound), want)
			}
		}
	})
}

func TestSizes(t *testing.T) {
	h := Sizes("x_records", "x", 3)
	for _, v := range []int64{0, 1, 2, 3, 4, 5, 1 << 40} {
		h.Observe(v)
	}
	got := read(t, h)
	if want := map[float64]uint64{1: 2, 2: 3, 4: 5}; !maps.Equal(got.bounds, want) || got.count != 7 {
		t.Errorf("%d values in %v, want 7 in %v", got.count, got.bounds, want)
	}
}

// What many count at a time is all there in the end.
func TestTableLosesNothing(t *testing.T) {
	const each, who = 1000, 2*shards + 1
	table := NewTable("x_total", "x", "x_bytes_total", "x", []string{"a", "b", "other"})
	var counting sync.WaitGroup
	for shard := range uint64(who) {
		counting.Go(func() {
			for range each {
				table.Add(shard, 1, 2, 10)
			}
		})
	}
	counting.Wait()
	if n, bytes := table.Sum(1); n != 2*each*who || bytes != 10*each*who {
		t.Errorf("counted %d with %d bytes, want %d with %d", n, bytes, 2*each*who, 10*each*who)
	}
	for i := range 3 {
		if n, _ := table.Sum(i); i != 1 && n != 0 {
			t.Errorf("counted %d under %s", n, table.Name(i))
		}
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(table)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if len(f.GetMetric()) != 3 {
			t.Errorf("%s has %d names, want 3: also those that were never counted", f.GetName(), len(f.GetMetric()))
		}
	}
	if _, ok := table.Index("nobody"); ok {
		t.Error("a name that the table does not have was found")
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	table, h := NewTable("x_total", "x", "y_total", "y", []string{"a"}), Durations("z_seconds", "z")
	if n := testing.AllocsPerRun(100, func() { table.Add(3, 0, 1, 1); h.Observe(5) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTable(b *testing.B) {
	var names []string
	for i := range 40 {
		names = append(names, strconv.Itoa(i))
	}
	table := NewTable("x_total", "x", "y_total", "y", names)
	for b.Loop() {
		table.Add(3, 7, 1, 200)
	}
}

func BenchmarkHistogram(b *testing.B) {
	h := Durations("z_seconds", "z")
	for b.Loop() {
		h.Observe(1234)
	}
}
