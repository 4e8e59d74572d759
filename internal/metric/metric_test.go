package metric

import (
	"maps"
	"math"
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

// tally is a table with the runs that count for it.
type tally struct {
	*Table
	runs []*Run
}

func newTally(runs int, names ...string) *tally {
	c := &tally{}
	for range runs {
		c.runs = append(c.runs, new(Run))
	}
	c.Table = NewTable("x_total", "x", "x_bytes_total", "x", names, func(each func(*Run)) {
		for _, r := range c.runs {
			each(r)
		}
	})
	return c
}

// show reads the numbers and the bytes by name.
func (c *tally) show(t testing.TB) (numbers, bytes map[string]float64) {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	read := func(i int) map[string]float64 {
		values := make(map[string]float64)
		for _, m := range families[i].GetMetric() {
			values[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
		return values
	}
	return read(1), read(0)
}

// The table has what was counted, whatever the order of names, however much at a time,
// and whichever runs have ended.
func TestTableModel(t *testing.T) {
	names := []string{"a", "b", "c"}
	rapid.Check(t, func(rt *rapid.T) {
		c := newTally(3, names...)
		numbers, bytes := map[string]float64{"a": 0, "b": 0, "c": 0}, map[string]float64{"a": 0, "b": 0, "c": 0}
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(rt *rapid.T) {
				run := rapid.SampledFrom(c.runs).Draw(rt, "run")
				i := rapid.IntRange(0, 2).Draw(rt, "name")
				n := rapid.SampledFrom([]int{1, 2, 65_536, 1<<19 - 1}).Draw(rt, "n")
				size := rapid.SampledFrom([]int{0, 200, 256 << 20, 1<<35 - 1}).Draw(rt, "bytes")
				run.Add(c.Table, i, n, size)
				numbers[names[i]] += float64(n)
				bytes[names[i]] += float64(size)
			},
			"end": func(rt *rapid.T) { rapid.SampledFrom(c.runs).Draw(rt, "run").End(c.Table) },
			"": func(rt *rapid.T) {
				if n, b := c.show(t); !maps.Equal(n, numbers) || !maps.Equal(b, bytes) {
					rt.Fatalf("shows %v and %v, want %v and %v", n, b, numbers, bytes)
				}
			},
		})
	})
}

// What many count at a time is all there in the end, and never falls meanwhile.
func TestTableLosesNothing(t *testing.T) {
	const each = 3000
	c := newTally(5, "a", "b", "other")
	var counting sync.WaitGroup
	for _, run := range c.runs {
		counting.Go(func() {
			for i := range each {
				run.Add(c.Table, i%2, 2, 10)
			}
		})
	}
	last := 0.0
	for want := float64(each * len(c.runs)); last < want; {
		n, _ := c.show(t)
		if n["a"] < last || n["a"] > want {
			t.Fatalf("%v counted after %v, of %v", n["a"], last, want)
		}
		last = n["a"]
	}
	counting.Wait()
	n, bytes := c.show(t)
	want := float64(each * len(c.runs))
	if n["a"] != want || n["b"] != want || n["other"] != 0 || bytes["b"] != 5*want {
		t.Errorf("counted %v with %v, want %v of a and of b", n, bytes, want)
	}
	if _, ok := c.Index("nobody"); ok {
		t.Error("a name that the table does not have was found")
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	c, h := newTally(1, "a", "b"), Durations("z_seconds", "z")
	i := 0
	if n := testing.AllocsPerRun(100, func() { i++; c.runs[0].Add(c.Table, i%2, 1, 1); h.Observe(5) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRun(b *testing.B) {
	c := newTally(1, "a", "b")
	for b.Loop() {
		c.runs[0].Add(c.Table, 1, 1, 200)
	}
}

func BenchmarkHistogram(b *testing.B) {
	h := Durations("z_seconds", "z")
	for b.Loop() {
		h.Observe(1234)
	}
}
